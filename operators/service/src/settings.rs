//! What a backend was told, kept for commands that have nothing but the database.

use switchboard_ledger::rows::settings::Setting;
use switchboard_ledger::{Change, Key, Ledger, LedgerError};

use crate::error::ServiceError;
use crate::ids;
use crate::store::Store;

/// Whether tenants have projects of their own.
const ISOLATION: &str = "isolation";

/// What the database is known by on clusters.
pub(crate) const DATABASE: &str = "database";

/// Keeps whether tenants have projects of their own, as a backend is told when it starts.
///
/// # Errors
/// When the database fails.
pub async fn keep_isolation(store: &Store, isolated: bool) -> Result<(), ServiceError> {
    if isolation(store.ledger()).await? == Some(isolated) {
        return Ok(());
    }
    let row = Setting { name: ISOLATION.to_string(), value: isolated.to_string() };
    store.commit(&[Change::put(&row)]).await.map(drop)
}

/// What the backend that started last was told; none if none has since there is a place to keep it.
///
/// # Errors
/// When the database fails.
pub async fn isolation(ledger: &Ledger) -> Result<Option<bool>, LedgerError> {
    let row: Option<Setting> = ledger.get(&Key::from(ISOLATION)).await?;
    Ok(row.and_then(|row| row.value.parse().ok()))
}

/// What the database is known by on clusters; none if it has marked nothing yet.
///
/// # Errors
/// When the database fails.
pub async fn database(ledger: &Ledger) -> Result<Option<String>, LedgerError> {
    let row: Option<Setting> = ledger.get(&Key::from(DATABASE)).await?;
    Ok(row.map(|row| row.value))
}

/// The same, made if there is none. It is part of every backup.
///
/// # Errors
/// When the database fails.
pub async fn own_database(ledger: &Ledger) -> Result<String, LedgerError> {
    if let Some(known) = database(ledger).await? {
        return Ok(known);
    }
    let made = ids::new();
    keep_database(ledger, &made).await?;
    // Somebody else may have been faster.
    Ok(database(ledger).await?.unwrap_or(made))
}

/// Has the database known by this, unless it is known by something.
///
/// # Errors
/// When the database fails.
pub async fn keep_database(ledger: &Ledger, id: &str) -> Result<(), LedgerError> {
    ledger.commit(&[Change::ensure(&Setting { name: DATABASE.to_string(), value: id.to_string() })]).await
}
