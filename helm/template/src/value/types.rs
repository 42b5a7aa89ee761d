//! Go's types, as far as a template can see them: `%T`, `kindOf`, error texts, what may be given to a function.

use std::fmt;

use crate::value::object::Method;

/// A type of Go. Copies are pointers; make new ones as constants:
///
/// ```
/// use switchboard_template::{Shape, Type};
/// const CHUNKS: Type = Type(&Shape::Slice(Type::LIST));
/// assert_eq!(CHUNKS.to_string(), "[][]interface {}");
/// ```
///
/// A type whose methods give the type itself has statics, which name each other: `static TIME: Shape = ...`, `Type(&TIME)`.
#[derive(Clone, Copy)]
pub struct Type(pub &'static Shape);

/// What a type is made of.
pub enum Shape {
    /// `interface {}`.
    Any,
    /// `reflect.Value`: a parameter that takes anything, a missing value as well.
    Reflect,
    /// A type without parts.
    Basic(Kind),
    /// `[]T`.
    Slice(Type),
    /// `map[K]V`.
    Map(Type, Type),
    /// `*T`.
    Pointer(Type),
    /// A function, whatever it takes: [`crate::Function::signature`] says that.
    Func,
    /// A struct without a name; its fields are the host object's.
    Struct,
    /// A type with a name of its own.
    Named(&'static Named),
}

/// A type with a name, such as `time.Time` or `chartutil.Values`.
pub struct Named {
    /// The name with its package, as `%T` prints it.
    pub name: &'static str,
    /// What the type is made of.
    pub underlying: Type,
    /// Its methods, and those of a pointer to it.
    pub methods: &'static [Method],
}

impl Named {
    fn method(&'static self, name: &str) -> Option<&'static Method> {
        self.methods.iter().find(|method| method.name == name)
    }
}

/// Go's `reflect.Kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// No value at all.
    Invalid,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `int8`
    Int8,
    /// `int16`
    Int16,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint`
    Uint,
    /// `uint8`
    Uint8,
    /// `uint16`
    Uint16,
    /// `uint32`
    Uint32,
    /// `uint64`
    Uint64,
    /// `float32`
    Float32,
    /// `float64`
    Float64,
    /// `complex128`
    Complex128,
    /// `string`
    String,
    /// `slice`
    Slice,
    /// `map`
    Map,
    /// `struct`
    Struct,
    /// A pointer; its name is `ptr`.
    Pointer,
    /// `func`
    Func,
    /// `interface`
    Interface,
}

impl Kind {
    /// The name `reflect.Kind` has, which is what sprig's `kindOf` answers.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Invalid => "invalid",
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Int8 => "int8",
            Kind::Int16 => "int16",
            Kind::Int32 => "int32",
            Kind::Int64 => "int64",
            Kind::Uint => "uint",
            Kind::Uint8 => "uint8",
            Kind::Uint16 => "uint16",
            Kind::Uint32 => "uint32",
            Kind::Uint64 => "uint64",
            Kind::Float32 => "float32",
            Kind::Float64 => "float64",
            Kind::Complex128 => "complex128",
            Kind::String => "string",
            Kind::Slice => "slice",
            Kind::Map => "map",
            Kind::Struct => "struct",
            Kind::Pointer => "ptr",
            Kind::Func => "func",
            Kind::Interface => "interface",
        }
    }

    /// Whether it is one of Go's signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Kind::Int | Kind::Int8 | Kind::Int16 | Kind::Int32 | Kind::Int64)
    }

    /// Whether it is one of Go's unsigned integers.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Kind::Uint | Kind::Uint8 | Kind::Uint16 | Kind::Uint32 | Kind::Uint64)
    }
}

impl Type {
    /// `interface {}`
    pub const ANY: Type = Type(&Shape::Any);
    /// `reflect.Value`
    pub const REFLECT: Type = Type(&Shape::Reflect);
    /// `bool`
    pub const BOOL: Type = Type(&Shape::Basic(Kind::Bool));
    /// `int`
    pub const INT: Type = Type(&Shape::Basic(Kind::Int));
    /// `int8`
    pub const INT8: Type = Type(&Shape::Basic(Kind::Int8));
    /// `int16`
    pub const INT16: Type = Type(&Shape::Basic(Kind::Int16));
    /// `int32`
    pub const INT32: Type = Type(&Shape::Basic(Kind::Int32));
    /// `int64`
    pub const INT64: Type = Type(&Shape::Basic(Kind::Int64));
    /// `uint`
    pub const UINT: Type = Type(&Shape::Basic(Kind::Uint));
    /// `uint8`
    pub const UINT8: Type = Type(&Shape::Basic(Kind::Uint8));
    /// `uint16`
    pub const UINT16: Type = Type(&Shape::Basic(Kind::Uint16));
    /// `uint32`
    pub const UINT32: Type = Type(&Shape::Basic(Kind::Uint32));
    /// `uint64`
    pub const UINT64: Type = Type(&Shape::Basic(Kind::Uint64));
    /// `float32`
    pub const FLOAT32: Type = Type(&Shape::Basic(Kind::Float32));
    /// `float64`
    pub const FLOAT64: Type = Type(&Shape::Basic(Kind::Float64));
    /// `complex128`
    pub const COMPLEX128: Type = Type(&Shape::Basic(Kind::Complex128));
    /// `string`
    pub const STRING: Type = Type(&Shape::Basic(Kind::String));
    /// `[]uint8`
    pub const BYTES: Type = Type(&Shape::Slice(Type::UINT8));
    /// `[]interface {}`
    pub const LIST: Type = Type(&Shape::Slice(Type::ANY));
    /// `[]string`
    pub const STRINGS: Type = Type(&Shape::Slice(Type::STRING));
    /// `[]int`
    pub const INTS: Type = Type(&Shape::Slice(Type::INT));
    /// `map[string]interface {}`
    pub const MAP: Type = Type(&Shape::Map(Type::STRING, Type::ANY));
    /// Any function.
    pub const FUNC: Type = Type(&Shape::Func);
    /// `map[string]string`
    pub const STRING_MAP: Type = Type(&Shape::Map(Type::STRING, Type::STRING));

    /// The kind of the type's values.
    pub fn kind(self) -> Kind {
        match self.0 {
            Shape::Any => Kind::Interface,
            Shape::Reflect | Shape::Struct => Kind::Struct,
            Shape::Basic(kind) => *kind,
            Shape::Slice(_) => Kind::Slice,
            Shape::Map(..) => Kind::Map,
            Shape::Pointer(_) => Kind::Pointer,
            Shape::Func => Kind::Func,
            Shape::Named(named) => named.underlying.kind(),
        }
    }

    /// The type of a list's elements or of a map's values; `interface {}` for all else.
    pub fn element(self) -> Type {
        match self.underlying().0 {
            Shape::Slice(element) | Shape::Map(_, element) | Shape::Pointer(element) => *element,
            _ => Type::ANY,
        }
    }

    /// What the type is made of, its name taken away.
    pub fn underlying(self) -> Type {
        match self.0 {
            Shape::Named(named) => named.underlying.underlying(),
            _ => self,
        }
    }

    /// The method of that name, which a pointer to the type has as well.
    pub fn method(self, name: &str) -> Option<&'static Method> {
        match self.0 {
            Shape::Pointer(Type(Shape::Named(named))) => named.method(name),
            Shape::Named(named) => named.method(name).filter(|method| !method.of_pointer),
            _ => None,
        }
    }

    /// Whether there may be a method of that name: asked for every field of a template.
    #[inline]
    pub(crate) fn may_have_method(self, name: &[u8]) -> bool {
        match self.0 {
            Shape::Map(..) => false,
            Shape::Named(named) => named.methods.iter().any(|method| method.name.as_bytes() == name),
            _ => true,
        }
    }

    /// Whether nil can be given where this type is wanted.
    pub fn can_be_nil(self) -> bool {
        matches!(self.0, Shape::Reflect)
            || matches!(self.kind(), Kind::Func | Kind::Interface | Kind::Map | Kind::Pointer | Kind::Slice)
    }

    /// Go's assignability: the same type, the same parts where one of the two has no name, or anything to `interface {}`.
    pub fn assignable_to(self, to: Type) -> bool {
        if matches!(to.0, Shape::Any) || self == to {
            return true;
        }
        let one_is_unnamed = !self.has_name() || !to.has_name();
        one_is_unnamed && self.underlying() == to.underlying()
    }

    fn has_name(self) -> bool {
        matches!(self.0, Shape::Named(_) | Shape::Basic(_) | Shape::Reflect)
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        if std::ptr::eq(self.0, other.0) {
            return true;
        }
        match (self.0, other.0) {
            (Shape::Any, Shape::Any) | (Shape::Reflect, Shape::Reflect) => true,
            (Shape::Basic(a), Shape::Basic(b)) => a == b,
            (Shape::Slice(a), Shape::Slice(b)) | (Shape::Pointer(a), Shape::Pointer(b)) => a == b,
            (Shape::Map(key, value), Shape::Map(other_key, other_value)) => key == other_key && value == other_value,
            (Shape::Named(a), Shape::Named(b)) => a.name == b.name,
            _ => false,
        }
    }
}

impl Eq for Type {}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Shape::Any => f.write_str("interface {}"),
            Shape::Reflect => f.write_str("reflect.Value"),
            Shape::Basic(kind) => f.write_str(kind.name()),
            Shape::Slice(element) => write!(f, "[]{element}"),
            Shape::Map(key, value) => write!(f, "map[{key}]{value}"),
            Shape::Pointer(to) => write!(f, "*{to}"),
            Shape::Func => f.write_str("func()"),
            Shape::Struct => f.write_str("struct {}"),
            Shape::Named(named) => f.write_str(named.name),
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
