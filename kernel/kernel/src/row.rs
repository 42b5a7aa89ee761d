//! Rows of a database, which views read like objects.
//!
//! A row is identified by an [`ObjectKey`] whose kind is its table, so that journal, `why`, diff and replay need no
//! second form. Values are typed; only the record of a decision has them as JSON.

mod filter;
mod value;
mod write;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{Context, SHA256};
use serde_json::{Map, Value};

use crate::object::Object;
use crate::redact::REDACTED;
use crate::resource::{ObjectKey, Resource, TableKey};
use crate::store::StoreName;

pub use filter::RowFilter;
pub use value::{ColumnValue, SecretText};
pub use write::{RowLimit, RowOperation, RowPrecondition, RowWrite};

/// API group of tables. No kind has it, because groups of custom resources contain a dot.
pub const ROW_GROUP: &str = "rows";

/// Table with its columns.
#[derive(Debug, PartialEq, Eq)]
pub struct RowTable {
    /// Name in the database.
    pub name: &'static str,
    /// Columns, in the order of a row's values.
    pub columns: &'static [RowColumn],
}

/// Column of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct RowColumn {
    /// Name in the database.
    pub name: &'static str,
    /// Type of the values.
    pub column_type: ColumnType,
    /// Whether the column is part of the primary key.
    pub is_key: bool,
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    Text,
    /// Credential, sealed text in the database.
    Secret,
    /// Integer.
    Integer,
    /// Boolean.
    Boolean,
    /// Point in time.
    Timestamp,
    /// Bytes.
    Bytes,
}

impl RowTable {
    /// Returns the table as a kind, for access rules and keys.
    pub const fn resource(&self) -> Resource {
        Resource::cluster_scoped(ROW_GROUP, "v1", self.name, self.name)
    }

    /// Returns the table of a store.
    pub fn key(&self, store: &StoreName) -> TableKey {
        TableKey { cluster: store.clone(), resource: Arc::new(self.resource()) }
    }

    /// Returns the key of a row. Columns of a composite key are joined by `/`.
    pub fn row_key(&self, store: &StoreName, key: &str) -> ObjectKey {
        ObjectKey { table: self.key(store), namespace: Arc::default(), name: Arc::from(key) }
    }

    /// Returns the position of a column.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| known.name == column)
    }

    /// Returns the primary key among a row's values, columns joined by `/`.
    pub fn key_of(&self, values: &[ColumnValue]) -> String {
        let keys = self.columns.iter().zip(values).filter(|(column, _)| column.is_key);
        keys.map(|(_, value)| value.to_string()).collect::<Vec<_>>().join("/")
    }

    /// Returns values as fields of an object. Credentials are redacted.
    pub fn fields(&self, values: &[ColumnValue]) -> Value {
        let field = |(column, value): (&RowColumn, &ColumnValue)| (column.name.to_string(), value.to_json());
        Value::Object(self.columns.iter().zip(values).map(field).collect::<Map<_, _>>())
    }

    /// Returns the values of a row that was recorded as fields.
    pub fn values(&self, fields: &Value) -> Arc<[ColumnValue]> {
        self.columns.iter().map(|column| ColumnValue::from_json(column.column_type, &fields[column.name])).collect()
    }
}

impl TableKey {
    /// Whether this is a table of rows instead of a kind of a cluster.
    pub fn is_rows(&self) -> bool {
        self.resource.is_rows()
    }
}

impl Resource {
    /// Whether this is a table of rows instead of a kind of a cluster.
    pub fn is_rows(&self) -> bool {
        self.group == ROW_GROUP
    }
}

/// Row at one revision. Clones share the values.
#[derive(Clone, PartialEq, Eq)]
pub struct Row {
    /// Key of the row.
    pub key: ObjectKey,
    /// Table of the row.
    pub table: &'static RowTable,
    /// First 8 bytes of the SHA-256 of key and values. No version column is reliable, and equality suffices.
    pub revision: u64,
    /// Values, in the order of the table's columns. Credentials are sealed.
    pub values: Arc<[ColumnValue]>,
}

impl Row {
    /// Creates a row of a store from its values.
    pub fn new(store: &StoreName, table: &'static RowTable, values: impl Into<Arc<[ColumnValue]>>) -> Self {
        let values = values.into();
        Self::with_key(table.row_key(store, &table.key_of(&values)), table, values)
    }

    /// Creates a row whose key is known.
    pub fn with_key(key: ObjectKey, table: &'static RowTable, values: Arc<[ColumnValue]>) -> Self {
        let revision = revision(&key.name, &values);
        Self { key, table, revision, values }
    }

    /// Returns the value of a column; NULL for an unknown column.
    pub fn value(&self, column: &str) -> &ColumnValue {
        self.table.position(column).and_then(|at| self.values.get(at)).unwrap_or(&ColumnValue::Null)
    }

    /// Returns the text of a column; empty for NULL and other types.
    pub fn text(&self, column: &str) -> &str {
        self.value(column).as_text().unwrap_or_default()
    }

    /// Returns the row as an object, with its columns as fields. Credentials are redacted.
    pub fn object(&self) -> Object {
        let json = self.table.fields(&self.values).to_string();
        Object { key: self.key.clone(), revision: self.revision, json: json.into_bytes().into() }
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn size(&self) -> usize {
        let values: usize = self.values.iter().map(|value| size_of::<ColumnValue>() + value.heap_bytes()).sum();
        size_of::<Self>() + self.key.name.len() + values
    }
}

/// Formats the row without its values, which may be confidential.
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:x}", self.key, self.revision)
    }
}

/// Type of a row, with the table it is stored in.
pub trait TableRow: Sized {
    /// Table of the rows.
    const TABLE: &'static RowTable;

    /// Builds the typed row.
    ///
    /// # Errors
    /// When a value does not fit, for example a redacted credential in a replay. The message repeats no value.
    fn from_row(row: &Row) -> Result<Self, String>;

    /// Returns the values, in the order of the table's columns.
    fn values(&self) -> Vec<ColumnValue>;
}

/// Returns the revision of a row with these values.
pub fn revision(key: &str, values: &[ColumnValue]) -> u64 {
    let mut context = Context::new(&SHA256);
    context.update(key.as_bytes());
    values.iter().for_each(|value| value.hash_into(&mut context));
    let digest = context.finish();
    digest.as_ref().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Whether recorded fields of a row have a redacted credential.
pub(crate) fn has_redacted(fields: &Value) -> bool {
    fields.as_object().is_some_and(|fields| fields.values().any(|value| value == REDACTED))
}

fn bytes_text(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

fn text_bytes(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).unwrap_or_default()
}
