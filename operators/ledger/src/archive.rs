//! All rows at once, out and in: credentials stay as they are stored, sealed or not.

use crate::key::Key;
use crate::ledger::{Ledger, LedgerError, within, within_deadline};
use crate::pool::Intent;
use crate::row::{Table, key_of};
use crate::rows::{TABLES, fleet, left, settings};
use crate::seal::{Place, Trial};
use crate::value::{Kind, Value};

use std::time::Duration;

/// How many rows are read at once.
const PAGE_ROWS: u32 = 500;

/// How long all rows may take to be written.
const IMPORT_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// A row as it is stored: of which table, and its values in the order of the table's columns.
pub type Stored = (&'static Table, Vec<Value>);

/// Every table whose rows are kept, each after those it refers to.
pub fn tables() -> impl DoubleEndedIterator<Item = &'static Table> {
    TABLES.iter().chain(fleet::TABLES).chain(left::TABLES).chain(settings::TABLES).copied()
}

impl Ledger {
    /// Every row, as one state, each after those it refers to.
    ///
    /// # Errors
    /// As reading.
    pub async fn export(&self) -> Result<Vec<Stored>, LedgerError> {
        let dialect = self.pool.dialect();
        let mut transaction = within("begin to read", self.pool.begin(Intent::Read)).await?;
        let mut rows: Vec<Stored> = Vec::new();
        for table in tables() {
            let kinds = stored_kinds(table);
            let mut after: Option<Key> = None;
            loop {
                let parts: Vec<Value> =
                    after.iter().flat_map(Key::parts).map(|part| Value::from(part.as_str())).collect();
                let sql = dialect.select(table, &[], after.is_some(), Some(PAGE_ROWS));
                let page = within("read rows", transaction.fetch(sql, &kinds, &parts)).await?;
                let Some(last) = page.last() else { break };
                after = Some(key_of(table, last));
                rows.extend(page.into_iter().map(|row| (table, row)));
            }
        }
        within("end reading", transaction.rollback()).await?;
        Ok(rows)
    }

    /// These rows in place of all there are, whole or not at all.
    ///
    /// # Errors
    /// When one of them is refused, or refers to a row that is not among them, or a key opens nothing that is sealed with it.
    pub async fn import(&self, rows: &[Stored]) -> Result<(), LedgerError> {
        self.try_keys(rows)?;
        let dialect = self.pool.dialect();
        let mut transaction = within("begin to write", self.pool.begin(Intent::Write)).await?;
        let all = async {
            for table in tables().rev() {
                transaction.execute(format!("delete from {}", table.name), &[]).await?;
            }
            for (table, values) in rows {
                transaction.execute(dialect.insert(table), values).await?;
            }
            Ok(())
        };
        within_deadline("write all rows", IMPORT_DEADLINE, all).await?;
        within("commit changes", transaction.commit()).await?;
        self.bell.send_modify(|rung| *rung += 1);
        Ok(())
    }

    fn try_keys(&self, rows: &[Stored]) -> Result<(), LedgerError> {
        let mut trial = Trial::default();
        for (table, values) in rows {
            let key = key_of(table, values);
            for (column, value) in table.columns.iter().zip(values).filter(|(column, _)| column.kind == Kind::Secret) {
                let place = Place { table: table.name, column: column.name, key: &key };
                trial.open(&self.sealing, value.as_text().unwrap_or_default(), place);
            }
        }
        Ok(trial.end()?)
    }
}

/// What columns hold as they are stored: a credential is a text.
pub fn stored_kinds(table: &Table) -> Vec<Kind> {
    let stored = |kind: Kind| if kind == Kind::Secret { Kind::Text } else { kind };
    table.columns.iter().map(|column| stored(column.kind)).collect()
}
