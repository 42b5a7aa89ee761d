//! Values with their static type, like Go's `reflect.Value`.

use crate::value::{ReflectType, TypeShape, Value};

/// Counterpart of Go's `reflect.Value`. An element of a `map[string]interface {}` has the type `interface {}` until a
/// pipeline unwraps it, and error texts show the difference. A nil that is not an interface means no value at all.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReflectValue {
    pub(crate) value: Value,
    pub(crate) is_interface: bool,
}

impl ReflectValue {
    /// No value: Go's zero `reflect.Value`.
    pub(crate) const INVALID: ReflectValue = ReflectValue { value: Value::Nil, is_interface: false };

    /// Creates a value with its own type.
    pub(crate) fn concrete(value: Value) -> ReflectValue {
        ReflectValue { value, is_interface: false }
    }

    /// Creates an element of a list or a map of that type.
    pub(crate) fn element(collection: ReflectType, value: Value) -> ReflectValue {
        ReflectValue { value, is_interface: is_any(collection.element()) }
    }

    /// Creates the result of a function with that result type.
    pub(crate) fn result(go_type: ReflectType, value: Value) -> ReflectValue {
        ReflectValue { value, is_interface: is_any(go_type) }
    }

    /// Unwraps the value from its interface.
    pub(crate) fn unwrapped(mut self) -> ReflectValue {
        self.is_interface = false;
        self
    }

    /// Whether there is no value at all.
    pub(crate) fn is_invalid(&self) -> bool {
        !self.is_interface && matches!(self.value, Value::Nil)
    }

    /// Returns Go's name of the type, which is `interface {}` for a wrapped value.
    pub(crate) fn type_name(&self) -> String {
        if self.is_interface { ReflectType::ANY.to_string() } else { self.value.type_name() }
    }
}

fn is_any(go_type: ReflectType) -> bool {
    matches!(go_type.0, TypeShape::Any)
}
