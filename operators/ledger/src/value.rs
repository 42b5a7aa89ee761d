//! What a column can hold, the same on both databases.

use std::hash::{Hash, Hasher};

use crate::secret::Secret;

/// Microseconds since 1970, UTC: what PostgreSQL's TIMESTAMP resolves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Microseconds since 1970-01-01T00:00:00Z.
    pub unix_us: i64,
}

impl Moment {
    /// The moment so many microseconds after 1970.
    pub fn from_unix_us(unix_us: i64) -> Moment {
        Moment { unix_us }
    }

    /// The moment `ms` milliseconds later.
    pub fn plus_ms(self, ms: i64) -> Moment {
        Moment { unix_us: self.unix_us.saturating_add(ms.saturating_mul(1000)) }
    }

    /// How long after `earlier` this is; negative if before.
    pub fn since_ms(self, earlier: Moment) -> i64 {
        self.unix_us.saturating_sub(earlier.unix_us) / 1000
    }
}

/// What kind of value a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Text.
    Text,
    /// Text that is sealed before it is stored.
    Secret,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// A point in time.
    Moment,
    /// Bytes.
    Bytes,
}

/// One value of a row; `None` is NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text.
    Text(Option<String>),
    /// A credential, in clear on this side of the seal.
    Secret(Option<Secret>),
    /// A whole number.
    Integer(Option<i64>),
    /// Yes or no.
    Boolean(Option<bool>),
    /// A point in time.
    Moment(Option<Moment>),
    /// Bytes.
    Bytes(Option<Vec<u8>>),
}

impl Value {
    /// The kind this is a value of.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Text(_) => Kind::Text,
            Value::Secret(_) => Kind::Secret,
            Value::Integer(_) => Kind::Integer,
            Value::Boolean(_) => Kind::Boolean,
            Value::Moment(_) => Kind::Moment,
            Value::Bytes(_) => Kind::Bytes,
        }
    }

    /// The text, if it is one and there is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => text.as_deref(),
            _ => None,
        }
    }
}

/// Credentials are alike here: nothing of them goes anywhere.
impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Value::Text(text) => text.hash(state),
            Value::Secret(_) => {}
            Value::Integer(number) => number.hash(state),
            Value::Boolean(yes) => yes.hash(state),
            Value::Moment(moment) => moment.hash(state),
            Value::Bytes(bytes) => bytes.hash(state),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(Some(text.to_string()))
    }
}

impl From<Moment> for Value {
    fn from(moment: Moment) -> Value {
        Value::Moment(Some(moment))
    }
}

/// A Rust type that is one column of a row.
///
/// NULL and the empty text are one: the original's driver writes an empty Go string as NULL and reads NULL as empty.
pub trait Field: Sized {
    /// What the column holds.
    const KIND: Kind;
    /// This, as a value.
    fn to_value(&self) -> Value;
    /// The value as this; `None` if it cannot be.
    fn from_value(value: Value) -> Option<Self>;
}

impl Field for String {
    const KIND: Kind = Kind::Text;
    fn to_value(&self) -> Value {
        Value::Text(Some(self.clone()))
    }
    fn from_value(value: Value) -> Option<String> {
        let Value::Text(text) = value else { return None };
        Some(text.unwrap_or_default())
    }
}

impl Field for Option<String> {
    const KIND: Kind = Kind::Text;
    fn to_value(&self) -> Value {
        Value::Text(self.clone().filter(|text| !text.is_empty()))
    }
    fn from_value(value: Value) -> Option<Option<String>> {
        let Value::Text(text) = value else { return None };
        Some(text.filter(|text| !text.is_empty()))
    }
}

impl Field for Option<Secret> {
    const KIND: Kind = Kind::Secret;
    fn to_value(&self) -> Value {
        Value::Secret(self.clone().filter(|secret| !secret.is_empty()))
    }
    fn from_value(value: Value) -> Option<Option<Secret>> {
        let Value::Secret(secret) = value else { return None };
        Some(secret.filter(|secret| !secret.is_empty()))
    }
}

impl Field for Option<i64> {
    const KIND: Kind = Kind::Integer;
    fn to_value(&self) -> Value {
        Value::Integer(*self)
    }
    fn from_value(value: Value) -> Option<Option<i64>> {
        let Value::Integer(number) = value else { return None };
        Some(number)
    }
}

impl Field for i64 {
    const KIND: Kind = Kind::Integer;
    fn to_value(&self) -> Value {
        Value::Integer(Some(*self))
    }
    fn from_value(value: Value) -> Option<i64> {
        let Value::Integer(number) = value else { return None };
        number
    }
}

impl Field for bool {
    const KIND: Kind = Kind::Boolean;
    fn to_value(&self) -> Value {
        Value::Boolean(Some(*self))
    }
    fn from_value(value: Value) -> Option<bool> {
        let Value::Boolean(yes) = value else { return None };
        Some(yes.unwrap_or_default())
    }
}

impl Field for Moment {
    const KIND: Kind = Kind::Moment;
    fn to_value(&self) -> Value {
        Value::Moment(Some(*self))
    }
    fn from_value(value: Value) -> Option<Moment> {
        let Value::Moment(moment) = value else { return None };
        moment
    }
}

impl Field for Option<Moment> {
    const KIND: Kind = Kind::Moment;
    fn to_value(&self) -> Value {
        Value::Moment(*self)
    }
    fn from_value(value: Value) -> Option<Option<Moment>> {
        let Value::Moment(moment) = value else { return None };
        Some(moment)
    }
}

impl Field for Option<Vec<u8>> {
    const KIND: Kind = Kind::Bytes;
    fn to_value(&self) -> Value {
        Value::Bytes(self.clone())
    }
    fn from_value(value: Value) -> Option<Option<Vec<u8>>> {
        let Value::Bytes(bytes) = value else { return None };
        Some(bytes)
    }
}
