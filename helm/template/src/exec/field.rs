//! Fields of structs, entries of maps, and methods.

use std::rc::Rc;

use super::Slot;
use super::frame::Frame;
use crate::error::Error;
use crate::format::quote;
use crate::options::MissingKey;
use crate::parse::{Operand, Part, Pipe};
use crate::value::{Map, Shape, Str, Type, Value};

impl<'t> Frame<'_, '_, 't> {
    /// `.X.Y.Z`, possibly with arguments for the last. `node` is what errors of methods show.
    pub(super) fn fields(
        &mut self,
        dot: &Slot,
        receiver: &Slot,
        node: &'t Operand,
        path: &'t [Str],
        args: &'t [Operand],
        last: Option<Slot>,
    ) -> Result<Slot, Error> {
        if let Operand::Chain(chain) = node
            && matches!(chain.operand, Operand::Nil(_))
        {
            let shown = crate::parse::print_part(self.tree, Part::Operand(node));
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

    /// One field. `args` are the operands of the command, the field itself first.
    fn field(
        &mut self,
        dot: &Slot,
        name: &'t Str,
        node: &'t Operand,
        args: &'t [Operand],
        last: Option<Slot>,
        receiver: &Slot,
    ) -> Result<Slot, Error> {
        let has_args = args.len() > 1 || last.is_some();
        match &receiver.value {
            // The common case: an entry of a map that has no such method.
            Value::Map(go_type, map) if !has_args && !go_type.may_have_method(name) => match map.find(name) {
                Some(value) => Ok(Slot::element(*go_type, value)),
                None => self.missing(name, *go_type),
            },
            Value::Nil if receiver.is_interface => {
                Err(self.fail(format!("nil pointer evaluating interface {{}}.{name}")))
            }
            Value::Nil => match self.execution.options.missing_key {
                MissingKey::Error => Err(self.fail(format!("nil data; no entry for key {}", quote::quote(name)))),
                _ => Ok(Slot::INVALID),
            },
            value => {
                let go_type = value.type_of();
                if let Some(method) = go_type.zip(name.as_utf8()).and_then(|(go_type, name)| go_type.method(name)) {
                    let args = args.get(1..).unwrap_or_default();
                    let receiver = value.clone();
                    return self.method(dot, &receiver, method, Part::Operand(node), args, last);
                }
                self.entry(name, receiver, has_args)
            }
        }
    }

    /// A field of a struct or an entry of a map, which take no arguments.
    fn entry(&mut self, name: &'t Str, receiver: &Slot, has_args: bool) -> Result<Slot, Error> {
        match &receiver.value {
            Value::Map(..) if has_args => Err(self.fail(format!("{name} is not a method but has arguments"))),
            Value::Map(go_type, map) => match map.find(name) {
                Some(value) => Ok(Slot::element(*go_type, value)),
                None => self.missing(name, *go_type),
            },
            Value::Object(object) => match name.as_utf8().and_then(|name| object.field(name)) {
                Some(_) if has_args => {
                    Err(self.fail(format!("{name} has arguments but cannot be invoked as function")))
                }
                Some(value) => {
                    // A field that is nil is taken for an empty interface.
                    let is_interface = matches!(value, Value::Nil);
                    Ok(Slot { value, is_interface })
                }
                None if object.fields().iter().any(|(field, _)| name.as_utf8() == Some(field)) => {
                    Err(self.fail(format!("{name} is an unexported field of struct type {}", receiver.type_name())))
                }
                None => Err(self.no_field(name, receiver)),
            },
            _ => Err(self.no_field(name, receiver)),
        }
    }

    /// Whether what most conditions ask for is true: `$x.field`, `.Values.field`. It is looked at where it is. Nothing where that
    /// takes more than a look, or is an error.
    #[inline]
    pub(super) fn truth(&mut self, dot: &Slot, pipe: &'t Pipe) -> Option<bool> {
        let ([command], []) = (pipe.commands.as_slice(), pipe.declared.as_slice()) else { return None };
        let [operand] = command.args.as_slice() else { return None };
        let (receiver, path) = match operand {
            Operand::Variable(_, name, path) => (&self.near(*name)?.value, path),
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
            // What is missing in a map of anything is nothing.
            None => {
                let lenient = matches!(self.execution.options.missing_key, MissingKey::Zero | MissingKey::Invalid);
                (lenient && matches!(go_type.element().0, Shape::Any)).then_some(false)?
            }
        };
        self.at = Part::Operand(operand);
        Some(is_true)
    }

    /// That nothing was found where something is needed; names the key that was missed last.
    #[cold]
    pub(super) fn no_value(&self) -> Error {
        let problem = match &self.execution.missed {
            Some(name) => format!("map has no entry for key {}", quote::quote(name)),
            None => "nil has no text".to_string(),
        };
        self.fail(problem)
    }

    pub(super) fn is_strict(&self) -> bool {
        self.execution.options.missing_key == MissingKey::Strict
    }

    fn no_field(&self, name: &Str, receiver: &Slot) -> Error {
        self.fail(format!("can't evaluate field {name} in type {}", receiver.type_name()))
    }

    /// What a key is that a map of that type does not have.
    pub(super) fn missing(&mut self, name: &Str, map: Type) -> Result<Slot, Error> {
        match self.execution.options.missing_key {
            MissingKey::Error => Err(self.fail(format!("map has no entry for key {}", quote::quote(name)))),
            MissingKey::Zero => {
                let element = map.element();
                // Nearly all maps are of anything, and nothing is the zero of that.
                let zero = if matches!(element.0, Shape::Any) { Value::Nil } else { Value::zero(element) };
                Ok(Slot::result(element, zero))
            }
            MissingKey::Strict => {
                self.execution.missed = Some(name.clone());
                Ok(Slot::INVALID)
            }
            MissingKey::Invalid => Ok(Slot::INVALID),
        }
    }
}

/// A map that has no method of that name.
#[inline]
fn plain_map<'v>(value: &'v Value, name: &Str) -> Option<(Type, &'v Rc<Map>)> {
    match value {
        Value::Map(go_type, map) if !go_type.may_have_method(name) => Some((*go_type, map)),
        _ => None,
    }
}
