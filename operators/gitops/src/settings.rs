//! Settings of a backend, stored for commands that only have the database.

use switchboard_sql::{Ledger, LedgerError, RowChange, RowKey};

use crate::error::ServiceError;
use crate::random_id;
use crate::rows::settings::Setting;
use crate::store::Store;

/// Whether tenants have projects of their own.
const ISOLATION_SETTING: &str = "isolation";

/// Id of the database on clusters.
pub(crate) const DATABASE_SETTING: &str = "database";

/// Stores whether tenants have projects of their own. Called when a backend starts.
///
/// # Errors
/// When the database fails.
pub async fn save_isolation(store: &Store, isolated: bool) -> Result<(), ServiceError> {
    if isolation(store.ledger()).await? == Some(isolated) {
        return Ok(());
    }
    let row = Setting { name: ISOLATION_SETTING.to_string(), value: isolated.to_string() };
    store.commit(&[RowChange::put(&row)]).await.map(drop)
}

/// Returns the setting of the backend that started last; `None` if no backend has stored it yet.
///
/// # Errors
/// When the database fails.
pub async fn isolation(ledger: &Ledger) -> Result<Option<bool>, LedgerError> {
    let row: Option<Setting> = ledger.get(&RowKey::from(ISOLATION_SETTING)).await?;
    Ok(row.and_then(|row| row.value.parse().ok()))
}

/// Returns the id of the database on clusters; `None` if it has marked no namespace yet.
///
/// # Errors
/// When the database fails.
pub async fn database_id(ledger: &Ledger) -> Result<Option<String>, LedgerError> {
    let row: Option<Setting> = ledger.get(&RowKey::from(DATABASE_SETTING)).await?;
    Ok(row.map(|row| row.value))
}

/// Returns the id of the database on clusters and creates it if it is missing. The id is part of every backup.
///
/// # Errors
/// When the database fails.
pub async fn get_or_create_database_id(ledger: &Ledger) -> Result<String, LedgerError> {
    if let Some(known) = database_id(ledger).await? {
        return Ok(known);
    }
    let created = random_id::new();
    save_database_id(ledger, &created).await?;
    // Another process may have created one first.
    Ok(database_id(ledger).await?.unwrap_or(created))
}

/// Stores the id of the database on clusters, unless it has one.
///
/// # Errors
/// When the database fails.
pub async fn save_database_id(ledger: &Ledger, id: &str) -> Result<(), LedgerError> {
    ledger.commit(&[RowChange::ensure(&Setting { name: DATABASE_SETTING.to_string(), value: id.to_string() })]).await
}
