//! Pipelines, commands and arguments.

use super::ReflectValue;
use super::frame::ExecFrame;
use crate::error::Error;
use crate::parse::{CommandNode, NumberNode, Operand, PipeNode, TreePart, print_part};
use crate::value::{ReflectKind, ReflectType, TypeShape, Value};

impl<'t> ExecFrame<'_, '_, 't> {
    /// Evaluates a pipeline. The variables it declares stay in scope until the next `end`.
    pub(super) fn pipeline(&mut self, dot: &ReflectValue, pipe: &'t PipeNode) -> Result<ReflectValue, Error> {
        let value = self.commands(dot, pipe)?;
        for name in &pipe.declared {
            self.store(pipe, *name, value.clone())?;
        }
        Ok(value)
    }

    /// Evaluates a pipeline whose value only goes into its variables.
    pub(super) fn declaration(&mut self, dot: &ReflectValue, pipe: &'t PipeNode) -> Result<(), Error> {
        if let ([name], [command]) = (pipe.declared.as_slice(), pipe.commands.as_slice()) {
            match command.args.as_slice() {
                [Operand::Dot(_)] => return self.copy(dot, pipe, *name, None),
                [operand @ Operand::Variable(_, from, path)] if path.is_empty() => {
                    self.at = TreePart::Operand(operand);
                    return self.copy(dot, pipe, *name, Some(*from));
                }
                _ => {}
            }
        }
        let value = self.commands(dot, pipe)?;
        match pipe.declared.as_slice() {
            [name] => self.store(pipe, *name, value),
            names => names.iter().try_for_each(|name| self.store(pipe, *name, value.clone())),
        }
    }

    /// Copies dot or another variable into a variable. This is a fast path, because loops do it often.
    #[inline]
    fn copy(&mut self, dot: &ReflectValue, pipe: &'t PipeNode, name: u32, from: Option<u32>) -> Result<(), Error> {
        let from = from.map(|from| self.variable_index(from)).transpose()?;
        self.at = TreePart::Pipe(pipe);
        let to = if pipe.assigns { Some(self.variable_index(name)?) } else { None };
        let variables = &mut self.execution.variables;
        match (from, to) {
            (None, Some(to)) => variables[to].1 = ReflectValue::concrete(dot.value.clone()),
            (None, None) => variables.push((name, ReflectValue::concrete(dot.value.clone()))),
            (Some(from), Some(to)) => variables[to].1 = ReflectValue::concrete(variables[from].1.value.clone()),
            (Some(from), None) => {
                let copied = ReflectValue::concrete(variables[from].1.value.clone());
                variables.push((name, copied));
            }
        }
        Ok(())
    }

    #[inline]
    fn store(&mut self, pipe: &'t PipeNode, name: u32, value: ReflectValue) -> Result<(), Error> {
        if pipe.assigns {
            *self.variable(name)? = value;
        } else {
            self.push(name, value);
        }
        Ok(())
    }

    /// Evaluates a pipeline that declares nothing, or whose variables the caller sets.
    #[inline]
    pub(super) fn commands(&mut self, dot: &ReflectValue, pipe: &'t PipeNode) -> Result<ReflectValue, Error> {
        self.at = TreePart::Pipe(pipe);
        let [command] = pipe.commands.as_slice() else { return self.stages(dot, &pipe.commands) };
        match command.args.as_slice() {
            // Fast paths for the commands that are most common in loops.
            [Operand::Dot(_)] => Ok(ReflectValue::concrete(dot.value.clone())),
            [operand @ Operand::Variable(_, name, path)] if path.is_empty() => {
                self.at = TreePart::Operand(operand);
                Ok(ReflectValue::concrete(self.variable(*name)?.value.clone()))
            }
            _ => Ok(self.command(dot, command)?.unwrapped()),
        }
    }

    /// Evaluates the commands of a pipeline. Each value becomes the last argument of the next command.
    fn stages(&mut self, dot: &ReflectValue, commands: &'t [CommandNode]) -> Result<ReflectValue, Error> {
        let mut value = None;
        for command in commands {
            value = Some(match value {
                None => self.command(dot, command)?.unwrapped(),
                last => self.command_with_args(dot, command, last)?.unwrapped(),
            });
        }
        Ok(value.unwrap_or_default())
    }

    /// Evaluates the first command. Most consist of one operand, so that path is short.
    #[inline]
    fn command(&mut self, dot: &ReflectValue, command: &'t CommandNode) -> Result<ReflectValue, Error> {
        match command.args.as_slice() {
            [Operand::Function(_) | Operand::Nil(_)] => self.command_with_args(dot, command, None),
            [operand] => self.operand(dot, operand),
            _ => self.command_with_args(dot, command, None),
        }
    }

    /// Evaluates a command. `last` is the value of the previous command, and becomes the last argument.
    fn command_with_args(
        &mut self,
        dot: &ReflectValue,
        command: &'t CommandNode,
        last: Option<ReflectValue>,
    ) -> Result<ReflectValue, Error> {
        let args = &command.args[..];
        let first = &args[0];
        match first {
            Operand::Field(_, path) => {
                self.at = TreePart::Operand(first);
                self.fields(dot, dot, first, path, args, last)
            }
            Operand::Chain(_) => self.chain(dot, first, args, last),
            Operand::Function(called) => {
                self.at = TreePart::Operand(first);
                self.function(dot, called, TreePart::Command(command), &args[1..], last)
            }
            Operand::Pipe(pipe) => {
                self.not_a_function(args, &last)?;
                self.nested(|frame| frame.pipeline(dot, pipe))
            }
            Operand::Variable(..) => self.variable_and_fields(dot, first, args, last),
            literal => {
                self.at = TreePart::Operand(first);
                self.not_a_function(args, &last)?;
                match literal {
                    Operand::Bool(_, bool) => Ok(ReflectValue::concrete(Value::Bool(*bool))),
                    Operand::Dot(_) => Ok(dot.clone()),
                    Operand::Number(number) => self.constant(number),
                    Operand::String(quoted) => Ok(ReflectValue::concrete(Value::String(quoted.text.clone()))),
                    _ => Err(self.fail("nil is not a command".to_string())),
                }
            }
        }
    }

    fn not_a_function(&self, args: &'t [Operand], last: &Option<ReflectValue>) -> Result<(), Error> {
        if args.len() <= 1 && last.is_none() {
            return Ok(());
        }
        let first = print_part(self.tree, TreePart::Operand(&args[0]));
        Err(self.fail(format!("can't give argument to non-function {first}")))
    }

    fn constant(&mut self, number: &'t NumberNode) -> Result<ReflectValue, Error> {
        match number.ideal() {
            Some(value) => Ok(ReflectValue::concrete(value)),
            None => Err(self.fail(format!("{} overflows int", number.source))),
        }
    }

    /// Evaluates `$x.Field`: a variable and its fields.
    fn variable_and_fields(
        &mut self,
        dot: &ReflectValue,
        operand: &'t Operand,
        args: &'t [Operand],
        last: Option<ReflectValue>,
    ) -> Result<ReflectValue, Error> {
        let Operand::Variable(_, name, path) = operand else { return Ok(ReflectValue::INVALID) };
        self.at = TreePart::Operand(operand);
        let place = self.variable_index(*name)?;
        if let [field] = &path[..]
            && args.len() <= 1
            && last.is_none()
            && let Value::Map(go_type, map) = &self.execution.variables[place].1.value
            && !go_type.may_have_method(field)
        {
            // The most common case, without a copy of the variable's value.
            let go_type = *go_type;
            return match map.find(field) {
                Some(value) => Ok(ReflectValue::element(go_type, value)),
                None => self.missing(field, go_type),
            };
        }
        let value = self.execution.variables[place].1.clone();
        if path.is_empty() {
            if args.len() > 1 || last.is_some() {
                self.not_a_function(args, &last)?;
            }
            return Ok(value);
        }
        self.fields(dot, &value, operand, path, args, last)
    }

    /// Evaluates `(pipe).Field`: a value and its fields.
    fn chain(
        &mut self,
        dot: &ReflectValue,
        operand: &'t Operand,
        args: &'t [Operand],
        last: Option<ReflectValue>,
    ) -> Result<ReflectValue, Error> {
        let Operand::Chain(chain) = operand else { return Ok(ReflectValue::INVALID) };
        self.at = TreePart::Operand(operand);
        let value = self.operand(dot, &chain.operand)?;
        self.fields(dot, &value, operand, &chain.fields, args, last)
    }

    /// Evaluates an operand where no type is expected.
    fn operand(&mut self, dot: &ReflectValue, operand: &'t Operand) -> Result<ReflectValue, Error> {
        self.at = TreePart::Operand(operand);
        match operand {
            Operand::Dot(_) => Ok(dot.clone()),
            Operand::Field(_, path) => self.fields(dot, dot, operand, path, &[], None),
            Operand::Variable(..) => self.variable_and_fields(dot, operand, &[], None),
            Operand::Pipe(pipe) => self.nested(|frame| frame.pipeline(dot, pipe)),
            Operand::Function(called) => self.function(dot, called, TreePart::Operand(operand), &[], None),
            Operand::Chain(_) => self.chain(dot, operand, &[], None),
            Operand::Bool(_, bool) => Ok(ReflectValue::concrete(Value::Bool(*bool))),
            Operand::Number(number) => self.constant(number),
            Operand::String(quoted) => Ok(ReflectValue::concrete(Value::String(quoted.text.clone()))),
            Operand::Nil(_) => Ok(ReflectValue::INVALID),
        }
    }

    /// Evaluates an argument for a parameter of type `go_type`.
    pub(super) fn argument(
        &mut self,
        dot: &ReflectValue,
        go_type: ReflectType,
        operand: &'t Operand,
    ) -> Result<ReflectValue, Error> {
        match operand {
            Operand::Nil(_) => {
                self.at = TreePart::Operand(operand);
                if !go_type.can_be_nil() {
                    return Err(self.fail(format!("cannot assign nil to {go_type}")));
                }
                Ok(nil_of(go_type))
            }
            Operand::Bool(..) | Operand::Number(_) | Operand::String(_) => {
                self.at = TreePart::Operand(operand);
                self.literal(dot, go_type, operand)
            }
            _ => {
                let value = self.operand(dot, operand)?;
                self.validate(value, go_type)
            }
        }
    }

    /// Evaluates a literal, which takes the type of its parameter.
    fn literal(
        &mut self,
        dot: &ReflectValue,
        go_type: ReflectType,
        operand: &'t Operand,
    ) -> Result<ReflectValue, Error> {
        let kind = go_type.kind();
        let (value, wanted) = match (kind, operand) {
            _ if matches!(go_type.0, TypeShape::Any | TypeShape::Reflect) => return self.operand(dot, operand),
            (ReflectKind::Bool, Operand::Bool(_, bool)) => (Some(Value::Bool(*bool)), ""),
            (ReflectKind::String, Operand::String(quoted)) => (Some(Value::String(quoted.text.clone())), ""),
            (kind, Operand::Number(number)) => sized_number(kind, number),
            (ReflectKind::Bool, _) => (None, "bool"),
            (ReflectKind::String, _) => (None, "string"),
            (kind, _) => (None, expected_literal(kind)),
        };
        match value {
            Some(value) => Ok(ReflectValue::concrete(value)),
            None => {
                let node = print_part(self.tree, TreePart::Operand(operand));
                Err(self.fail(match wanted {
                    "" => format!("can't handle {node} for arg of type {go_type}"),
                    wanted => format!("expected {wanted}; found {node}"),
                }))
            }
        }
    }

    /// Checks that the value can be passed to a parameter of type `go_type`.
    pub(super) fn validate(&mut self, slot: ReflectValue, go_type: ReflectType) -> Result<ReflectValue, Error> {
        if matches!(go_type.0, TypeShape::Reflect) {
            return Ok(slot);
        }
        if matches!(go_type.0, TypeShape::Any) {
            return Ok(ReflectValue { value: slot.value, is_interface: true });
        }
        if slot.is_invalid() {
            if go_type.can_be_nil() {
                return Ok(nil_of(go_type));
            }
            return Err(self.fail(format!("invalid value; expected {go_type}")));
        }
        match slot.value.type_of() {
            Some(own) if own.assignable_to(go_type) => Ok(ReflectValue::concrete(match slot.value {
                Value::List(_, list) => Value::List(go_type, list),
                Value::Map(_, map) => Value::Map(go_type, map),
                value => value,
            })),
            Some(_) => {
                let own = slot.value.type_name();
                Err(self.fail(format!("wrong type for value; expected {go_type}; got {own}")))
            }
            None => Err(self.fail(format!("wrong type for value; expected {go_type}; got {}", slot.type_name()))),
        }
    }
}

/// Returns the nil of a type, or no value for `reflect.Value`.
fn nil_of(go_type: ReflectType) -> ReflectValue {
    match go_type.0 {
        TypeShape::Reflect => ReflectValue::INVALID,
        _ => ReflectValue::result(go_type, Value::zero(go_type)),
    }
}

/// Converts a number to that kind, and returns Go's name of the expected literal for the error.
fn sized_number(kind: ReflectKind, number: &NumberNode) -> (Option<Value>, &'static str) {
    let int = number.int;
    let uint = number.uint;
    let value = match kind {
        ReflectKind::Int => int.map(Value::Int),
        ReflectKind::Int8 => int.map(|int| Value::Int8(int as i8)),
        ReflectKind::Int16 => int.map(|int| Value::Int16(int as i16)),
        ReflectKind::Int32 => int.map(|int| Value::Int32(int as i32)),
        ReflectKind::Int64 => int.map(Value::Int64),
        ReflectKind::Uint => uint.map(Value::Uint),
        ReflectKind::Uint8 => uint.map(|uint| Value::Uint8(uint as u8)),
        ReflectKind::Uint16 => uint.map(|uint| Value::Uint16(uint as u16)),
        ReflectKind::Uint32 => uint.map(|uint| Value::Uint32(uint as u32)),
        ReflectKind::Uint64 => uint.map(Value::Uint64),
        ReflectKind::Float32 => number.float.map(|float| Value::Float32(float as f32)),
        ReflectKind::Float64 => number.float.map(Value::Float64),
        ReflectKind::Complex128 => number.complex.map(|(real, imaginary)| Value::Complex(real, imaginary)),
        _ => None,
    };
    (value, expected_literal(kind))
}

/// Returns the literal that Go's error names as expected for this kind, or an empty text for kinds without literals.
fn expected_literal(kind: ReflectKind) -> &'static str {
    match kind {
        ReflectKind::Bool => "bool",
        ReflectKind::String => "string",
        ReflectKind::Float32 | ReflectKind::Float64 => "float",
        ReflectKind::Complex128 => "complex",
        kind if kind.is_signed() => "integer",
        kind if kind.is_unsigned() => "unsigned integer",
        _ => "",
    }
}
