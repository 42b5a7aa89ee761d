//! What a backend was told, kept for commands that have nothing but the database.

use switchboard_ledger::rows::settings::Setting;
use switchboard_ledger::{Change, Key, Ledger, LedgerError};

use crate::error::ServiceError;
use crate::store::Store;

/// Whether tenants have projects of their own.
const ISOLATION: &str = "isolation";

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
