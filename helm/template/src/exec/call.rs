//! Calls of functions and methods.

use super::ReflectValue;
use super::frame::ExecFrame;
use crate::builtin::BuiltinFunction;
use crate::error::Error;
use crate::function::Signature;
use crate::parse::{Callee, IdentifierNode, Operand, TreePart, print_part};
use crate::value::{Method, ReflectKind, ReflectType, Value};

/// Maximum number of argument lists kept for reuse. They nest as calls do.
const MAX_SPARE: usize = 64;

/// Functions that accept a missing value.
const MISSING_AWARE_FUNCTIONS: [&[u8]; 9] =
    [b"default", b"coalesce", b"empty", b"ternary", b"required", b"kindIs", b"kindOf", b"typeIs", b"typeOf"];

impl<'t> ExecFrame<'_, '_, 't> {
    /// Rejects missing values as arguments with [`crate::MissingKey::Strict`].
    #[inline]
    fn check_values(&self, values: &[Value]) -> Result<(), Error> {
        if self.is_strict() && values.iter().any(|value| matches!(value, Value::Nil)) {
            return Err(self.no_value());
        }
        Ok(())
    }

    /// Calls a function by name. Errors of the function show `node`: the command, or the name alone.
    pub(super) fn function(
        &mut self,
        dot: &ReflectValue,
        called: &'t IdentifierNode,
        node: TreePart<'t>,
        args: &'t [Operand],
        last: Option<ReflectValue>,
    ) -> Result<ReflectValue, Error> {
        self.step()?;
        match called.callee {
            Callee::Builtin(builtin) => self.builtin(dot, builtin, called, node, args, last),
            Callee::Function(place) => {
                let function = self.functions.get_at(place);
                let values = self.arguments(dot, called.name.as_bytes(), &function.signature, args, last)?;
                if !MISSING_AWARE_FUNCTIONS.contains(&called.name.as_bytes()) {
                    self.check_values(&values)?;
                }
                let outcome = (function.body)(self.execution, &values);
                self.recycle_arguments(values);
                self.finish(outcome, &function.signature, called.name.as_bytes(), node)
            }
        }
    }

    pub(super) fn method(
        &mut self,
        dot: &ReflectValue,
        receiver: &Value,
        method: &'static Method,
        node: TreePart<'t>,
        args: &'t [Operand],
        last: Option<ReflectValue>,
    ) -> Result<ReflectValue, Error> {
        self.step()?;
        let values = self.arguments(dot, method.name.as_bytes(), &method.signature, args, last)?;
        let outcome = (method.body)(self.execution, receiver, &values);
        self.recycle_arguments(values);
        self.finish(outcome, &method.signature, method.name.as_bytes(), node)
    }

    fn finish(
        &mut self,
        outcome: Result<Value, Error>,
        signature: &Signature,
        name: &[u8],
        node: TreePart<'t>,
    ) -> Result<ReflectValue, Error> {
        match outcome.and_then(|value| self.execution.charge_result(&value).map(|()| value)) {
            Ok(value) => Ok(ReflectValue::result(signature.result, value)),
            Err(error) => Err(self.failed_call(error, name, node)),
        }
    }

    fn failed_call(&mut self, error: Error, name: &[u8], node: TreePart<'t>) -> Error {
        self.at = node;
        let problem = format!("error calling {}: {error}", String::from_utf8_lossy(name));
        // For a chain of included templates, keep the innermost error: the text of each level contains those below it.
        let cause = match error {
            Error::Call(_) => None,
            Error::Parse(mut details) => details.cause.take().or(Some(Error::Parse(details))),
            Error::Execute(mut details) => details.cause.take().or(Some(Error::Execute(details))),
        };
        self.fail_with(problem, cause)
    }

    fn builtin(
        &mut self,
        dot: &ReflectValue,
        builtin: BuiltinFunction,
        called: &'t IdentifierNode,
        node: TreePart<'t>,
        args: &'t [Operand],
        last: Option<ReflectValue>,
    ) -> Result<ReflectValue, Error> {
        let name = called.name.as_bytes();
        let signature = builtin.signature();
        self.check_count(name, signature, args.len(), last.is_some())?;
        if matches!(builtin, BuiltinFunction::And | BuiltinFunction::Or) {
            return self.logic(dot, builtin == BuiltinFunction::Or, args, last);
        }
        if builtin.is_text() {
            let values = self.arguments(dot, name, signature, args, last)?;
            self.check_values(&values)?;
            let outcome = builtin.text(self.execution, &values);
            self.recycle_arguments(values);
            return self.finish(outcome, signature, name, node);
        }
        let callee = match builtin {
            BuiltinFunction::Call => Some(self.callee_name(args, &last)),
            _ => None,
        };
        let mut slots = self.execution.spare_slots.pop().unwrap_or_default();
        for (index, arg) in args.iter().enumerate() {
            slots.push(self.argument(dot, signature.param(index), arg)?);
        }
        if let Some(last) = last {
            slots.push(self.validate(last, signature.param(args.len()))?);
        }
        let outcome = self.execution.charge_texts(slots.iter().map(|slot| &slot.value)).and_then(|()| match callee {
            Some(name) => self.call(&name, &slots),
            None => builtin.run(&slots),
        });
        let outcome = outcome.and_then(|slot| self.execution.charge_result(&slot.value).map(|()| slot));
        slots.clear();
        if self.execution.spare_slots.len() < MAX_SPARE {
            self.execution.spare_slots.push(slots);
        }
        outcome.map_err(|error| self.failed_call(error, name, node))
    }

    /// Evaluates `and` and `or`, which stop at the first argument that decides.
    fn logic(
        &mut self,
        dot: &ReflectValue,
        stop: bool,
        args: &'t [Operand],
        last: Option<ReflectValue>,
    ) -> Result<ReflectValue, Error> {
        let mut value = ReflectValue::INVALID;
        for arg in args {
            value = self.argument(dot, ReflectType::REFLECT, arg)?;
            if value.value.is_true() == stop {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    /// Returns the name that `call` uses for its function in errors.
    fn callee_name(&self, args: &'t [Operand], last: &Option<ReflectValue>) -> String {
        match (args.first(), last) {
            (Some(arg), _) => print_part(self.tree, TreePart::Operand(arg)),
            (None, Some(ReflectValue { value: Value::String(text), .. })) => text.to_string(),
            (None, Some(last)) if last.is_invalid() => "<invalid Value>".to_string(),
            (None, last) => format!("<{} Value>", last.as_ref().map(ReflectValue::type_name).unwrap_or_default()),
        }
    }

    /// Evaluates `call f x y`.
    fn call(&mut self, name: &str, slots: &[ReflectValue]) -> Result<ReflectValue, Error> {
        let (function, args) = match slots.split_first() {
            None | Some((ReflectValue { value: Value::Nil, .. }, _)) => return Err(Error::call("call of nil")),
            Some((ReflectValue { value: Value::Func(function), .. }, args)) => (function.clone(), args),
            Some((other, _)) => {
                return Err(Error::call(format!("non-function {name} of type {}", other.value.type_name())));
            }
        };
        let signature = function.signature;
        let (given, wanted) = (args.len(), signature.params.len());
        if signature.variadic && given + 1 < wanted {
            let wanted = wanted - 1;
            return Err(Error::call(format!("wrong number of args for {name}: got {given} want at least {wanted}")));
        }
        if !signature.variadic && given != wanted {
            return Err(Error::call(format!("wrong number of args for {name}: got {given} want {wanted}")));
        }
        let mut values = Vec::with_capacity(given);
        for (index, arg) in args.iter().enumerate() {
            let value = convert_argument(&arg.value, signature.param(index));
            values.push(value.map_err(|problem| Error::call(format!("arg {index}: {problem}")))?);
        }
        (function.body)(self.execution, &values).map(|value| ReflectValue::result(signature.result, value))
    }

    /// Evaluates arguments against the signature.
    fn arguments(
        &mut self,
        dot: &ReflectValue,
        name: &[u8],
        signature: &Signature,
        args: &'t [Operand],
        last: Option<ReflectValue>,
    ) -> Result<Vec<Value>, Error> {
        self.check_count(name, signature, args.len(), last.is_some())?;
        let mut values = self.execution.spare_values.pop().unwrap_or_default();
        for (index, arg) in args.iter().enumerate() {
            values.push(self.argument(dot, signature.param(index), arg)?.value);
        }
        if let Some(last) = last {
            values.push(self.validate(last, signature.param(args.len()))?.value);
        }
        self.execution.charge_texts(values.iter()).map_err(|error| self.fail(error.to_string()))?;
        Ok(values)
    }

    fn recycle_arguments(&mut self, mut values: Vec<Value>) {
        values.clear();
        if self.execution.spare_values.len() < MAX_SPARE {
            self.execution.spare_values.push(values);
        }
    }

    fn check_count(&self, name: &[u8], signature: &Signature, args: usize, has_last: bool) -> Result<(), Error> {
        let name = || String::from_utf8_lossy(name).into_owned();
        let given = args + usize::from(has_last);
        let wanted = signature.params.len();
        if signature.variadic && given + 1 < wanted {
            let wanted = wanted - 1;
            return Err(self.fail(format!("wrong number of args for {}: want at least {wanted} got {args}", name())));
        }
        if !signature.variadic && given != wanted {
            return Err(self.fail(format!("wrong number of args for {}: want {wanted} got {given}", name())));
        }
        signature.uncallable_reason.map_or(Ok(()), |fault| Err(self.fail(fault.to_string())))
    }
}

/// Converts an argument of `call` to the parameter's type. Integers are converted between sizes.
fn convert_argument(value: &Value, go_type: ReflectType) -> Result<Value, String> {
    let Some(own) = value.type_of() else {
        if go_type.can_be_nil() {
            return Ok(Value::zero(go_type));
        }
        return Err(format!("value is nil; should be of type {go_type}"));
    };
    if own.assignable_to(go_type) {
        return Ok(value.clone());
    }
    let number = value.as_i64().or_else(|| value.as_u64().map(|number| number as i64));
    let converted = number.and_then(|number| match go_type.kind() {
        ReflectKind::Int => Some(Value::Int(number)),
        ReflectKind::Int8 => Some(Value::Int8(number as i8)),
        ReflectKind::Int16 => Some(Value::Int16(number as i16)),
        ReflectKind::Int32 => Some(Value::Int32(number as i32)),
        ReflectKind::Int64 => Some(Value::Int64(number)),
        ReflectKind::Uint => Some(Value::Uint(number as u64)),
        ReflectKind::Uint8 => Some(Value::Uint8(number as u8)),
        ReflectKind::Uint16 => Some(Value::Uint16(number as u16)),
        ReflectKind::Uint32 => Some(Value::Uint32(number as u32)),
        ReflectKind::Uint64 => Some(Value::Uint64(number as u64)),
        _ => None,
    });
    converted.ok_or_else(|| format!("value has type {}; should be {go_type}", value.type_name()))
}
