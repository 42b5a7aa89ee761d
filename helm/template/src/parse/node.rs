//! Tree of a parsed template, which is executed directly. Names of functions and variables are resolved to indexes.
//! Every node keeps its position and enough of its text for Go's error texts.

use std::sync::Arc;

use crate::builtin::BuiltinFunction;
use crate::stack;
use crate::value::{Str, Value};

/// A template: a whole text, or a `define` or `block` in it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) name: Str,
    /// Name of the parsed text, which errors contain.
    pub(crate) file: Str,
    pub(crate) text: Arc<[u8]>,
    pub(crate) root: Vec<ParseNode>,
    /// Names of variables. Nodes refer to them by index.
    pub(crate) variables: Vec<Str>,
}

/// Position in the text of the tree.
pub(crate) type Pos = u32;

#[derive(Debug)]
pub(crate) enum ParseNode {
    Text(std::ops::Range<Pos>),
    Action(ActionNode),
    If(Box<BranchNode>),
    With(Box<BranchNode>),
    Range(Box<BranchNode>),
    Template(Box<TemplateNode>),
    Break,
    Continue,
}

#[derive(Debug)]
pub(crate) struct ActionNode {
    pub(crate) position: Pos,
    pub(crate) pipe: PipeNode,
}

#[derive(Debug)]
pub(crate) struct BranchNode {
    pub(crate) position: Pos,
    pub(crate) pipe: PipeNode,
    pub(crate) list: Vec<ParseNode>,
    pub(crate) else_list: Option<Vec<ParseNode>>,
}

#[derive(Debug)]
pub(crate) struct TemplateNode {
    pub(crate) position: Pos,
    pub(crate) name: Str,
    pub(crate) pipe: Option<PipeNode>,
}

#[derive(Debug)]
pub(crate) struct PipeNode {
    pub(crate) position: Pos,
    pub(crate) assigns: bool,
    pub(crate) declared: Vec<u32>,
    pub(crate) commands: Vec<CommandNode>,
}

#[derive(Debug)]
pub(crate) struct CommandNode {
    pub(crate) position: Pos,
    pub(crate) args: Vec<Operand>,
}

#[derive(Debug)]
pub(crate) enum Operand {
    Dot(Pos),
    Nil(Pos),
    Bool(Pos, bool),
    Number(Box<NumberNode>),
    String(Box<StringNode>),
    Field(Pos, Box<[Str]>),
    Variable(Pos, u32, Box<[Str]>),
    Function(Box<IdentifierNode>),
    Chain(Box<ChainNode>),
    Pipe(Box<PipeNode>),
}

#[derive(Debug)]
pub(crate) struct StringNode {
    pub(crate) position: Pos,
    /// Text with its quotes.
    pub(crate) source: Str,
    pub(crate) text: Str,
}

#[derive(Debug)]
pub(crate) struct IdentifierNode {
    pub(crate) position: Pos,
    pub(crate) name: Str,
    pub(crate) callee: Callee,
}

/// Target of an identifier.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee {
    Builtin(BuiltinFunction),
    /// Index in the table of functions.
    Function(u32),
}

#[derive(Debug)]
pub(crate) struct ChainNode {
    pub(crate) position: Pos,
    pub(crate) operand: Operand,
    pub(crate) fields: Box<[Str]>,
}

/// A number and its representations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NumberNode {
    pub(crate) position: Pos,
    pub(crate) source: String,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
}

impl NumberNode {
    /// Returns the value where no type is expected, or `None` if it overflows `int`.
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
    pub(crate) fn position(&self) -> Pos {
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

/// Part of a tree, for errors that occur there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TreePart<'t> {
    Node(&'t ParseNode),
    Pipe(&'t PipeNode),
    Command(&'t CommandNode),
    Operand(&'t Operand),
    List(&'t [ParseNode]),
}

impl TreePart<'_> {
    /// Returns the start position.
    pub(crate) fn position(self) -> Pos {
        match self {
            TreePart::Node(node) => node.position(),
            TreePart::Pipe(pipe) => pipe.position,
            TreePart::Command(command) => command.position,
            TreePart::Operand(operand) => operand.position(),
            TreePart::List(list) => list.first().map_or(0, ParseNode::position),
        }
    }
}

impl ParseNode {
    fn position(&self) -> Pos {
        match self {
            ParseNode::Text(range) => range.start,
            ParseNode::Action(action) => action.position,
            ParseNode::If(branch) | ParseNode::With(branch) | ParseNode::Range(branch) => branch.position,
            ParseNode::Template(invocation) => invocation.position,
            ParseNode::Break | ParseNode::Continue => 0,
        }
    }
}

// Trees are nested as deeply as the parser allows, so dropping them must also avoid stack overflow.
impl Drop for BranchNode {
    fn drop(&mut self) {
        let (list, else_list) = (std::mem::take(&mut self.list), self.else_list.take());
        stack::grow(|| drop((list, else_list)));
    }
}

impl Drop for PipeNode {
    fn drop(&mut self) {
        let commands = std::mem::take(&mut self.commands);
        stack::grow(|| drop(commands));
    }
}
