//! Host objects: values with fields and methods that Rust code brings into a template.

use std::any::Any;
use std::fmt;

use crate::error::Error;
use crate::exec::Execution;
use crate::function::Signature;
use crate::value::types::Type;
use crate::value::{Str, Value};

/// A value that is not made of Go's basic ones: `time.Time`, a chart's metadata, a semantic version.
///
/// A type that is a list or a map under its name (`chartutil.Values`, `chartutil.VersionSet`) needs no object: it is a
/// [`Value::List`] or [`Value::Map`] of a named [`Type`].
pub trait Object: Any {
    /// Its Go type, whose table holds its methods.
    fn go_type(&self) -> Type;

    /// The object itself, for methods that take it out of their receiver: `receiver.object::<Time>()`.
    fn as_any(&self) -> &dyn Any;

    /// An exported field of a struct, or of the struct a pointer points to.
    fn field(&self, _name: &str) -> Option<Value> {
        None
    }

    /// All fields in their order, as `%v` prints them.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// The text of a `Stringer` or an `error`.
    fn text(&self) -> Option<Str> {
        None
    }

    /// The text of a `GoStringer`, for `%#v`.
    fn go_syntax(&self) -> Option<Str> {
        None
    }

    /// The number, string or bool that a named type such as `time.Duration` is underneath.
    fn scalar(&self) -> Option<Value> {
        None
    }

    /// What `range` goes over, for an object that is an iterator function of Go.
    fn sequence(&self) -> Option<Sequence> {
        None
    }

    /// What `encoding/json` writes for it.
    fn json(&self) -> Option<String> {
        None
    }

    /// What a deep copy of it is, where that is not the same again.
    fn copied(&self) -> Option<Value> {
        None
    }

    /// Whether two objects of the same type are equal, for `eq` on comparable structs.
    fn equals(&self, _other: &dyn Object) -> bool {
        false
    }
}

/// The values of an iterator function.
pub enum Sequence {
    /// `iter.Seq`: one value at a time.
    One(Box<dyn Iterator<Item = Value>>),
    /// `iter.Seq2`: pairs.
    Two(Box<dyn Iterator<Item = (Value, Value)>>),
}

impl fmt::Debug for dyn Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.go_type())
    }
}

/// What a method does: it gets the execution, its receiver, and arguments that fit its signature.
pub type MethodBody = fn(&mut Execution<'_>, &Value, &[Value]) -> Result<Value, Error>;

/// A method of a named type.
pub struct Method {
    /// The name a template calls it by.
    pub name: &'static str,
    /// What it takes and gives.
    pub signature: Signature,
    /// What it does.
    pub body: MethodBody,
    /// Whether only a pointer to the type has it.
    pub of_pointer: bool,
}

impl Method {
    /// A method of the type, which a pointer to it has as well.
    pub const fn new(name: &'static str, signature: Signature, body: MethodBody) -> Method {
        Method { name, signature, body, of_pointer: false }
    }

    /// Only a pointer to the type has it.
    pub const fn of_pointer(self) -> Method {
        Method { of_pointer: true, ..self }
    }
}
