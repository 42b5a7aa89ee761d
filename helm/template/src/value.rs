//! Values as templates see them: Go's kinds, Go's types, Go's idea of truth.

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

pub use collection::{List, Map};
pub use cycle::free_cycles;
pub use json::Numbers;
pub use object::{Method, MethodBody, Object, Sequence};
pub use text::Str;
pub use types::{Kind, Named, Shape, Type};

use crate::function::Function;

/// A value of Go. A clone is cheap and shares lists, maps and objects with the original.
#[derive(Debug, Default)]
pub enum Value {
    /// Nil without a type: an empty `interface {}`, or no value at all.
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
    /// `complex128`: the real and the imaginary part.
    Complex(f64, f64),
    /// `string`
    String(Str),
    /// `[]byte`
    Bytes(Rc<[u8]>),
    /// A slice of any type but `[]byte`.
    List(Type, Rc<List>),
    /// A map with string keys.
    Map(Type, Rc<Map>),
    /// A host object.
    Object(Rc<dyn Object>),
    /// A function value, for `call`.
    Func(Rc<Function>),
}

// By hand, so that the kinds templates are made of are cloned in place.
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

    /// A string.
    pub fn string(text: impl AsRef<[u8]>) -> Value {
        Value::String(Str::new(text))
    }

    /// A `[]byte`.
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Value {
        Value::Bytes(Rc::from(bytes.as_ref()))
    }

    /// A `[]interface {}`.
    pub fn list(items: Vec<Value>) -> Value {
        Value::typed_list(Type::LIST, items)
    }

    /// A slice of another type; the elements must be of that type's elements.
    pub fn typed_list(go_type: Type, items: Vec<Value>) -> Value {
        Value::List(go_type, Rc::new(List::new(items)))
    }

    /// A `[]string`.
    pub fn strings<S: AsRef<[u8]>>(items: impl IntoIterator<Item = S>) -> Value {
        Value::typed_list(Type::STRINGS, items.into_iter().map(Value::string).collect())
    }

    /// A `map[string]interface {}`.
    pub fn map<K: Into<Str>>(entries: impl IntoIterator<Item = (K, Value)>) -> Value {
        Value::typed_map(Type::MAP, entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A map of another type; the values must be of that type's values.
    pub fn typed_map(go_type: Type, entries: BTreeMap<Str, Value>) -> Value {
        Value::Map(go_type, Rc::new(Map::new(entries)))
    }

    /// A host object.
    pub fn from_object(object: impl Object) -> Value {
        Value::Object(Rc::new(object))
    }

    /// The zero value of a type: nil, 0, the empty string.
    pub fn zero(go_type: Type) -> Value {
        match go_type.kind() {
            Kind::Bool => Value::Bool(false),
            Kind::Int => Value::Int(0),
            Kind::Int8 => Value::Int8(0),
            Kind::Int16 => Value::Int16(0),
            Kind::Int32 => Value::Int32(0),
            Kind::Int64 => Value::Int64(0),
            Kind::Uint => Value::Uint(0),
            Kind::Uint8 => Value::Uint8(0),
            Kind::Uint16 => Value::Uint16(0),
            Kind::Uint32 => Value::Uint32(0),
            Kind::Uint64 => Value::Uint64(0),
            Kind::Float32 => Value::Float32(0.0),
            Kind::Float64 => Value::Float64(0.0),
            Kind::Complex128 => Value::Complex(0.0, 0.0),
            Kind::String => Value::String(Str::EMPTY),
            Kind::Slice => Value::List(go_type, Rc::new(List::nil())),
            Kind::Map => Value::Map(go_type, Rc::new(Map::nil())),
            _ => Value::Nil,
        }
    }

    /// Go's type of the value; nothing for nil.
    pub fn type_of(&self) -> Option<Type> {
        Some(match self {
            Value::Nil => return None,
            Value::Bool(_) => Type::BOOL,
            Value::Int(_) => Type::INT,
            Value::Int8(_) => Type::INT8,
            Value::Int16(_) => Type::INT16,
            Value::Int32(_) => Type::INT32,
            Value::Int64(_) => Type::INT64,
            Value::Uint(_) => Type::UINT,
            Value::Uint8(_) => Type::UINT8,
            Value::Uint16(_) => Type::UINT16,
            Value::Uint32(_) => Type::UINT32,
            Value::Uint64(_) => Type::UINT64,
            Value::Float32(_) => Type::FLOAT32,
            Value::Float64(_) => Type::FLOAT64,
            Value::Complex(..) => Type::COMPLEX128,
            Value::String(_) => Type::STRING,
            Value::Bytes(_) => Type::BYTES,
            Value::List(go_type, _) | Value::Map(go_type, _) => *go_type,
            Value::Object(object) => object.go_type(),
            Value::Func(_) => Type::FUNC,
        })
    }

    /// Go's name of the value's type, as `%T` prints it: `<nil>` for nil.
    pub fn type_name(&self) -> String {
        match self {
            Value::Func(function) => function.signature().to_string(),
            _ => self.type_of().map_or_else(|| "<nil>".to_string(), |go_type| go_type.to_string()),
        }
    }

    /// Go's kind of the value.
    pub fn kind(&self) -> Kind {
        self.type_of().map_or(Kind::Invalid, Type::kind)
    }

    /// Go's truth: what `if`, `and`, `or` and `not` ask.
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

    /// Whether it is nil, of a type or none.
    pub fn is_nil(&self) -> bool {
        match self {
            Value::Nil => true,
            Value::List(_, list) => list.is_nil(),
            Value::Map(_, map) => map.is_nil(),
            _ => false,
        }
    }

    /// A signed integer of any size, a named one as well.
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

    /// An unsigned integer of any size, a named one as well.
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

    /// A float of either size, a named one as well.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Float64(number) => Some(*number),
            Value::Float32(number) => Some((*number).into()),
            Value::Object(object) => object.scalar()?.as_f64(),
            _ => None,
        }
    }

    /// A bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(bool) => Some(*bool),
            Value::Object(object) => object.scalar()?.as_bool(),
            _ => None,
        }
    }

    /// A string.
    pub fn as_str(&self) -> Option<&Str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a slice other than `[]byte`.
    pub fn as_list(&self) -> Option<&Rc<List>> {
        match self {
            Value::List(_, list) => Some(list),
            _ => None,
        }
    }

    /// The entries of a map.
    pub fn as_map(&self) -> Option<&Rc<Map>> {
        match self {
            Value::Map(_, map) => Some(map),
            _ => None,
        }
    }

    /// The host object of that Rust type.
    pub fn object<T: 'static>(&self) -> Option<&T> {
        match self {
            Value::Object(object) => object.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// The elements of a slice of any type; bytes become `uint8`.
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
