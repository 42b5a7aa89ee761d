//! Go's types as far as templates can observe them: `%T`, `kindOf`, error texts, assignability.

use std::fmt;

use crate::value::object::Method;

/// A Go type. Copies are pointers. Define new types as constants:
///
/// ```
/// use switchboard_template::{ReflectType, TypeShape};
/// const CHUNKS: ReflectType = ReflectType(&TypeShape::Slice(ReflectType::LIST));
/// assert_eq!(CHUNKS.to_string(), "[][]interface {}");
/// ```
///
/// A type whose methods return the type itself needs statics, which can refer to each other: `static TIME: TypeShape =
/// ...`, `ReflectType(&TIME)`.
#[derive(Clone, Copy)]
pub struct ReflectType(pub &'static TypeShape);

/// Structure of a type.
pub enum TypeShape {
    /// `interface {}`.
    Any,
    /// `reflect.Value`: a parameter that accepts anything, including a missing value.
    Reflect,
    /// A type without components.
    Basic(ReflectKind),
    /// `[]T`.
    Slice(ReflectType),
    /// `map[K]V`.
    Map(ReflectType, ReflectType),
    /// `*T`.
    Pointer(ReflectType),
    /// A function with any signature; [`crate::Function::signature`] returns it.
    Func,
    /// An unnamed struct. The host object defines its fields.
    Struct,
    /// A named type.
    Named(&'static NamedType),
}

/// A named type, such as `time.Time` or `chartutil.Values`.
pub struct NamedType {
    /// Name with its package, as `%T` prints it.
    pub name: &'static str,
    /// Underlying type.
    pub underlying: ReflectType,
    /// Methods of the type and of the pointer to it.
    pub methods: &'static [Method],
}

impl NamedType {
    fn method(&'static self, name: &str) -> Option<&'static Method> {
        self.methods.iter().find(|method| method.name == name)
    }
}

/// Go's `reflect.Kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReflectKind {
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
    /// Pointer, named `ptr`.
    Pointer,
    /// `func`
    Func,
    /// `interface`
    Interface,
}

impl ReflectKind {
    /// Returns the name of the `reflect.Kind`, which sprig's `kindOf` returns.
    pub const fn name(self) -> &'static str {
        match self {
            ReflectKind::Invalid => "invalid",
            ReflectKind::Bool => "bool",
            ReflectKind::Int => "int",
            ReflectKind::Int8 => "int8",
            ReflectKind::Int16 => "int16",
            ReflectKind::Int32 => "int32",
            ReflectKind::Int64 => "int64",
            ReflectKind::Uint => "uint",
            ReflectKind::Uint8 => "uint8",
            ReflectKind::Uint16 => "uint16",
            ReflectKind::Uint32 => "uint32",
            ReflectKind::Uint64 => "uint64",
            ReflectKind::Float32 => "float32",
            ReflectKind::Float64 => "float64",
            ReflectKind::Complex128 => "complex128",
            ReflectKind::String => "string",
            ReflectKind::Slice => "slice",
            ReflectKind::Map => "map",
            ReflectKind::Struct => "struct",
            ReflectKind::Pointer => "ptr",
            ReflectKind::Func => "func",
            ReflectKind::Interface => "interface",
        }
    }

    /// Whether this is one of Go's signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(
            self,
            ReflectKind::Int | ReflectKind::Int8 | ReflectKind::Int16 | ReflectKind::Int32 | ReflectKind::Int64
        )
    }

    /// Whether this is one of Go's unsigned integers.
    pub const fn is_unsigned(self) -> bool {
        matches!(
            self,
            ReflectKind::Uint | ReflectKind::Uint8 | ReflectKind::Uint16 | ReflectKind::Uint32 | ReflectKind::Uint64
        )
    }
}

impl ReflectType {
    /// `interface {}`
    pub const ANY: ReflectType = ReflectType(&TypeShape::Any);
    /// `reflect.Value`
    pub const REFLECT: ReflectType = ReflectType(&TypeShape::Reflect);
    /// `bool`
    pub const BOOL: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Bool));
    /// `int`
    pub const INT: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Int));
    /// `int8`
    pub const INT8: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Int8));
    /// `int16`
    pub const INT16: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Int16));
    /// `int32`
    pub const INT32: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Int32));
    /// `int64`
    pub const INT64: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Int64));
    /// `uint`
    pub const UINT: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Uint));
    /// `uint8`
    pub const UINT8: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Uint8));
    /// `uint16`
    pub const UINT16: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Uint16));
    /// `uint32`
    pub const UINT32: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Uint32));
    /// `uint64`
    pub const UINT64: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Uint64));
    /// `float32`
    pub const FLOAT32: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Float32));
    /// `float64`
    pub const FLOAT64: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Float64));
    /// `complex128`
    pub const COMPLEX128: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::Complex128));
    /// `string`
    pub const STRING: ReflectType = ReflectType(&TypeShape::Basic(ReflectKind::String));
    /// `[]uint8`
    pub const BYTES: ReflectType = ReflectType(&TypeShape::Slice(ReflectType::UINT8));
    /// `[]interface {}`
    pub const LIST: ReflectType = ReflectType(&TypeShape::Slice(ReflectType::ANY));
    /// `[]string`
    pub const STRINGS: ReflectType = ReflectType(&TypeShape::Slice(ReflectType::STRING));
    /// `[]int`
    pub const INTS: ReflectType = ReflectType(&TypeShape::Slice(ReflectType::INT));
    /// `map[string]interface {}`
    pub const MAP: ReflectType = ReflectType(&TypeShape::Map(ReflectType::STRING, ReflectType::ANY));
    /// Any function.
    pub const FUNC: ReflectType = ReflectType(&TypeShape::Func);
    /// `map[string]string`
    pub const STRING_MAP: ReflectType = ReflectType(&TypeShape::Map(ReflectType::STRING, ReflectType::STRING));

    /// Returns the kind of the type's values.
    pub fn kind(self) -> ReflectKind {
        match self.0 {
            TypeShape::Any => ReflectKind::Interface,
            TypeShape::Reflect | TypeShape::Struct => ReflectKind::Struct,
            TypeShape::Basic(kind) => *kind,
            TypeShape::Slice(_) => ReflectKind::Slice,
            TypeShape::Map(..) => ReflectKind::Map,
            TypeShape::Pointer(_) => ReflectKind::Pointer,
            TypeShape::Func => ReflectKind::Func,
            TypeShape::Named(named) => named.underlying.kind(),
        }
    }

    /// Returns the element type of a list or map, or `interface {}` for other types.
    pub fn element(self) -> ReflectType {
        match self.underlying().0 {
            TypeShape::Slice(element) | TypeShape::Map(_, element) | TypeShape::Pointer(element) => *element,
            _ => ReflectType::ANY,
        }
    }

    /// Returns the underlying type of a named type, or the type itself.
    pub fn underlying(self) -> ReflectType {
        match self.0 {
            TypeShape::Named(named) => named.underlying.underlying(),
            _ => self,
        }
    }

    /// Returns the method of that name of the type or the pointer to it.
    pub fn method(self, name: &str) -> Option<&'static Method> {
        match self.0 {
            TypeShape::Pointer(ReflectType(TypeShape::Named(named))) => named.method(name),
            TypeShape::Named(named) => named.method(name).filter(|method| !method.of_pointer),
            _ => None,
        }
    }

    /// Whether the type may have a method of that name. This is checked for every field in a template.
    #[inline]
    pub(crate) fn may_have_method(self, name: &[u8]) -> bool {
        match self.0 {
            TypeShape::Map(..) => false,
            TypeShape::Named(named) => named.methods.iter().any(|method| method.name.as_bytes() == name),
            _ => true,
        }
    }

    /// Whether a parameter of this type accepts nil.
    pub fn can_be_nil(self) -> bool {
        matches!(self.0, TypeShape::Reflect)
            || matches!(
                self.kind(),
                ReflectKind::Func
                    | ReflectKind::Interface
                    | ReflectKind::Map
                    | ReflectKind::Pointer
                    | ReflectKind::Slice
            )
    }

    /// Whether Go allows the assignment: the types are the same, their underlying types are the same and one of them is
    /// unnamed, or the target is `interface {}`.
    pub fn assignable_to(self, to: ReflectType) -> bool {
        if matches!(to.0, TypeShape::Any) || self == to {
            return true;
        }
        let one_is_unnamed = !self.has_name() || !to.has_name();
        one_is_unnamed && self.underlying() == to.underlying()
    }

    fn has_name(self) -> bool {
        matches!(self.0, TypeShape::Named(_) | TypeShape::Basic(_) | TypeShape::Reflect)
    }
}

impl PartialEq for ReflectType {
    fn eq(&self, other: &ReflectType) -> bool {
        if std::ptr::eq(self.0, other.0) {
            return true;
        }
        match (self.0, other.0) {
            (TypeShape::Any, TypeShape::Any) | (TypeShape::Reflect, TypeShape::Reflect) => true,
            (TypeShape::Basic(a), TypeShape::Basic(b)) => a == b,
            (TypeShape::Slice(a), TypeShape::Slice(b)) | (TypeShape::Pointer(a), TypeShape::Pointer(b)) => a == b,
            (TypeShape::Map(key, value), TypeShape::Map(other_key, other_value)) => {
                key == other_key && value == other_value
            }
            (TypeShape::Named(a), TypeShape::Named(b)) => a.name == b.name,
            _ => false,
        }
    }
}

impl Eq for ReflectType {}

impl fmt::Display for ReflectType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TypeShape::Any => f.write_str("interface {}"),
            TypeShape::Reflect => f.write_str("reflect.Value"),
            TypeShape::Basic(kind) => f.write_str(kind.name()),
            TypeShape::Slice(element) => write!(f, "[]{element}"),
            TypeShape::Map(key, value) => write!(f, "map[{key}]{value}"),
            TypeShape::Pointer(to) => write!(f, "*{to}"),
            TypeShape::Func => f.write_str("func()"),
            TypeShape::Struct => f.write_str("struct {}"),
            TypeShape::Named(named) => f.write_str(named.name),
        }
    }
}

impl fmt::Debug for ReflectType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
