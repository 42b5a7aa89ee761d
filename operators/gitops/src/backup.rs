//! Backup and restore: all rows as lines of JSON, with credentials as they are stored. A restore corrects older rows,
//! so that no deployed resource is deleted or deployed twice.

mod adoption;
mod line;
#[cfg(test)]
mod tests;
mod unknown_applications;

use std::io::{BufRead, Write};

use switchboard_sql::archive::StoredRow;
use switchboard_sql::{Ledger, LedgerError, Row};

pub use adoption::AdoptionResult;
pub use line::LineError;

use crate::instance::fleet::{EngineClient, EngineError};
use crate::settings;

/// Maximum length of a line; a kubeconfig may take a megabyte.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// Error of a backup or a restore.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The file could not be read or written.
    #[error("could not read or write the backup")]
    File(#[from] std::io::Error),
    /// The file is not a valid backup.
    #[error("could not read line {number} of the backup")]
    Line {
        /// Number of the line, from 1.
        number: usize,
        /// Error of the line.
        #[source]
        source: LineError,
    },
    /// The annotation of an instance's namespace names another database.
    #[error(
        "could not restore: namespace `{0}`, an Argo CD instance in the backup, belongs to another database\nhint: select the cluster of the backup's instances with --kubeconfig or --context; if the other database no longer exists, remove the annotation `managed-gitops.redhat.com/database` from the namespace"
    )]
    OtherDatabase(String),
    /// The cluster failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Writes every row of one consistent state. Returns the number of rows.
///
/// # Errors
/// When the database or the file fails.
pub async fn backup(ledger: &Ledger, to: &mut impl Write) -> Result<usize, BackupError> {
    let rows = ledger.export().await?;
    writeln!(to, "{}", line::HEADER)?;
    for row in &rows {
        writeln!(to, "{}", line::format_row(row))?;
    }
    // The last line shows that the file is complete.
    writeln!(to, "{}", line::end(rows.len()))?;
    to.flush()?;
    Ok(rows.len())
}

/// Rows of a complete backup.
pub struct BackupRows(Vec<StoredRow>);

/// Reads a backup without changing anything.
///
/// # Errors
/// When the file is not a backup or is incomplete.
pub fn open(from: &mut impl BufRead) -> Result<BackupRows, BackupError> {
    Ok(BackupRows(read(from)?.into_iter().filter(is_backed_up).map(without_move).collect()))
}

/// Replaces all rows by those of a backup, then looks for changes since the backup on the cluster of the instances.
///
/// Operations and moves are left out, because they were in progress. Rows that are newer than the backup are recreated
/// from the tenants' resources, and find their Applications by name.
///
/// # Errors
/// When the database or the cluster fails. Then everything is unchanged, except for the corrections that could not be
/// made.
pub async fn restore(
    ledger: &Ledger,
    engine: &EngineClient,
    kept: &BackupRows,
) -> Result<(usize, AdoptionResult), BackupError> {
    let rows = &kept.0;
    let objects = adoption::list_applications(engine).await?;
    // A backup without a database id counts as one of the current database.
    let (own, before) = (adoption::database_of(rows), settings::database_id(ledger).await?);
    adoption::check(rows, own.as_deref().or(before.as_deref()), engine).await?;
    ledger.import(rows).await?;
    if let Some(before) = before.filter(|_| own.is_none()) {
        settings::save_database_id(ledger, &before).await?;
    }
    let adopted = adoption::adopt(ledger, engine, &objects).await?;
    Ok((rows.len(), adopted))
}

fn is_backed_up((table, _): &StoredRow) -> bool {
    let left_out = [crate::rows::Operation::TABLE, crate::rows::fleet::Move::TABLE];
    !left_out.contains(table)
}

/// Removes the move from a placement.
fn without_move((table, mut values): StoredRow) -> StoredRow {
    if table == crate::rows::fleet::Placement::TABLE
        && let Some(at) = table.columns.iter().position(|column| column.name == "move_id")
        && let Some(value) = values.get_mut(at)
    {
        *value = switchboard_sql::SqlValue::Text(None);
    }
    (table, values)
}

fn read(from: &mut impl BufRead) -> Result<Vec<StoredRow>, BackupError> {
    let mut rows = Vec::new();
    let mut number = 0;
    loop {
        number += 1;
        let mut text = String::new();
        let size = std::io::Read::take(&mut *from, MAX_LINE_BYTES).read_line(&mut text)?;
        let wrong = |source| BackupError::Line { number, source };
        match (number, size) {
            (_, 0) => return Err(wrong(LineError::Truncated)),
            (1, _) if text.trim_end() == line::HEADER => {}
            (1, _) => return Err(wrong(LineError::NotABackup)),
            _ => match line::read(&text).map_err(wrong)? {
                line::BackupLine::Row(row) => rows.push(row),
                line::BackupLine::End(count) if count == rows.len() => return Ok(rows),
                line::BackupLine::End(_) => return Err(wrong(LineError::Truncated)),
            },
        }
    }
}
