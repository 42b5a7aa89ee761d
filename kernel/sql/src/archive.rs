//! Export and import of all rows. Credentials stay as they are stored, sealed or in plaintext.

use crate::key::RowKey;
use crate::ledger::{Ledger, LedgerError, within, within_deadline};
use crate::pool::Intent;
use crate::row::{Table, key_of};
use crate::seal::{CredentialCell, KeyCheck};
use crate::value::{ColumnType, SqlValue};

use std::time::Duration;

/// Rows per query of an export.
const PAGE_ROWS: u32 = 500;

/// Deadline for writing all rows of an import.
const IMPORT_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// Row as stored: its table, and its values in the order of the table's columns.
pub type StoredRow = (&'static Table, Vec<SqlValue>);

impl Ledger {
    /// Exports every row from one consistent state, each after the rows it refers to.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn export(&self) -> Result<Vec<StoredRow>, LedgerError> {
        let dialect = self.pool.dialect();
        let mut transaction = within("begin a read transaction", self.pool.begin(Intent::Read)).await?;
        let mut rows: Vec<StoredRow> = Vec::new();
        for table in self.schema.tables() {
            let kinds = stored_types(table);
            let mut after: Option<RowKey> = None;
            loop {
                let parts: Vec<SqlValue> =
                    after.iter().flat_map(RowKey::parts).map(|part| SqlValue::from(part.as_str())).collect();
                let sql = dialect.select(table, &[], after.is_some(), Some(PAGE_ROWS));
                let page = within("read rows", transaction.fetch(sql, &kinds, &parts)).await?;
                let Some(last) = page.last() else { break };
                after = Some(key_of(table, last));
                rows.extend(page.into_iter().map(|row| (table, row)));
            }
        }
        within("end the read transaction", transaction.rollback()).await?;
        Ok(rows)
    }

    /// Replaces all rows of the database with these rows, atomically.
    ///
    /// # Errors
    /// When the database refuses a row, a row refers to one that is not among them, or a key opens none of the
    /// credentials sealed with it.
    pub async fn import(&self, rows: &[StoredRow]) -> Result<(), LedgerError> {
        self.try_keys(rows)?;
        let dialect = self.pool.dialect();
        let mut transaction = within("begin a write transaction", self.pool.begin(Intent::Write)).await?;
        let all = async {
            for table in self.schema.tables().rev() {
                transaction.execute(format!("delete from {}", table.name), &[]).await?;
            }
            for (table, values) in rows {
                transaction.execute(dialect.insert(table), values).await?;
            }
            Ok(())
        };
        within_deadline("write all rows", IMPORT_DEADLINE, all).await?;
        within("commit changes", transaction.commit()).await?;
        self.commit_notifier.send_modify(|count| *count += 1);
        Ok(())
    }

    fn try_keys(&self, rows: &[StoredRow]) -> Result<(), LedgerError> {
        let mut key_check = KeyCheck::default();
        for (table, values) in rows {
            let key = key_of(table, values);
            for (column, value) in
                table.columns.iter().zip(values).filter(|(column, _)| column.kind == ColumnType::Secret)
            {
                let cell = CredentialCell { table: table.name, column: column.name, key: &key };
                key_check.open(&self.sealer, value.as_text().unwrap_or_default(), cell);
            }
        }
        Ok(key_check.end()?)
    }
}

/// Returns the types of a table's columns as stored: a credential is text.
pub fn stored_types(table: &Table) -> Vec<ColumnType> {
    let stored = |kind: ColumnType| if kind == ColumnType::Secret { ColumnType::Text } else { kind };
    table.columns.iter().map(|column| stored(column.kind)).collect()
}
