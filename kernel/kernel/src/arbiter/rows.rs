//! Checks of a plan's rows.

use std::collections::BTreeSet;

use crate::decision::{Write, WriteResult};
use crate::operator::Declaration;
use crate::resource::ObjectKey;
use crate::row::{RowOperation, RowPrecondition, RowWrite};
use crate::store::PlannedRow;
use crate::view::{Reader, Reads};

/// Checks the rows of a plan, and resolves their preconditions.
///
/// # Errors
/// All rows with the reason of the first refusal: rows commit together or not at all, and no object without them.
pub fn check_rows(
    declaration: &Declaration,
    rows: Vec<RowWrite>,
    reads: &Reads,
    reader: &dyn Reader,
) -> Result<Vec<PlannedRow>, Vec<Write>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let refusal = rows.iter().find_map(|row| check_declared(row, declaration).err()).or_else(|| check_stores(&rows));
    if let Some(reason) = refusal {
        let refuse = |row: RowWrite| record(&row, WriteResult::Refused { reason: reason.clone() });
        return Err(rows.into_iter().map(refuse).collect());
    }
    let mut written = BTreeSet::new();
    Ok(rows.into_iter().map(|row| plan(row, &mut written, reads, reader)).collect())
}

/// Returns the checked rows of a plan. If they were refused, its objects are not written either, because rows are
/// authoritative.
pub fn rows_or_refuse_all(
    rows: Result<Vec<PlannedRow>, Vec<Write>>,
    writes: &mut Vec<Write>,
    refused: &mut Vec<Write>,
) -> Vec<PlannedRow> {
    rows.unwrap_or_else(|rows| {
        refused.splice(0..0, rows);
        refused.append(writes);
        Vec::new()
    })
}

fn check_declared(row: &RowWrite, declaration: &Declaration) -> Result<(), String> {
    let resource = row.table.resource();
    let covered = declaration
        .outputs
        .iter()
        .any(|output| output.resource == resource && output.covers_object(None, Some(&row.key.name)));
    if covered { Ok(()) } else { Err(format!("{} is not among the operator's declared outputs", row.key)) }
}

fn check_stores(rows: &[RowWrite]) -> Option<String> {
    let stores: BTreeSet<_> = rows.iter().map(|row| &row.key.table.cluster).collect();
    (stores.len() > 1).then(|| "rows of several stores cannot be committed in one transaction".to_string())
}

fn plan(mut row: RowWrite, written: &mut BTreeSet<ObjectKey>, reads: &Reads, reader: &dyn Reader) -> PlannedRow {
    let is_first = written.insert(row.key.clone());
    let read = read(&row, reads, reader);
    if row.precondition == RowPrecondition::AsRead {
        row.precondition = match &read {
            // A later change of the same row follows the first one, within the transaction.
            _ if !is_first => RowPrecondition::Unconditional,
            None => RowPrecondition::Unconditional,
            Some(None) => RowPrecondition::Absent,
            Some(Some(found)) => RowPrecondition::Values(found.values.clone()),
        };
    }
    let found = read.flatten();
    let is_same = is_first
        && match (&row.operation, &row.precondition) {
            (RowOperation::Put(values), RowPrecondition::Values(was)) => values == was,
            (RowOperation::Delete, RowPrecondition::Absent) => true,
            _ => false,
        };
    let write = record(&row, if is_same { WriteResult::Unchanged } else { WriteResult::Skipped });
    if is_same {
        // The commit still requires what was read.
        row.operation = RowOperation::Check(Vec::new());
    }
    PlannedRow { change: row, write, before: found.map(|found| found.table.fields(&found.values)) }
}

/// Returns a row as it was read, or its absence; `None` if it was not read.
fn read(row: &RowWrite, reads: &Reads, reader: &dyn Reader) -> Option<Option<std::sync::Arc<crate::row::Row>>> {
    let is_listed = || {
        let lists = reads.lists.iter().chain(&reads.rows.samples).filter(|(query, _)| query.table == row.key.table);
        lists.flat_map(|(_, listed)| listed).any(|one| one.name == row.key.name)
    };
    if !reads.gets.contains_key(&row.key) && !is_listed() {
        return None;
    }
    reader.row(&row.key, row.table)
}

/// Returns the change as it is recorded.
fn record(row: &RowWrite, result: WriteResult) -> Write {
    Write { mutation: row.mutation(), object: row.key.clone(), result }
}
