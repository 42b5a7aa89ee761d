//! A value, and what is known of where it was.

use crate::value::{Shape, Type, Value};

/// What Go's engine holds as a `reflect.Value`: an element of a `map[string]interface {}` is of type `interface {}` until
/// a pipeline takes it out of there, and error texts show which. Nil that is no interface is no value at all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) value: Value,
    pub(crate) is_interface: bool,
}

impl Slot {
    /// No value, Go's zero `reflect.Value`.
    pub(crate) const INVALID: Slot = Slot { value: Value::Nil, is_interface: false };

    /// A value of its own type.
    pub(crate) fn concrete(value: Value) -> Slot {
        Slot { value, is_interface: false }
    }

    /// An element of a list or a map of that type.
    pub(crate) fn element(collection: Type, value: Value) -> Slot {
        Slot { value, is_interface: is_any(collection.element()) }
    }

    /// What a function with that result type gave.
    pub(crate) fn result(go_type: Type, value: Value) -> Slot {
        Slot { value, is_interface: is_any(go_type) }
    }

    /// Takes the value out of its interface.
    pub(crate) fn unwrapped(mut self) -> Slot {
        self.is_interface = false;
        self
    }

    /// Whether there is no value at all.
    pub(crate) fn is_invalid(&self) -> bool {
        !self.is_interface && matches!(self.value, Value::Nil)
    }

    /// Go's name of the type, `interface {}` for what is in one.
    pub(crate) fn type_name(&self) -> String {
        if self.is_interface { Type::ANY.to_string() } else { self.value.type_name() }
    }
}

fn is_any(go_type: Type) -> bool {
    matches!(go_type.0, Shape::Any)
}
