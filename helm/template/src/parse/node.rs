//! The tree of a parsed template. It is what is executed: names of functions and variables are resolved to numbers, and
//! everything keeps its position and enough of its text for Go's error texts.

use std::sync::Arc;

use crate::builtin::Builtin;
use crate::stack;
use crate::value::{Str, Value};

/// One template: a whole text, or a `define` or `block` of it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) name: Str,
    /// The template it was parsed with, which errors name.
    pub(crate) file: Str,
    pub(crate) text: Arc<[u8]>,
    pub(crate) root: Vec<Node>,
    /// Names of variables; those of nodes are places in this list.
    pub(crate) variables: Vec<Str>,
}

/// A position in the text of the tree.
pub(crate) type Position = u32;

#[derive(Debug)]
pub(crate) enum Node {
    Text(std::ops::Range<Position>),
    Action(Action),
    If(Box<Branch>),
    With(Box<Branch>),
    Range(Box<Branch>),
    Template(Box<Invocation>),
    Break,
    Continue,
}

#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) position: Position,
    pub(crate) pipe: Pipe,
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) position: Position,
    pub(crate) pipe: Pipe,
    pub(crate) list: Vec<Node>,
    pub(crate) otherwise: Option<Vec<Node>>,
}

#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) position: Position,
    pub(crate) name: Str,
    pub(crate) pipe: Option<Pipe>,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) position: Position,
    pub(crate) assigns: bool,
    pub(crate) declared: Vec<u32>,
    pub(crate) commands: Vec<Command>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) position: Position,
    pub(crate) args: Vec<Operand>,
}

#[derive(Debug)]
pub(crate) enum Operand {
    Dot(Position),
    Nil(Position),
    Bool(Position, bool),
    Number(Box<Number>),
    String(Box<Quoted>),
    Field(Position, Box<[Str]>),
    Variable(Position, u32, Box<[Str]>),
    Function(Box<Called>),
    Chain(Box<Chain>),
    Pipe(Box<Pipe>),
}

#[derive(Debug)]
pub(crate) struct Quoted {
    pub(crate) position: Position,
    /// The text with its quotes.
    pub(crate) source: Str,
    pub(crate) text: Str,
}

#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) position: Position,
    pub(crate) name: Str,
    pub(crate) callee: Callee,
}

/// Whom an identifier calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee {
    Builtin(Builtin),
    /// A place in the table of functions.
    Function(u32),
}

#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) position: Position,
    pub(crate) operand: Operand,
    pub(crate) fields: Box<[Str]>,
}

/// A number and all it can be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Number {
    pub(crate) position: Position,
    pub(crate) source: String,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
}

impl Number {
    /// What it is where no type is asked for; nothing if it overflows `int`.
    pub(crate) fn ideal(&self) -> Option<Value> {
        if let Some((real, imaginary)) = self.complex {
            return Some(Value::Complex(real, imaginary));
        }
        match self.float {
            Some(float) if !self.is_hex_int() && !self.is_rune() && self.source.contains(['.', 'e', 'E', 'p', 'P']) => {
                Some(Value::Float64(float))
            }
            _ => self.int.map(Value::Int),
        }
    }

    fn is_rune(&self) -> bool {
        self.source.starts_with('\'')
    }

    fn is_hex_int(&self) -> bool {
        let hex = self.source.len() > 2 && (self.source.starts_with("0x") || self.source.starts_with("0X"));
        hex && !self.source.contains(['p', 'P'])
    }
}

impl Operand {
    pub(crate) fn position(&self) -> Position {
        match self {
            Operand::Dot(position) | Operand::Nil(position) | Operand::Bool(position, _) => *position,
            Operand::Field(position, _) | Operand::Variable(position, ..) => *position,
            Operand::Number(number) => number.position,
            Operand::String(quoted) => quoted.position,
            Operand::Function(called) => called.position,
            Operand::Chain(chain) => chain.position,
            Operand::Pipe(pipe) => pipe.position,
        }
    }
}

/// A part of a tree, for the errors that happen there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'t> {
    Node(&'t Node),
    Pipe(&'t Pipe),
    Command(&'t Command),
    Operand(&'t Operand),
    List(&'t [Node]),
}

impl Part<'_> {
    /// Where it begins.
    pub(crate) fn position(self) -> Position {
        match self {
            Part::Node(node) => node.position(),
            Part::Pipe(pipe) => pipe.position,
            Part::Command(command) => command.position,
            Part::Operand(operand) => operand.position(),
            Part::List(list) => list.first().map_or(0, Node::position),
        }
    }
}

impl Node {
    fn position(&self) -> Position {
        match self {
            Node::Text(range) => range.start,
            Node::Action(action) => action.position,
            Node::If(branch) | Node::With(branch) | Node::Range(branch) => branch.position,
            Node::Template(invocation) => invocation.position,
            Node::Break | Node::Continue => 0,
        }
    }
}

// Trees nest as deep as the parser lets them; freeing them takes the same care with the stack as making them.
impl Drop for Branch {
    fn drop(&mut self) {
        let (list, otherwise) = (std::mem::take(&mut self.list), self.otherwise.take());
        stack::grow(|| drop((list, otherwise)));
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let commands = std::mem::take(&mut self.commands);
        stack::grow(|| drop(commands));
    }
}
