//! Values of columns, independent of the database.

use std::fmt;
use std::sync::Arc;

use ring::digest::Context;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{ColumnType, bytes_text, text_bytes};
use crate::redact::REDACTED;

/// Value of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ColumnValue {
    /// NULL.
    #[default]
    Null,
    /// Text.
    Text(Arc<str>),
    /// Credential as it is stored. Only the typed accessor of the store opens it.
    Sealed(SecretText),
    /// Credential in plaintext, which a plan writes. The store seals it.
    Secret(SecretText),
    /// Integer.
    Integer(i64),
    /// Boolean.
    Boolean(bool),
    /// Point in time, in microseconds since 1970.
    Timestamp(i64),
    /// Bytes.
    Bytes(Arc<[u8]>),
}

/// Text that is redacted wherever it is shown or recorded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretText(pub Arc<str>);

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(REDACTED)
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(String::deserialize(deserializer)?.into()))
    }
}

impl ColumnValue {
    /// Returns a credential as the database stores it.
    pub fn sealed(text: &str) -> Self {
        Self::Sealed(SecretText(text.into()))
    }

    /// Returns a credential in plaintext.
    pub fn secret(text: &str) -> Self {
        Self::Secret(SecretText(text.into()))
    }

    /// Returns the text, if the value is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            ColumnValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the integer, if the value is one.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            ColumnValue::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether a replay knows only that there is a credential.
    pub fn is_redacted(&self) -> bool {
        matches!(self, ColumnValue::Sealed(SecretText(text)) if **text == *REDACTED)
    }

    /// Returns the value as JSON. Credentials are redacted.
    pub fn to_json(&self) -> Value {
        match self {
            ColumnValue::Null => Value::Null,
            ColumnValue::Text(text) => text.as_ref().into(),
            ColumnValue::Sealed(_) | ColumnValue::Secret(_) => REDACTED.into(),
            ColumnValue::Integer(number) => (*number).into(),
            ColumnValue::Boolean(yes) => (*yes).into(),
            ColumnValue::Timestamp(us) => {
                jiff::Timestamp::from_microsecond(*us).map_or_else(|_| (*us).into(), |time| time.to_string().into())
            }
            ColumnValue::Bytes(bytes) => bytes_text(bytes).into(),
        }
    }

    /// Returns the value of a column of this type; NULL if it does not fit.
    pub(super) fn from_json(column_type: ColumnType, value: &Value) -> Self {
        let timestamp = |text: &str| text.parse::<jiff::Timestamp>().ok().map(|time| time.as_microsecond());
        let read = match column_type {
            ColumnType::Text => value.as_str().map(ColumnValue::from),
            ColumnType::Secret => value.as_str().map(ColumnValue::sealed),
            ColumnType::Integer => value.as_i64().map(ColumnValue::Integer),
            ColumnType::Boolean => value.as_bool().map(ColumnValue::Boolean),
            ColumnType::Timestamp => {
                value.as_str().and_then(timestamp).or_else(|| value.as_i64()).map(ColumnValue::Timestamp)
            }
            ColumnType::Bytes => value.as_str().map(|text| ColumnValue::Bytes(text_bytes(text).into())),
        };
        read.unwrap_or_default()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            ColumnValue::Text(text) => text.len(),
            ColumnValue::Sealed(SecretText(text)) | ColumnValue::Secret(SecretText(text)) => text.len(),
            ColumnValue::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// Adds type, length and content, so that no two lists of values have the same input.
    pub(super) fn hash_into(&self, context: &mut Context) {
        let mut add = |tag: u8, bytes: &[u8]| {
            context.update(&[tag]);
            context.update(&(bytes.len() as u64).to_be_bytes());
            context.update(bytes);
        };
        match self {
            ColumnValue::Null => add(0, &[]),
            ColumnValue::Text(text) => add(1, text.as_bytes()),
            ColumnValue::Sealed(SecretText(text)) => add(2, text.as_bytes()),
            ColumnValue::Secret(SecretText(text)) => add(3, text.as_bytes()),
            ColumnValue::Integer(number) => add(4, &number.to_be_bytes()),
            ColumnValue::Boolean(yes) => add(5, &[u8::from(*yes)]),
            ColumnValue::Timestamp(us) => add(6, &us.to_be_bytes()),
            ColumnValue::Bytes(bytes) => add(7, bytes),
        }
    }
}

impl From<&str> for ColumnValue {
    fn from(text: &str) -> Self {
        ColumnValue::Text(text.into())
    }
}

impl From<i64> for ColumnValue {
    fn from(number: i64) -> Self {
        ColumnValue::Integer(number)
    }
}

/// Formats the value as in keys and filters.
impl fmt::Display for ColumnValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnValue::Null => f.write_str("NULL"),
            ColumnValue::Text(text) => f.write_str(text),
            ColumnValue::Integer(number) => number.fmt(f),
            other => match other.to_json() {
                Value::String(text) => f.write_str(&text),
                value => value.fmt(f),
            },
        }
    }
}
