//! Changes of rows, as data.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{ColumnValue, RowFilter, RowTable, TableRow};
use crate::diff::REDACTED_OTHER;
use crate::plan::{Mutation, PatchType, Preconditions, WriteOp};
use crate::resource::ObjectKey;
use crate::store::StoreName;

/// Change of one row. All row changes of a plan are committed in their order and in one transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct RowWrite {
    /// Table of the row.
    pub table: &'static RowTable,
    /// Key of the row, with its store.
    pub key: ObjectKey,
    /// Operation on the row.
    pub operation: RowOperation,
    /// Precondition of the change. If it does not hold, nothing of the plan is written, and the unit decides again.
    pub precondition: RowPrecondition,
}

/// Operation on a row.
#[derive(Clone, Debug, PartialEq)]
pub enum RowOperation {
    /// Inserts the row, or replaces it.
    Put(Arc<[ColumnValue]>),
    /// Inserts the row unless its key exists.
    Ensure(Arc<[ColumnValue]>),
    /// Deletes the row. A missing row is no conflict.
    Delete,
    /// Writes nothing, and checks precondition and limits. Commits that check limits of the same row are serialized.
    Check(Vec<RowLimit>),
}

/// Precondition of a row's change.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RowPrecondition {
    /// The row is unchanged since it was read. No precondition if it was not read. The arbiter replaces this by one of
    /// the others.
    #[default]
    AsRead,
    /// No precondition.
    Unconditional,
    /// The row does not exist.
    Absent,
    /// The row has exactly these values.
    Values(Arc<[ColumnValue]>),
}

/// Maximum for the total number of some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLimit {
    /// Rows that count, including those that earlier changes of the same commit insert.
    pub rows: Vec<(&'static RowTable, RowFilter)>,
    /// Maximum number of rows.
    pub max_rows: u64,
}

impl RowWrite {
    fn of<R: TableRow>(store: &StoreName, values: &[ColumnValue], operation: RowOperation) -> Self {
        let key = R::TABLE.row_key(store, &R::TABLE.key_of(values));
        Self { table: R::TABLE, key, operation, precondition: RowPrecondition::AsRead }
    }

    /// Inserts a row, which must not exist.
    pub fn insert<R: TableRow>(store: &StoreName, row: &R) -> Self {
        Self { precondition: RowPrecondition::Absent, ..Self::put(store, row) }
    }

    /// Inserts a row, or replaces the row of its key.
    pub fn put<R: TableRow>(store: &StoreName, row: &R) -> Self {
        let values: Arc<[ColumnValue]> = row.values().into();
        Self::of::<R>(store, &values, RowOperation::Put(values.clone()))
    }

    /// Inserts a row unless its key exists.
    pub fn ensure<R: TableRow>(store: &StoreName, row: &R) -> Self {
        let values: Arc<[ColumnValue]> = row.values().into();
        Self::of::<R>(store, &values, RowOperation::Ensure(values.clone())).unconditional()
    }

    /// Deletes a row.
    pub fn delete<R: TableRow>(store: &StoreName, row: &R) -> Self {
        Self::of::<R>(store, &row.values(), RowOperation::Delete)
    }

    /// Fails the commit if a row that was read has changed.
    pub fn require_unchanged<R: TableRow>(store: &StoreName, row: &R) -> Self {
        Self::require_limits(store, row, Vec::new())
    }

    /// Fails the commit if a row that was read has changed, or if a count exceeds its limit.
    pub fn require_limits<R: TableRow>(store: &StoreName, row: &R, limits: Vec<RowLimit>) -> Self {
        Self::of::<R>(store, &row.values(), RowOperation::Check(limits))
    }

    /// Removes the precondition.
    #[must_use]
    pub fn unconditional(self) -> Self {
        Self { precondition: RowPrecondition::Unconditional, ..self }
    }

    /// Returns the values after the change; `None` if it leaves no row or writes nothing.
    pub fn values(&self) -> Option<&Arc<[ColumnValue]>> {
        match &self.operation {
            RowOperation::Put(values) | RowOperation::Ensure(values) => Some(values),
            RowOperation::Delete | RowOperation::Check(_) => None,
        }
    }

    /// Returns the values that the precondition requires.
    pub fn required(&self) -> Option<&Arc<[ColumnValue]>> {
        match &self.precondition {
            RowPrecondition::Values(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the change as a mutation of an object with the columns as fields, for records. Credentials are redacted.
    pub fn mutation(&self) -> Mutation {
        let fields = || self.fields_after().unwrap_or_default();
        let operation = match &self.operation {
            RowOperation::Put(_) if self.precondition == RowPrecondition::Absent => WriteOp::Create(fields()),
            RowOperation::Put(_) => WriteOp::Update(fields()),
            RowOperation::Ensure(_) => WriteOp::Apply { body: fields(), force: false },
            RowOperation::Delete => WriteOp::Delete { propagation: None },
            // A patch without fields changes nothing and has a precondition, as this operation.
            RowOperation::Check(limits) => {
                let limit = |limit: &RowLimit| {
                    let counted = limit.rows.iter().map(|(table, filter)| format!("{} with {filter}", table.name));
                    json!({"maxRows": limit.max_rows, "rows": counted.collect::<Vec<_>>()})
                };
                let limits: Vec<Value> = limits.iter().map(limit).collect();
                let body = if limits.is_empty() { json!({}) } else { json!({"limits": limits}) };
                WriteOp::Patch { patch_type: PatchType::Merge, body }
            }
        };
        let preconditions = match &self.precondition {
            RowPrecondition::Unconditional => Preconditions::Unconditional,
            RowPrecondition::Values(values) => {
                Preconditions::Exact { uid: String::new(), revision: super::revision(&self.key.name, values) }
            }
            RowPrecondition::AsRead | RowPrecondition::Absent => Preconditions::AsRead,
        };
        let mutation = Mutation::delete(&self.table.resource(), "", &self.key.name);
        Mutation { operation, preconditions, ..mutation }
    }

    /// Returns the row after the change as fields. A credential that differs is marked.
    pub fn fields_after(&self) -> Option<Value> {
        let values = self.values()?;
        let mut fields = self.table.fields(values);
        for (at, column) in self.table.columns.iter().enumerate() {
            let is_new = matches!(values.get(at), Some(ColumnValue::Secret(_)));
            if is_new && self.required().is_some() {
                fields[column.name] = REDACTED_OTHER.into();
            }
        }
        Some(fields)
    }
}
