//! Values of columns, independent of the database.

use std::hash::{Hash, Hasher};

use crate::secret::SecretString;

/// Point in time in microseconds, UTC, the resolution of PostgreSQL's TIMESTAMP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DbTimestamp {
    /// Microseconds since 1970-01-01T00:00:00Z.
    pub unix_us: i64,
}

impl DbTimestamp {
    /// Returns the time so many microseconds after 1970-01-01T00:00:00Z.
    pub fn from_unix_us(unix_us: i64) -> DbTimestamp {
        DbTimestamp { unix_us }
    }

    /// Returns the time `ms` milliseconds later.
    pub fn plus_ms(self, ms: i64) -> DbTimestamp {
        DbTimestamp { unix_us: self.unix_us.saturating_add(ms.saturating_mul(1000)) }
    }

    /// Returns the milliseconds since `earlier`; negative if this is before it.
    pub fn since_ms(self, earlier: DbTimestamp) -> i64 {
        self.unix_us.saturating_sub(earlier.unix_us) / 1000
    }
}

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Text.
    Text,
    /// Text that is sealed before it is stored.
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

/// Value of a column; `None` is NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlValue {
    /// Text.
    Text(Option<String>),
    /// Credential in plaintext; only its stored form is sealed.
    Secret(Option<SecretString>),
    /// Integer.
    Integer(Option<i64>),
    /// Boolean.
    Boolean(Option<bool>),
    /// Point in time.
    Timestamp(Option<DbTimestamp>),
    /// Bytes.
    Bytes(Option<Vec<u8>>),
}

impl SqlValue {
    /// Returns the type of the value.
    pub fn kind(&self) -> ColumnType {
        match self {
            SqlValue::Text(_) => ColumnType::Text,
            SqlValue::Secret(_) => ColumnType::Secret,
            SqlValue::Integer(_) => ColumnType::Integer,
            SqlValue::Boolean(_) => ColumnType::Boolean,
            SqlValue::Timestamp(_) => ColumnType::Timestamp,
            SqlValue::Bytes(_) => ColumnType::Bytes,
        }
    }

    /// Returns the text, if the value is text and not NULL.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            SqlValue::Text(text) => text.as_deref(),
            _ => None,
        }
    }
}

/// All credentials have the same hash, so that the hash reveals nothing.
impl Hash for SqlValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            SqlValue::Text(text) => text.hash(state),
            SqlValue::Secret(_) => {}
            SqlValue::Integer(number) => number.hash(state),
            SqlValue::Boolean(yes) => yes.hash(state),
            SqlValue::Timestamp(moment) => moment.hash(state),
            SqlValue::Bytes(bytes) => bytes.hash(state),
        }
    }
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> SqlValue {
        SqlValue::Text(Some(text.to_string()))
    }
}

impl From<DbTimestamp> for SqlValue {
    fn from(moment: DbTimestamp) -> SqlValue {
        SqlValue::Timestamp(Some(moment))
    }
}

/// Rust type of a column's values.
///
/// NULL and the empty text are the same: the database driver of managed-gitops writes an empty Go string as NULL and
/// reads NULL as empty.
pub trait ColumnField: Sized {
    /// Type of the column.
    const KIND: ColumnType;
    /// Converts to a value of the column.
    fn to_value(&self) -> SqlValue;
    /// Converts from a value of the column; `None` if the value does not fit.
    fn from_value(value: SqlValue) -> Option<Self>;
}

impl ColumnField for String {
    const KIND: ColumnType = ColumnType::Text;
    fn to_value(&self) -> SqlValue {
        SqlValue::Text(Some(self.clone()))
    }
    fn from_value(value: SqlValue) -> Option<String> {
        let SqlValue::Text(text) = value else { return None };
        Some(text.unwrap_or_default())
    }
}

impl ColumnField for Option<String> {
    const KIND: ColumnType = ColumnType::Text;
    fn to_value(&self) -> SqlValue {
        SqlValue::Text(self.clone().filter(|text| !text.is_empty()))
    }
    fn from_value(value: SqlValue) -> Option<Option<String>> {
        let SqlValue::Text(text) = value else { return None };
        Some(text.filter(|text| !text.is_empty()))
    }
}

impl ColumnField for Option<SecretString> {
    const KIND: ColumnType = ColumnType::Secret;
    fn to_value(&self) -> SqlValue {
        SqlValue::Secret(self.clone().filter(|secret| !secret.is_empty()))
    }
    fn from_value(value: SqlValue) -> Option<Option<SecretString>> {
        let SqlValue::Secret(secret) = value else { return None };
        Some(secret.filter(|secret| !secret.is_empty()))
    }
}

impl ColumnField for Option<i64> {
    const KIND: ColumnType = ColumnType::Integer;
    fn to_value(&self) -> SqlValue {
        SqlValue::Integer(*self)
    }
    fn from_value(value: SqlValue) -> Option<Option<i64>> {
        let SqlValue::Integer(number) = value else { return None };
        Some(number)
    }
}

impl ColumnField for i64 {
    const KIND: ColumnType = ColumnType::Integer;
    fn to_value(&self) -> SqlValue {
        SqlValue::Integer(Some(*self))
    }
    fn from_value(value: SqlValue) -> Option<i64> {
        let SqlValue::Integer(number) = value else { return None };
        number
    }
}

impl ColumnField for bool {
    const KIND: ColumnType = ColumnType::Boolean;
    fn to_value(&self) -> SqlValue {
        SqlValue::Boolean(Some(*self))
    }
    fn from_value(value: SqlValue) -> Option<bool> {
        let SqlValue::Boolean(yes) = value else { return None };
        Some(yes.unwrap_or_default())
    }
}

impl ColumnField for DbTimestamp {
    const KIND: ColumnType = ColumnType::Timestamp;
    fn to_value(&self) -> SqlValue {
        SqlValue::Timestamp(Some(*self))
    }
    fn from_value(value: SqlValue) -> Option<DbTimestamp> {
        let SqlValue::Timestamp(moment) = value else { return None };
        moment
    }
}

impl ColumnField for Option<DbTimestamp> {
    const KIND: ColumnType = ColumnType::Timestamp;
    fn to_value(&self) -> SqlValue {
        SqlValue::Timestamp(*self)
    }
    fn from_value(value: SqlValue) -> Option<Option<DbTimestamp>> {
        let SqlValue::Timestamp(moment) = value else { return None };
        Some(moment)
    }
}

impl ColumnField for Option<Vec<u8>> {
    const KIND: ColumnType = ColumnType::Bytes;
    fn to_value(&self) -> SqlValue {
        SqlValue::Bytes(self.clone())
    }
    fn from_value(value: SqlValue) -> Option<Option<Vec<u8>>> {
        let SqlValue::Bytes(bytes) = value else { return None };
        Some(bytes)
    }
}
