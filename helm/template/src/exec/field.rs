//! Fields of structs, entries of maps, and methods.

use std::rc::Rc;

use switchboard_object::quote;

use super::ReflectValue;
use super::frame::ExecFrame;
use crate::error::Error;
use crate::options::MissingKey;
use crate::parse::{Operand, PipeNode, TreePart};
use crate::value::{GoMap, ReflectType, Str, TypeShape, Value};

impl<'t> ExecFrame<'_, '_, 't> {
    /// Evaluates `.X.Y.Z`, with arguments for the last field if there are any. Errors of methods show `node`.
    pub(super) fn fields(
        &mut self,
        dot: &ReflectValue,
        receiver: &ReflectValue,
        node: &'t Operand,
        path: &'t [Str],
        args: &'t [Operand],
        last: Option<ReflectValue>,
    ) -> Result<ReflectValue, Error> {
        if let Operand::Chain(chain) = node
            && matches!(chain.operand, Operand::Nil(_))
        {
            let shown = crate::parse::print_part(self.tree, TreePart::Operand(node));
            return Err(self.fail(format!("indirection through explicit nil in {shown}")));
        }
        let Some((final_name, names)) = path.split_last() else { return Ok(receiver.clone()) };
        let Some((first, names)) = names.split_first() else {
            return self.field(dot, final_name, node, args, last, receiver);
        };
        let mut inner = self.field(dot, first, node, &[], None, receiver)?;
        for name in names {
            inner = self.field(dot, name, node, &[], None, &inner)?;
        }
        self.field(dot, final_name, node, args, last, &inner)
    }

    /// Evaluates one field. `args` are the operands of the command, starting with the field itself.
    fn field(
        &mut self,
        dot: &ReflectValue,
        name: &'t Str,
        node: &'t Operand,
        args: &'t [Operand],
        last: Option<ReflectValue>,
        receiver: &ReflectValue,
    ) -> Result<ReflectValue, Error> {
        let has_args = args.len() > 1 || last.is_some();
        match &receiver.value {
            // The most common case: an entry of a map without a method of that name.
            Value::Map(go_type, map) if !has_args && !go_type.may_have_method(name) => match map.find(name) {
                Some(value) => Ok(ReflectValue::element(*go_type, value)),
                None => self.missing(name, *go_type),
            },
            Value::Nil if receiver.is_interface => {
                Err(self.fail(format!("nil pointer evaluating interface {{}}.{name}")))
            }
            Value::Nil => match self.execution.options.missing_key {
                MissingKey::Error => Err(self.fail(format!("nil data; no entry for key {}", quote::quote_bytes(name)))),
                _ => Ok(ReflectValue::INVALID),
            },
            value => {
                let go_type = value.type_of();
                if let Some(method) = go_type.zip(name.as_utf8()).and_then(|(go_type, name)| go_type.method(name)) {
                    let args = args.get(1..).unwrap_or_default();
                    let receiver = value.clone();
                    return self.method(dot, &receiver, method, TreePart::Operand(node), args, last);
                }
                self.entry(name, receiver, has_args)
            }
        }
    }

    /// Returns a field of a struct or an entry of a map. Neither takes arguments.
    fn entry(&mut self, name: &'t Str, receiver: &ReflectValue, has_args: bool) -> Result<ReflectValue, Error> {
        match &receiver.value {
            Value::Map(..) if has_args => Err(self.fail(format!("{name} is not a method but has arguments"))),
            Value::Map(go_type, map) => match map.find(name) {
                Some(value) => Ok(ReflectValue::element(*go_type, value)),
                None => self.missing(name, *go_type),
            },
            Value::Object(object) => match name.as_utf8().and_then(|name| object.field(name)) {
                Some(_) if has_args => {
                    Err(self.fail(format!("{name} has arguments but cannot be invoked as function")))
                }
                Some(value) => {
                    // A field that is nil counts as an empty interface.
                    let is_interface = matches!(value, Value::Nil);
                    Ok(ReflectValue { value, is_interface })
                }
                None if object.fields().iter().any(|(field, _)| name.as_utf8() == Some(field)) => {
                    Err(self.fail(format!("{name} is an unexported field of struct type {}", receiver.type_name())))
                }
                None => Err(self.no_field(name, receiver)),
            },
            _ => Err(self.no_field(name, receiver)),
        }
    }

    /// Evaluates the most common conditions, `$x.field` and `.Values.field`, in place. Returns `None` if the condition
    /// is not of that form, needs more work, or is an error.
    #[inline]
    pub(super) fn truth(&mut self, dot: &ReflectValue, pipe: &'t PipeNode) -> Option<bool> {
        let ([command], []) = (pipe.commands.as_slice(), pipe.declared.as_slice()) else { return None };
        let [operand] = command.args.as_slice() else { return None };
        let (receiver, path) = match operand {
            Operand::Variable(_, name, path) => (&self.nearby_variable(*name)?.value, path),
            Operand::Field(_, path) => (&dot.value, path),
            _ => return None,
        };
        let (last, names) = path.split_last()?;
        let mut inner = None;
        for name in names {
            inner = Some(plain_map(inner.as_ref().unwrap_or(receiver), name)?.1.find(name)?);
        }
        let (go_type, map) = plain_map(inner.as_ref().unwrap_or(receiver), last)?;
        let is_true = match map.entries().get(last) {
            Some(value) => value.is_true(),
            // A key missing from a `map[string]interface {}` is no value.
            None => {
                let lenient = matches!(self.execution.options.missing_key, MissingKey::Zero | MissingKey::Invalid);
                (lenient && matches!(go_type.element().0, TypeShape::Any)).then_some(false)?
            }
        };
        self.at = TreePart::Operand(operand);
        Some(is_true)
    }

    /// Creates the error for a missing value, naming the key that was missing most recently.
    #[cold]
    pub(super) fn no_value(&self) -> Error {
        let problem = match &self.execution.missing_key {
            Some(name) => format!("map has no entry for key {}", quote::quote_bytes(name)),
            None => "nil has no text".to_string(),
        };
        self.fail(problem)
    }

    pub(super) fn is_strict(&self) -> bool {
        self.execution.options.missing_key == MissingKey::Strict
    }

    fn no_field(&self, name: &Str, receiver: &ReflectValue) -> Error {
        self.fail(format!("can't evaluate field {name} in type {}", receiver.type_name()))
    }

    /// Returns the value of a missing key in a map of that type, depending on the options.
    pub(super) fn missing(&mut self, name: &Str, map: ReflectType) -> Result<ReflectValue, Error> {
        match self.execution.options.missing_key {
            MissingKey::Error => Err(self.fail(format!("map has no entry for key {}", quote::quote_bytes(name)))),
            MissingKey::Zero => {
                let element = map.element();
                // Nearly all maps hold `interface {}`, whose zero value is nil.
                let zero = if matches!(element.0, TypeShape::Any) { Value::Nil } else { Value::zero(element) };
                Ok(ReflectValue::result(element, zero))
            }
            MissingKey::Strict => {
                self.execution.missing_key = Some(name.clone());
                Ok(ReflectValue::INVALID)
            }
            MissingKey::Invalid => Ok(ReflectValue::INVALID),
        }
    }
}

/// Returns the map if its type has no method of that name.
#[inline]
fn plain_map<'v>(value: &'v Value, name: &Str) -> Option<(ReflectType, &'v Rc<GoMap>)> {
    match value {
        Value::Map(go_type, map) if !go_type.may_have_method(name) => Some((*go_type, map)),
        _ => None,
    }
}
