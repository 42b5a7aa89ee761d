//! Backup and restore: all rows as lines of JSON, with credentials as they are stored; and what is to be put right after older rows
//! came back, so that nothing that was deployed is deleted or deployed twice.

mod adopt;
mod found;
mod line;
#[cfg(test)]
mod tests;

use std::io::{BufRead, Write};

use switchboard_ledger::archive::Stored;
use switchboard_ledger::{Ledger, LedgerError, Row};

use crate::fleet::{Engine, EngineError};
use crate::settings;

pub use adopt::Adopted;
pub use line::LineError;

/// The longest line that is read: a kubeconfig in it may have a megabyte.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// Why there is no backup, or no restore.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The file failed.
    #[error("could not read or write the backup")]
    File(#[from] std::io::Error),
    /// The file is no backup.
    #[error("could not read line {number} of the backup")]
    Line {
        /// Which, from 1.
        number: usize,
        /// Why.
        #[source]
        source: LineError,
    },
    /// A namespace of an instance says that it is another database's.
    #[error(
        "could not restore: namespace `{0}`, which the backup takes for an Argo CD instance of its own, is one of another database\nhint: give the cluster of the backup's instances with --kubeconfig or --context; if that other database is gone, take the annotation `managed-gitops.redhat.com/database` off the namespace"
    )]
    OfAnother(String),
    /// The cluster failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Writes every row, as one state; answers how many.
///
/// # Errors
/// When the database or the file fails.
pub async fn backup(ledger: &Ledger, to: &mut impl Write) -> Result<usize, BackupError> {
    let rows = ledger.export().await?;
    writeln!(to, "{}", line::HEADER)?;
    for row in &rows {
        writeln!(to, "{}", line::written(row))?;
    }
    // A file that was cut off is known by its missing end.
    writeln!(to, "{}", line::end(rows.len()))?;
    to.flush()?;
    Ok(rows.len())
}

/// A backup that was read whole.
pub struct Kept(Vec<Stored>);

/// Reads a backup, and changes nothing.
///
/// # Errors
/// When the file is none, or not whole.
pub fn open(from: &mut impl BufRead) -> Result<Kept, BackupError> {
    Ok(Kept(read(from)?.into_iter().filter(is_kept).map(at_rest).collect()))
}

/// Puts a backup in place of all rows there are, then looks at the clusters of the instances for what has moved since.
///
/// What was under way when it was made is not gone on with: Operations and moves are left out. Rows that are newer than the backup
/// are made again from the tenants' resources, and find their Applications by name.
///
/// # Errors
/// When the database or the cluster fails; then all is as it was, but for what could not be looked at.
pub async fn restore(ledger: &Ledger, engine: &Engine, kept: &Kept) -> Result<(usize, Adopted), BackupError> {
    let rows = &kept.0;
    let objects = adopt::look(engine).await?;
    // One that is older than that databases are told apart is taken for one of the database that it goes into.
    let (own, before) = (adopt::database_of(rows), settings::database(ledger).await?);
    adopt::check(rows, own.as_deref().or(before.as_deref()), engine).await?;
    ledger.import(rows).await?;
    if let Some(before) = before.filter(|_| own.is_none()) {
        settings::keep_database(ledger, &before).await?;
    }
    let adopted = adopt::adopt(ledger, engine, &objects).await?;
    Ok((rows.len(), adopted))
}

fn is_kept((table, _): &Stored) -> bool {
    let left_out = [switchboard_ledger::rows::Operation::TABLE, switchboard_ledger::rows::fleet::Move::TABLE];
    !left_out.contains(table)
}

/// A unit is on its way no longer.
fn at_rest((table, mut values): Stored) -> Stored {
    if table == switchboard_ledger::rows::fleet::Placement::TABLE
        && let Some(at) = table.columns.iter().position(|column| column.name == "move_id")
        && let Some(value) = values.get_mut(at)
    {
        *value = switchboard_ledger::Value::Text(None);
    }
    (table, values)
}

fn read(from: &mut impl BufRead) -> Result<Vec<Stored>, BackupError> {
    let mut rows = Vec::new();
    let mut number = 0;
    loop {
        number += 1;
        let mut text = String::new();
        let size = std::io::Read::take(&mut *from, MAX_LINE_BYTES).read_line(&mut text)?;
        let wrong = |source| BackupError::Line { number, source };
        match (number, size) {
            (_, 0) => return Err(wrong(LineError::Cut)),
            (1, _) if text.trim_end() == line::HEADER => {}
            (1, _) => return Err(wrong(LineError::NoBackup)),
            _ => match line::read(&text).map_err(wrong)? {
                line::Line::Row(row) => rows.push(row),
                line::Line::End(count) if count == rows.len() => return Ok(rows),
                line::Line::End(_) => return Err(wrong(LineError::Cut)),
            },
        }
    }
}
