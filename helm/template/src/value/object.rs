//! Host objects: values with fields and methods implemented in Rust.

use std::any::Any;
use std::fmt;

use crate::error::Error;
use crate::exec::Execution;
use crate::function::Signature;
use crate::value::types::ReflectType;
use crate::value::{Str, Value};

/// A value of a Go type other than the basic ones: `time.Time`, the metadata of a chart, a semantic version.
///
/// A named list or map type (`chartutil.Values`, `chartutil.VersionSet`) needs no object: it is a [`Value::List`] or
/// [`Value::Map`] of a named [`ReflectType`].
pub trait HostObject: Any {
    /// Returns the Go type, whose table contains the methods.
    fn go_type(&self) -> ReflectType;

    /// Returns the object itself, for methods that read their receiver: `receiver.object::<TimeValue>()`.
    fn as_any(&self) -> &dyn Any;

    /// Returns an exported field of the struct, or of the struct that a pointer refers to.
    fn field(&self, _name: &str) -> Option<Value> {
        None
    }

    /// Returns all fields in order, as `%v` prints them.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// Returns the text of a `Stringer` or an `error`.
    fn text(&self) -> Option<Str> {
        None
    }

    /// Returns the text of a `GoStringer`, for `%#v`.
    fn go_syntax(&self) -> Option<Str> {
        None
    }

    /// Returns the number, string or bool underlying a named type such as `time.Duration`.
    fn scalar(&self) -> Option<Value> {
        None
    }

    /// Returns the elements for `range`, if the object is a Go iterator function.
    fn sequence(&self) -> Option<Sequence> {
        None
    }

    /// Returns the JSON that `encoding/json` writes.
    fn json(&self) -> Option<String> {
        None
    }

    /// Returns a deep copy, or `None` if it equals the object.
    fn deep_copy(&self) -> Option<Value> {
        None
    }

    /// Whether two objects of the same type are equal, for `eq` on comparable structs.
    fn equals(&self, _other: &dyn HostObject) -> bool {
        false
    }
}

/// Values of an iterator function.
pub enum Sequence {
    /// `iter.Seq`: one value at a time.
    One(Box<dyn Iterator<Item = Value>>),
    /// `iter.Seq2`: pairs of values.
    Two(Box<dyn Iterator<Item = (Value, Value)>>),
}

impl fmt::Debug for dyn HostObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.go_type())
    }
}

/// Body of a method. It receives the execution, its receiver, and arguments that fit its signature.
pub type MethodBody = fn(&mut Execution<'_>, &Value, &[Value]) -> Result<Value, Error>;

/// A method of a named type.
pub struct Method {
    /// Name in templates.
    pub name: &'static str,
    /// Parameters and result.
    pub signature: Signature,
    /// Implementation.
    pub body: MethodBody,
    /// Whether only the pointer to the type has the method.
    pub of_pointer: bool,
}

impl Method {
    /// Creates a method of the type and of the pointer to it.
    pub const fn new(name: &'static str, signature: Signature, body: MethodBody) -> Method {
        Method { name, signature, body, of_pointer: false }
    }

    /// Restricts the method to the pointer to the type.
    pub const fn of_pointer(self) -> Method {
        Method { of_pointer: true, ..self }
    }
}
