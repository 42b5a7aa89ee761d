//! Pipelines: declarations, commands, operands.

use super::node::Quoted;
use super::token::{Kind, Token};
use super::{Called, Callee, Chain, Command, Operand, Parser, Pipe};
use crate::builtin::Builtin;
use crate::error::Error;
use crate::format::quote;
use crate::parse::{number, print, unquote};
use crate::stack;
use crate::value::Str;

/// Go's bound on nested parentheses.
const MAX_PAREN_DEPTH: usize = 10_000;
/// Variables that may be known at one place. Go has no bound, and looks through all of them for each one.
const MAX_VARIABLES: usize = 10_000;
/// As many names as are looked through one by one.
const FEW_VARIABLES: usize = 16;

impl<'t> Parser<'_, 't> {
    /// `declarations? command ('|' command)*`
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipe, Error> {
        let position = self.peek_non_space().position as u32;
        let mut pipe = Pipe { position, assigns: false, declared: Vec::new(), commands: Vec::new() };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.next_non_space();
            match token.kind {
                kind if kind == end => {
                    self.check_pipeline(&pipe, context)?;
                    return Ok(pipe);
                }
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.back_up();
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return Err(self.unexpected(&token, context)),
            }
        }
    }

    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Result<(), Error> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                return Ok(());
            }
            self.next();
            // Space is a token, so three tokens decide: in "$x foo" it takes "foo" to know that $x is an argument.
            let after = self.peek().clone();
            let next = self.peek_non_space();
            match next.kind {
                Kind::Assign | Kind::Declare => {
                    pipe.assigns = next.kind == Kind::Assign;
                    self.next_non_space();
                    self.declare(pipe, &variable)?;
                    return Ok(());
                }
                Kind::Char if next.text == b"," => {
                    self.next_non_space();
                    self.declare(pipe, &variable)?;
                    if context != "range" || pipe.declared.len() >= 2 {
                        return Err(self.error(format!("too many declarations in {context}")));
                    }
                    if !matches!(self.peek_non_space().kind, Kind::Variable | Kind::RightDelim | Kind::RightParen) {
                        return Err(self.error("range can only initialize variables".to_string()));
                    }
                }
                _ if after.kind == Kind::Space => {
                    self.back_up_3(variable, after);
                    return Ok(());
                }
                _ => {
                    self.back_up_2(variable);
                    return Ok(());
                }
            }
        }
    }

    fn declare(&mut self, pipe: &mut Pipe, variable: &Token<'t>) -> Result<(), Error> {
        let name = self.variable(variable.text);
        pipe.declared.push(name);
        self.scope.push(name);
        if self.scope.len() > MAX_VARIABLES {
            return Err(self.error(format!("more than {MAX_VARIABLES} variables at a time")));
        }
        Ok(())
    }

    /// The number of a variable's name.
    fn variable(&mut self, name: &[u8]) -> u32 {
        // Most templates have a few, and parsing is what `tpl` costs.
        let few = self.names.len().min(FEW_VARIABLES);
        let known = self.names[..few].iter().position(|known| known.as_bytes() == name).map(|place| place as u32);
        if let Some(known) = known.or_else(|| self.places.get(name).copied()) {
            return known;
        }
        let place = self.names.len() as u32;
        self.names.push(Str::new(name));
        self.places.insert(Str::new(name), place);
        place
    }

    fn check_pipeline(&mut self, pipe: &Pipe, context: &str) -> Result<(), Error> {
        if pipe.commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        for (index, command) in pipe.commands.iter().enumerate().skip(1) {
            if matches!(
                command.args[0],
                Operand::Bool(..) | Operand::Dot(_) | Operand::Nil(_) | Operand::Number(_) | Operand::String(_)
            ) {
                return Err(self.error(format!("non executable command in pipeline stage {}", index + 1)));
            }
        }
        Ok(())
    }

    /// Operands up to a pipe, which is passed, or to the end of the pipeline, which is not.
    fn command(&mut self) -> Result<Command, Error> {
        let mut command = Command { position: self.peek_non_space().position as u32, args: Vec::new() };
        loop {
            self.peek_non_space();
            if let Some(operand) = self.operand()? {
                command.args.push(operand);
            }
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.back_up(),
                Kind::Pipe => {}
                _ => return Err(self.unexpected(&token, "operand")),
            }
            break;
        }
        if command.args.is_empty() {
            return Err(self.error("empty command".to_string()));
        }
        Ok(command)
    }

    /// A term and fields behind it; nothing if the next token begins none.
    fn operand(&mut self) -> Result<Option<Operand>, Error> {
        let Some(term) = self.term()? else { return Ok(None) };
        if self.peek().kind != Kind::Field {
            return Ok(Some(term));
        }
        let position = self.peek().position as u32;
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(Str::new(&self.next().text[1..]));
        }
        Ok(Some(match term {
            Operand::Field(_, path) => {
                let path = path.into_vec().into_iter().chain(fields).collect();
                Operand::Field(position, path)
            }
            Operand::Variable(_, name, path) => {
                let path = path.into_vec().into_iter().chain(fields).collect();
                Operand::Variable(position, name, path)
            }
            Operand::Bool(..) | Operand::String(_) | Operand::Number(_) | Operand::Nil(_) | Operand::Dot(_) => {
                let shown = quote::quote(print::literal(&term).as_bytes());
                return Err(self.error(format!("unexpected . after term {shown}")));
            }
            operand => Operand::Chain(Box::new(Chain { position, operand, fields: fields.into() })),
        }))
    }

    fn term(&mut self) -> Result<Option<Operand>, Error> {
        let token = self.next_non_space();
        let position = token.position as u32;
        Ok(Some(match token.kind {
            Kind::Identifier => self.function(&token)?,
            Kind::Dot => Operand::Dot(position),
            Kind::Nil => Operand::Nil(position),
            Kind::Variable => {
                let name = self.variable(token.text);
                if !self.scope.contains(&name) {
                    return Err(self.error(format!("undefined variable {}", quote::quote(token.text))));
                }
                Operand::Variable(position, name, Box::default())
            }
            Kind::Field => Operand::Field(position, Box::new([Str::new(&token.text[1..])])),
            Kind::Bool => Operand::Bool(position, token.text == b"true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => {
                let number = number::number(position, token.text, token.kind).map_err(|problem| self.error(problem))?;
                Operand::Number(Box::new(number))
            }
            Kind::LeftParen => {
                if self.paren_depth >= MAX_PAREN_DEPTH {
                    return Err(self.error("max expression depth exceeded".to_string()));
                }
                self.paren_depth += 1;
                let pipe = stack::grow(|| self.pipeline("parenthesized pipeline", Kind::RightParen))?;
                self.paren_depth -= 1;
                Operand::Pipe(Box::new(pipe))
            }
            Kind::String | Kind::RawString => {
                let Some(text) = unquote::unquote(token.text) else {
                    return Err(self.error("invalid syntax".to_string()));
                };
                Operand::String(Box::new(Quoted { position, source: Str::new(token.text), text: text.into() }))
            }
            _ => {
                self.back_up();
                return Ok(None);
            }
        }))
    }

    fn function(&mut self, token: &Token<'t>) -> Result<Operand, Error> {
        let name = String::from_utf8_lossy(token.text);
        let callee = match self.shared.functions.place(&name) {
            Some(place) => Callee::Function(place),
            None => match Builtin::named(&name) {
                Some(builtin) => Callee::Builtin(builtin),
                None => {
                    return Err(self.error(format!("function {} not defined", quote::quote(token.text))));
                }
            },
        };
        let position = token.position as u32;
        Ok(Operand::Function(Box::new(Called { position, name: Str::new(token.text), callee })))
    }
}
