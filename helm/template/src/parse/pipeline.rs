//! Pipelines: declarations, commands, operands.

use switchboard_object::quote;

use super::node::StringNode;
use super::token::{TemplateToken, TokenKind};
use super::{Callee, ChainNode, CommandNode, IdentifierNode, Operand, PipeNode, TreeParser};
use crate::builtin::BuiltinFunction;
use crate::error::Error;
use crate::parse::{number, print, unquote};
use crate::stack;
use crate::value::Str;

/// Go's limit for nested parentheses.
const MAX_PAREN_DEPTH: usize = 10_000;
/// Maximum number of variables in scope. Go has no limit, and searches all of them for each use.
const MAX_VARIABLES: usize = 10_000;
/// Number of names that are searched linearly.
const FEW_VARIABLES: usize = 16;

impl<'t> TreeParser<'_, 't> {
    /// Parses `declarations? command ('|' command)*`.
    pub(super) fn pipeline(&mut self, context: &str, end: TokenKind) -> Result<PipeNode, Error> {
        let position = self.peek_non_space().position as u32;
        let mut pipe = PipeNode { position, assigns: false, declared: Vec::new(), commands: Vec::new() };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.next_non_space();
            match token.kind {
                kind if kind == end => {
                    self.check_pipeline(&pipe, context)?;
                    return Ok(pipe);
                }
                TokenKind::Bool
                | TokenKind::CharConstant
                | TokenKind::Complex
                | TokenKind::Dot
                | TokenKind::Field
                | TokenKind::Identifier
                | TokenKind::Number
                | TokenKind::Nil
                | TokenKind::RawString
                | TokenKind::String
                | TokenKind::Variable
                | TokenKind::LeftParen => {
                    self.back_up();
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return Err(self.unexpected(&token, context)),
            }
        }
    }

    fn declarations(&mut self, pipe: &mut PipeNode, context: &str) -> Result<(), Error> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != TokenKind::Variable {
                return Ok(());
            }
            self.next();
            // Space is a token, so the decision needs three tokens: in "$x foo", only "foo" shows that $x is an
            // argument.
            let after = self.peek().clone();
            let next = self.peek_non_space();
            match next.kind {
                TokenKind::Assign | TokenKind::Declare => {
                    pipe.assigns = next.kind == TokenKind::Assign;
                    self.next_non_space();
                    self.declare(pipe, &variable)?;
                    return Ok(());
                }
                TokenKind::Char if next.text == b"," => {
                    self.next_non_space();
                    self.declare(pipe, &variable)?;
                    if context != "range" || pipe.declared.len() >= 2 {
                        return Err(self.error(format!("too many declarations in {context}")));
                    }
                    if !matches!(
                        self.peek_non_space().kind,
                        TokenKind::Variable | TokenKind::RightDelim | TokenKind::RightParen
                    ) {
                        return Err(self.error("range can only initialize variables".to_string()));
                    }
                }
                _ if after.kind == TokenKind::Space => {
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

    fn declare(&mut self, pipe: &mut PipeNode, variable: &TemplateToken<'t>) -> Result<(), Error> {
        let name = self.variable(variable.text);
        pipe.declared.push(name);
        self.scope.push(name);
        if self.scope.len() > MAX_VARIABLES {
            return Err(self.error(format!("more than {MAX_VARIABLES} variables in scope")));
        }
        Ok(())
    }

    /// Returns the index of a variable's name.
    fn variable(&mut self, name: &[u8]) -> u32 {
        // Most templates have few variables, and parsing dominates the cost of `tpl`.
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

    fn check_pipeline(&mut self, pipe: &PipeNode, context: &str) -> Result<(), Error> {
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

    /// Parses operands up to a pipe, which is consumed, or up to the end of the pipeline, which is not.
    fn command(&mut self) -> Result<CommandNode, Error> {
        let mut command = CommandNode { position: self.peek_non_space().position as u32, args: Vec::new() };
        loop {
            self.peek_non_space();
            if let Some(operand) = self.operand()? {
                command.args.push(operand);
            }
            let token = self.next();
            match token.kind {
                TokenKind::Space => continue,
                TokenKind::RightDelim | TokenKind::RightParen => self.back_up(),
                TokenKind::Pipe => {}
                _ => return Err(self.unexpected(&token, "operand")),
            }
            break;
        }
        if command.args.is_empty() {
            return Err(self.error("empty command".to_string()));
        }
        Ok(command)
    }

    /// Parses a term and its fields, or returns `None` if the next token starts no term.
    fn operand(&mut self) -> Result<Option<Operand>, Error> {
        let Some(term) = self.term()? else { return Ok(None) };
        if self.peek().kind != TokenKind::Field {
            return Ok(Some(term));
        }
        let position = self.peek().position as u32;
        let mut fields = Vec::new();
        while self.peek().kind == TokenKind::Field {
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
                let shown = quote::quote_bytes(print::literal(&term).as_bytes());
                return Err(self.error(format!("unexpected . after term {shown}")));
            }
            operand => Operand::Chain(Box::new(ChainNode { position, operand, fields: fields.into() })),
        }))
    }

    fn term(&mut self) -> Result<Option<Operand>, Error> {
        let token = self.next_non_space();
        let position = token.position as u32;
        Ok(Some(match token.kind {
            TokenKind::Identifier => self.function(&token)?,
            TokenKind::Dot => Operand::Dot(position),
            TokenKind::Nil => Operand::Nil(position),
            TokenKind::Variable => {
                let name = self.variable(token.text);
                if !self.scope.contains(&name) {
                    return Err(self.error(format!("undefined variable {}", quote::quote_bytes(token.text))));
                }
                Operand::Variable(position, name, Box::default())
            }
            TokenKind::Field => Operand::Field(position, Box::new([Str::new(&token.text[1..])])),
            TokenKind::Bool => Operand::Bool(position, token.text == b"true"),
            TokenKind::CharConstant | TokenKind::Complex | TokenKind::Number => {
                let number = number::number(position, token.text, token.kind).map_err(|problem| self.error(problem))?;
                Operand::Number(Box::new(number))
            }
            TokenKind::LeftParen => {
                if self.paren_depth >= MAX_PAREN_DEPTH {
                    return Err(self.error("max expression depth exceeded".to_string()));
                }
                self.paren_depth += 1;
                let pipe = stack::grow(|| self.pipeline("parenthesized pipeline", TokenKind::RightParen))?;
                self.paren_depth -= 1;
                Operand::Pipe(Box::new(pipe))
            }
            TokenKind::String | TokenKind::RawString => {
                let Some(text) = unquote::unquote(token.text) else {
                    return Err(self.error("invalid syntax".to_string()));
                };
                Operand::String(Box::new(StringNode { position, source: Str::new(token.text), text: text.into() }))
            }
            _ => {
                self.back_up();
                return Ok(None);
            }
        }))
    }

    fn function(&mut self, token: &TemplateToken<'t>) -> Result<Operand, Error> {
        let name = String::from_utf8_lossy(token.text);
        let callee = match self.shared.functions.index_of(&name) {
            Some(place) => Callee::Function(place),
            None => match BuiltinFunction::by_name(&name) {
                Some(builtin) => Callee::Builtin(builtin),
                None => {
                    return Err(self.error(format!("function {} not defined", quote::quote_bytes(token.text))));
                }
            },
        };
        let position = token.position as u32;
        Ok(Operand::Function(Box::new(IdentifierNode { position, name: Str::new(token.text), callee })))
    }
}
