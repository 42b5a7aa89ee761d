//! Pipelines, commands and arguments.

use super::Slot;
use super::frame::Frame;
use crate::error::Error;
use crate::parse::{Command, Number, Operand, Part, Pipe, print_part};
use crate::value::{Kind, Shape, Type, Value};

impl<'t> Frame<'_, '_, 't> {
    /// The value of a pipeline. Variables it declares stay until the next end.
    pub(super) fn pipeline(&mut self, dot: &Slot, pipe: &'t Pipe) -> Result<Slot, Error> {
        let value = self.commands(dot, pipe)?;
        for name in &pipe.declared {
            self.store(pipe, *name, value.clone())?;
        }
        Ok(value)
    }

    /// A pipeline whose value goes into its variables and nowhere else.
    pub(super) fn declaration(&mut self, dot: &Slot, pipe: &'t Pipe) -> Result<(), Error> {
        if let ([name], [command]) = (pipe.declared.as_slice(), pipe.commands.as_slice()) {
            match command.args.as_slice() {
                [Operand::Dot(_)] => return self.copy(dot, pipe, *name, None),
                [operand @ Operand::Variable(_, from, path)] if path.is_empty() => {
                    self.at = Part::Operand(operand);
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

    /// A variable that takes over dot or another variable: straight to its place, as loops do it all the time.
    #[inline]
    fn copy(&mut self, dot: &Slot, pipe: &'t Pipe, name: u32, from: Option<u32>) -> Result<(), Error> {
        let from = from.map(|from| self.place(from)).transpose()?;
        self.at = Part::Pipe(pipe);
        let to = if pipe.assigns { Some(self.place(name)?) } else { None };
        let variables = &mut self.execution.variables;
        match (from, to) {
            (None, Some(to)) => variables[to].1 = Slot::concrete(dot.value.clone()),
            (None, None) => variables.push((name, Slot::concrete(dot.value.clone()))),
            (Some(from), Some(to)) => variables[to].1 = Slot::concrete(variables[from].1.value.clone()),
            (Some(from), None) => {
                let copied = Slot::concrete(variables[from].1.value.clone());
                variables.push((name, copied));
            }
        }
        Ok(())
    }

    #[inline]
    fn store(&mut self, pipe: &'t Pipe, name: u32, value: Slot) -> Result<(), Error> {
        if pipe.assigns {
            *self.variable(name)? = value;
        } else {
            self.push(name, value);
        }
        Ok(())
    }

    /// The value of a pipeline that declares nothing, or whose variables the caller sees to.
    #[inline]
    pub(super) fn commands(&mut self, dot: &Slot, pipe: &'t Pipe) -> Result<Slot, Error> {
        self.at = Part::Pipe(pipe);
        let [command] = pipe.commands.as_slice() else { return self.stages(dot, &pipe.commands) };
        match command.args.as_slice() {
            // The shortest ways: loops are full of them.
            [Operand::Dot(_)] => Ok(Slot::concrete(dot.value.clone())),
            [operand @ Operand::Variable(_, name, path)] if path.is_empty() => {
                self.at = Part::Operand(operand);
                Ok(Slot::concrete(self.variable(*name)?.value.clone()))
            }
            _ => Ok(self.command(dot, command)?.unwrapped()),
        }
    }

    /// Each stage's value is the last argument of the next one.
    fn stages(&mut self, dot: &Slot, commands: &'t [Command]) -> Result<Slot, Error> {
        let mut value = None;
        for command in commands {
            value = Some(match value {
                None => self.command(dot, command)?.unwrapped(),
                last => self.command_with_args(dot, command, last)?.unwrapped(),
            });
        }
        Ok(value.unwrap_or_default())
    }

    /// The first stage. Most are one operand: that way is short.
    #[inline]
    fn command(&mut self, dot: &Slot, command: &'t Command) -> Result<Slot, Error> {
        match command.args.as_slice() {
            [Operand::Function(_) | Operand::Nil(_)] => self.command_with_args(dot, command, None),
            [operand] => self.operand(dot, operand),
            _ => self.command_with_args(dot, command, None),
        }
    }

    /// One stage; `last` is what the stage before gave, the last argument of this one.
    fn command_with_args(&mut self, dot: &Slot, command: &'t Command, last: Option<Slot>) -> Result<Slot, Error> {
        let args = &command.args[..];
        let first = &args[0];
        match first {
            Operand::Field(_, path) => {
                self.at = Part::Operand(first);
                self.fields(dot, dot, first, path, args, last)
            }
            Operand::Chain(_) => self.chain(dot, first, args, last),
            Operand::Function(called) => {
                self.at = Part::Operand(first);
                self.function(dot, called, Part::Command(command), &args[1..], last)
            }
            Operand::Pipe(pipe) => {
                self.not_a_function(args, &last)?;
                self.nested(|frame| frame.pipeline(dot, pipe))
            }
            Operand::Variable(..) => self.variable_and_fields(dot, first, args, last),
            literal => {
                self.at = Part::Operand(first);
                self.not_a_function(args, &last)?;
                match literal {
                    Operand::Bool(_, bool) => Ok(Slot::concrete(Value::Bool(*bool))),
                    Operand::Dot(_) => Ok(dot.clone()),
                    Operand::Number(number) => self.constant(number),
                    Operand::String(quoted) => Ok(Slot::concrete(Value::String(quoted.text.clone()))),
                    _ => Err(self.fail("nil is not a command".to_string())),
                }
            }
        }
    }

    fn not_a_function(&self, args: &'t [Operand], last: &Option<Slot>) -> Result<(), Error> {
        if args.len() <= 1 && last.is_none() {
            return Ok(());
        }
        let first = print_part(self.tree, Part::Operand(&args[0]));
        Err(self.fail(format!("can't give argument to non-function {first}")))
    }

    fn constant(&mut self, number: &'t Number) -> Result<Slot, Error> {
        match number.ideal() {
            Some(value) => Ok(Slot::concrete(value)),
            None => Err(self.fail(format!("{} overflows int", number.source))),
        }
    }

    /// `$x.Field`: a variable, and fields of it.
    fn variable_and_fields(
        &mut self,
        dot: &Slot,
        operand: &'t Operand,
        args: &'t [Operand],
        last: Option<Slot>,
    ) -> Result<Slot, Error> {
        let Operand::Variable(_, name, path) = operand else { return Ok(Slot::INVALID) };
        self.at = Part::Operand(operand);
        let place = self.place(*name)?;
        if let [field] = &path[..]
            && args.len() <= 1
            && last.is_none()
            && let Value::Map(go_type, map) = &self.execution.variables[place].1.value
            && !go_type.may_have_method(field)
        {
            // The common case, without a copy of what the variable holds.
            let go_type = *go_type;
            return match map.find(field) {
                Some(value) => Ok(Slot::element(go_type, value)),
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

    /// `(pipe).Field`: a value, and fields of it.
    fn chain(
        &mut self,
        dot: &Slot,
        operand: &'t Operand,
        args: &'t [Operand],
        last: Option<Slot>,
    ) -> Result<Slot, Error> {
        let Operand::Chain(chain) = operand else { return Ok(Slot::INVALID) };
        self.at = Part::Operand(operand);
        let value = self.operand(dot, &chain.operand)?;
        self.fields(dot, &value, operand, &chain.fields, args, last)
    }

    /// What stands for a value in itself, wherever no type is asked for.
    fn operand(&mut self, dot: &Slot, operand: &'t Operand) -> Result<Slot, Error> {
        self.at = Part::Operand(operand);
        match operand {
            Operand::Dot(_) => Ok(dot.clone()),
            Operand::Field(_, path) => self.fields(dot, dot, operand, path, &[], None),
            Operand::Variable(..) => self.variable_and_fields(dot, operand, &[], None),
            Operand::Pipe(pipe) => self.nested(|frame| frame.pipeline(dot, pipe)),
            Operand::Function(called) => self.function(dot, called, Part::Operand(operand), &[], None),
            Operand::Chain(_) => self.chain(dot, operand, &[], None),
            Operand::Bool(_, bool) => Ok(Slot::concrete(Value::Bool(*bool))),
            Operand::Number(number) => self.constant(number),
            Operand::String(quoted) => Ok(Slot::concrete(Value::String(quoted.text.clone()))),
            Operand::Nil(_) => Ok(Slot::INVALID),
        }
    }

    /// An argument for a parameter of that type.
    pub(super) fn argument(&mut self, dot: &Slot, go_type: Type, operand: &'t Operand) -> Result<Slot, Error> {
        match operand {
            Operand::Nil(_) => {
                self.at = Part::Operand(operand);
                if !go_type.can_be_nil() {
                    return Err(self.fail(format!("cannot assign nil to {go_type}")));
                }
                Ok(nil_of(go_type))
            }
            Operand::Bool(..) | Operand::Number(_) | Operand::String(_) => {
                self.at = Part::Operand(operand);
                self.literal(dot, go_type, operand)
            }
            _ => {
                let value = self.operand(dot, operand)?;
                self.validate(value, go_type)
            }
        }
    }

    /// A literal takes the type of its parameter.
    fn literal(&mut self, dot: &Slot, go_type: Type, operand: &'t Operand) -> Result<Slot, Error> {
        let kind = go_type.kind();
        let (value, wanted) = match (kind, operand) {
            _ if matches!(go_type.0, Shape::Any | Shape::Reflect) => return self.operand(dot, operand),
            (Kind::Bool, Operand::Bool(_, bool)) => (Some(Value::Bool(*bool)), ""),
            (Kind::String, Operand::String(quoted)) => (Some(Value::String(quoted.text.clone())), ""),
            (kind, Operand::Number(number)) => sized(kind, number),
            (Kind::Bool, _) => (None, "bool"),
            (Kind::String, _) => (None, "string"),
            (kind, _) => (None, wanted(kind)),
        };
        match value {
            Some(value) => Ok(Slot::concrete(value)),
            None => {
                let node = print_part(self.tree, Part::Operand(operand));
                Err(self.fail(match wanted {
                    "" => format!("can't handle {node} for arg of type {go_type}"),
                    wanted => format!("expected {wanted}; found {node}"),
                }))
            }
        }
    }

    /// Makes sure that a value may be given to a parameter of that type.
    pub(super) fn validate(&mut self, slot: Slot, go_type: Type) -> Result<Slot, Error> {
        if matches!(go_type.0, Shape::Reflect) {
            return Ok(slot);
        }
        if matches!(go_type.0, Shape::Any) {
            return Ok(Slot { value: slot.value, is_interface: true });
        }
        if slot.is_invalid() {
            if go_type.can_be_nil() {
                return Ok(nil_of(go_type));
            }
            return Err(self.fail(format!("invalid value; expected {go_type}")));
        }
        match slot.value.type_of() {
            Some(own) if own.assignable_to(go_type) => Ok(Slot::concrete(match slot.value {
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

/// The nil of a type; no value where the type asks for no more.
fn nil_of(go_type: Type) -> Slot {
    match go_type.0 {
        Shape::Reflect => Slot::INVALID,
        _ => Slot::result(go_type, Value::zero(go_type)),
    }
}

/// A number of that kind, and what is asked for where the number is none.
fn sized(kind: Kind, number: &Number) -> (Option<Value>, &'static str) {
    let int = number.int;
    let uint = number.uint;
    let value = match kind {
        Kind::Int => int.map(Value::Int),
        Kind::Int8 => int.map(|int| Value::Int8(int as i8)),
        Kind::Int16 => int.map(|int| Value::Int16(int as i16)),
        Kind::Int32 => int.map(|int| Value::Int32(int as i32)),
        Kind::Int64 => int.map(Value::Int64),
        Kind::Uint => uint.map(Value::Uint),
        Kind::Uint8 => uint.map(|uint| Value::Uint8(uint as u8)),
        Kind::Uint16 => uint.map(|uint| Value::Uint16(uint as u16)),
        Kind::Uint32 => uint.map(|uint| Value::Uint32(uint as u32)),
        Kind::Uint64 => uint.map(Value::Uint64),
        Kind::Float32 => number.float.map(|float| Value::Float32(float as f32)),
        Kind::Float64 => number.float.map(Value::Float64),
        Kind::Complex128 => number.complex.map(|(real, imaginary)| Value::Complex(real, imaginary)),
        _ => None,
    };
    (value, wanted(kind))
}

/// What Go's error says it expected for a literal; nothing for types no literal goes with.
fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::String => "string",
        Kind::Float32 | Kind::Float64 => "float",
        Kind::Complex128 => "complex",
        kind if kind.is_signed() => "integer",
        kind if kind.is_unsigned() => "unsigned integer",
        _ => "",
    }
}
