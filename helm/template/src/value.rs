//! Values of templates, with Go's kinds, types and truth.

mod collection;
mod cycle;
mod json;
mod object;
mod teardown;
#[cfg(test)]
mod tests;
mod text;
mod types;

use std::collections::BTreeMap;
use std::rc::Rc;

pub use collection::{GoMap, GoSlice};
pub use cycle::free_cycles;
pub use json::JsonNumbers;
pub use object::{HostObject, Method, MethodBody, Sequence};
pub use text::Str;
pub use types::{NamedType, ReflectKind, ReflectType, TypeShape};

use crate::function::Function;

/// A Go value. Cloning is cheap and shares lists, maps and objects.
#[derive(Debug, Default)]
pub enum Value {
    /// Untyped nil: an empty `interface {}`, or no value at all.
    #[default]
    Nil,
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i64),
    /// `int8`
    Int8(i8),
    /// `int16`
    Int16(i16),
    /// `int32`
    Int32(i32),
    /// `int64`
    Int64(i64),
    /// `uint`
    Uint(u64),
    /// `uint8`
    Uint8(u8),
    /// `uint16`
    Uint16(u16),
    /// `uint32`
    Uint32(u32),
    /// `uint64`
    Uint64(u64),
    /// `float32`
    Float32(f32),
    /// `float64`
    Float64(f64),
    /// `complex128`: real and imaginary part.
    Complex(f64, f64),
    /// `string`
    String(Str),
    /// `[]byte`
    Bytes(Rc<[u8]>),
    /// A slice of any type but `[]byte`.
    List(ReflectType, Rc<GoSlice>),
    /// A map with string keys.
    Map(ReflectType, Rc<GoMap>),
    /// A host object.
    Object(Rc<dyn HostObject>),
    /// A function value, for `call`.
    Func(Rc<Function>),
}

// Implemented by hand so that the most common kinds are cloned inline.
impl Clone for Value {
    #[inline]
    fn clone(&self) -> Value {
        match self {
            Value::String(text) => Value::String(text.clone()),
            Value::Map(go_type, map) => Value::Map(*go_type, map.clone()),
            Value::List(go_type, list) => Value::List(*go_type, list.clone()),
            Value::Int(number) => Value::Int(*number),
            other => other.clone_rare(),
        }
    }
}

impl Value {
    fn clone_rare(&self) -> Value {
        match self {
            Value::Nil => Value::Nil,
            Value::Bool(bool) => Value::Bool(*bool),
            Value::Int(number) => Value::Int(*number),
            Value::Int8(number) => Value::Int8(*number),
            Value::Int16(number) => Value::Int16(*number),
            Value::Int32(number) => Value::Int32(*number),
            Value::Int64(number) => Value::Int64(*number),
            Value::Uint(number) => Value::Uint(*number),
            Value::Uint8(number) => Value::Uint8(*number),
            Value::Uint16(number) => Value::Uint16(*number),
            Value::Uint32(number) => Value::Uint32(*number),
            Value::Uint64(number) => Value::Uint64(*number),
            Value::Float32(number) => Value::Float32(*number),
            Value::Float64(number) => Value::Float64(*number),
            Value::Complex(real, imaginary) => Value::Complex(*real, *imaginary),
            Value::String(text) => Value::String(text.clone()),
            Value::Bytes(bytes) => Value::Bytes(bytes.clone()),
            Value::List(go_type, list) => Value::List(*go_type, list.clone()),
            Value::Map(go_type, map) => Value::Map(*go_type, map.clone()),
            Value::Object(object) => Value::Object(object.clone()),
            Value::Func(function) => Value::Func(function.clone()),
        }
    }

    /// Creates a string.
    pub fn string(text: impl AsRef<[u8]>) -> Value {
        Value::String(Str::new(text))
    }

    /// Creates a `[]byte`.
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Value {
        Value::Bytes(Rc::from(bytes.as_ref()))
    }

    /// Creates a `[]interface {}`.
    pub fn list(items: Vec<Value>) -> Value {
        Value::typed_list(ReflectType::LIST, items)
    }

    /// Creates a slice of another type. The elements must have its element type.
    pub fn typed_list(go_type: ReflectType, items: Vec<Value>) -> Value {
        Value::List(go_type, Rc::new(GoSlice::new(items)))
    }

    /// Creates a `[]string`.
    pub fn strings<S: AsRef<[u8]>>(items: impl IntoIterator<Item = S>) -> Value {
        Value::typed_list(ReflectType::STRINGS, items.into_iter().map(Value::string).collect())
    }

    /// Creates a `map[string]interface {}`.
    pub fn map<K: Into<Str>>(entries: impl IntoIterator<Item = (K, Value)>) -> Value {
        Value::typed_map(ReflectType::MAP, entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Creates a map of another type. The values must have its element type.
    pub fn typed_map(go_type: ReflectType, entries: BTreeMap<Str, Value>) -> Value {
        Value::Map(go_type, Rc::new(GoMap::new(entries)))
    }

    /// Creates a value from a host object.
    pub fn from_object(object: impl HostObject) -> Value {
        Value::Object(Rc::new(object))
    }

    /// Creates the zero value of a type: nil, 0, the empty string.
    pub fn zero(go_type: ReflectType) -> Value {
        match go_type.kind() {
            ReflectKind::Bool => Value::Bool(false),
            ReflectKind::Int => Value::Int(0),
            ReflectKind::Int8 => Value::Int8(0),
            ReflectKind::Int16 => Value::Int16(0),
            ReflectKind::Int32 => Value::Int32(0),
            ReflectKind::Int64 => Value::Int64(0),
            ReflectKind::Uint => Value::Uint(0),
            ReflectKind::Uint8 => Value::Uint8(0),
            ReflectKind::Uint16 => Value::Uint16(0),
            ReflectKind::Uint32 => Value::Uint32(0),
            ReflectKind::Uint64 => Value::Uint64(0),
            ReflectKind::Float32 => Value::Float32(0.0),
            ReflectKind::Float64 => Value::Float64(0.0),
            ReflectKind::Complex128 => Value::Complex(0.0, 0.0),
            ReflectKind::String => Value::String(Str::EMPTY),
            ReflectKind::Slice => Value::List(go_type, Rc::new(GoSlice::nil())),
            ReflectKind::Map => Value::Map(go_type, Rc::new(GoMap::nil())),
            _ => Value::Nil,
        }
    }

    /// Returns the Go type of the value, or `None` for nil.
    pub fn type_of(&self) -> Option<ReflectType> {
        Some(match self {
            Value::Nil => return None,
            Value::Bool(_) => ReflectType::BOOL,
            Value::Int(_) => ReflectType::INT,
            Value::Int8(_) => ReflectType::INT8,
            Value::Int16(_) => ReflectType::INT16,
            Value::Int32(_) => ReflectType::INT32,
            Value::Int64(_) => ReflectType::INT64,
            Value::Uint(_) => ReflectType::UINT,
            Value::Uint8(_) => ReflectType::UINT8,
            Value::Uint16(_) => ReflectType::UINT16,
            Value::Uint32(_) => ReflectType::UINT32,
            Value::Uint64(_) => ReflectType::UINT64,
            Value::Float32(_) => ReflectType::FLOAT32,
            Value::Float64(_) => ReflectType::FLOAT64,
            Value::Complex(..) => ReflectType::COMPLEX128,
            Value::String(_) => ReflectType::STRING,
            Value::Bytes(_) => ReflectType::BYTES,
            Value::List(go_type, _) | Value::Map(go_type, _) => *go_type,
            Value::Object(object) => object.go_type(),
            Value::Func(_) => ReflectType::FUNC,
        })
    }

    /// Returns Go's name of the value's type, as `%T` prints it: `<nil>` for nil.
    pub fn type_name(&self) -> String {
        match self {
            Value::Func(function) => function.signature().to_string(),
            _ => self.type_of().map_or_else(|| "<nil>".to_string(), |go_type| go_type.to_string()),
        }
    }

    /// Returns the Go kind of the value.
    pub fn kind(&self) -> ReflectKind {
        self.type_of().map_or(ReflectKind::Invalid, ReflectType::kind)
    }

    /// Whether the value is true for Go's `if`, `and`, `or` and `not`.
    pub fn is_true(&self) -> bool {
        match self {
            Value::Nil => false,
            Value::Bool(bool) => *bool,
            Value::String(text) => !text.is_empty(),
            Value::Bytes(bytes) => !bytes.is_empty(),
            Value::List(_, list) => !list.is_empty(),
            Value::Map(_, map) => !map.is_empty(),
            Value::Float32(number) => *number != 0.0,
            Value::Float64(number) => *number != 0.0,
            Value::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Value::Object(object) => object.scalar().is_none_or(|scalar| scalar.is_true()),
            Value::Func(_) => true,
            other => other.as_i64().map_or_else(|| other.as_u64() != Some(0), |number| number != 0),
        }
    }

    /// Whether the value is nil, typed or untyped.
    pub fn is_nil(&self) -> bool {
        match self {
            Value::Nil => true,
            Value::List(_, list) => list.is_nil(),
            Value::Map(_, map) => map.is_nil(),
            _ => false,
        }
    }

    /// Returns a signed integer of any size, including named types.
    pub fn as_i64(&self) -> Option<i64> {
        Some(match self {
            Value::Int(number) | Value::Int64(number) => *number,
            Value::Int8(number) => (*number).into(),
            Value::Int16(number) => (*number).into(),
            Value::Int32(number) => (*number).into(),
            Value::Object(object) => return object.scalar()?.as_i64(),
            _ => return None,
        })
    }

    /// Returns an unsigned integer of any size, including named types.
    pub fn as_u64(&self) -> Option<u64> {
        Some(match self {
            Value::Uint(number) | Value::Uint64(number) => *number,
            Value::Uint8(number) => (*number).into(),
            Value::Uint16(number) => (*number).into(),
            Value::Uint32(number) => (*number).into(),
            Value::Object(object) => return object.scalar()?.as_u64(),
            _ => return None,
        })
    }

    /// Returns a float of either size, including named types.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Float64(number) => Some(*number),
            Value::Float32(number) => Some((*number).into()),
            Value::Object(object) => object.scalar()?.as_f64(),
            _ => None,
        }
    }

    /// Returns a bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(bool) => Some(*bool),
            Value::Object(object) => object.scalar()?.as_bool(),
            _ => None,
        }
    }

    /// Returns a string.
    pub fn as_str(&self) -> Option<&Str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements of a slice other than `[]byte`.
    pub fn as_list(&self) -> Option<&Rc<GoSlice>> {
        match self {
            Value::List(_, list) => Some(list),
            _ => None,
        }
    }

    /// Returns the entries of a map.
    pub fn as_map(&self) -> Option<&Rc<GoMap>> {
        match self {
            Value::Map(_, map) => Some(map),
            _ => None,
        }
    }

    /// Returns the host object if it has type `T`.
    pub fn object<T: 'static>(&self) -> Option<&T> {
        match self {
            Value::Object(object) => object.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// Returns the elements of a slice of any type. Bytes become `uint8`.
    pub fn elements(&self) -> Option<Vec<Value>> {
        match self {
            Value::List(_, list) => Some(list.to_vec()),
            Value::Bytes(bytes) => Some(bytes.iter().map(|byte| Value::Uint8(*byte)).collect()),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::string(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::string(text)
    }
}

impl From<Str> for Value {
    fn from(text: Str) -> Value {
        Value::String(text)
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Value {
        Value::Bool(bool)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Float64(number)
    }
}
