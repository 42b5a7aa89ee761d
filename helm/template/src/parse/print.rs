//! Prints trees like Go's `String()`. Errors show the part that failed.

use switchboard_object::quote;

use crate::parse::node::{BranchNode, CommandNode, Operand, ParseNode, PipeNode, Tree, TreePart};
use crate::stack;
use crate::value::Str;

/// Prints a part of the tree.
pub(crate) fn part(tree: &Tree, part: TreePart<'_>) -> String {
    let mut printer = TreePrinter { tree, out: String::new() };
    match part {
        TreePart::Node(node) => printer.node(node),
        TreePart::Pipe(pipe) => printer.pipe(pipe),
        TreePart::Command(command) => printer.command(command),
        TreePart::Operand(operand) => printer.operand(operand),
        TreePart::List(list) => printer.list(list),
    }
    printer.out
}

/// Prints a literal, which needs no tree.
pub(super) fn literal(operand: &Operand) -> String {
    match operand {
        Operand::Dot(_) => ".".to_string(),
        Operand::Nil(_) => "nil".to_string(),
        Operand::Bool(_, bool) => bool.to_string(),
        Operand::Number(number) => number.source.clone(),
        Operand::String(quoted) => quoted.source.to_string(),
        _ => String::new(),
    }
}

struct TreePrinter<'t> {
    tree: &'t Tree,
    out: String,
}

impl TreePrinter<'_> {
    fn list(&mut self, list: &[ParseNode]) {
        for node in list {
            stack::grow(|| self.node(node));
        }
    }

    fn node(&mut self, node: &ParseNode) {
        match node {
            ParseNode::Text(range) => {
                let text = &self.tree.text[range.start as usize..range.end as usize];
                self.out.push_str(&String::from_utf8_lossy(text));
            }
            ParseNode::Action(action) => {
                self.out.push_str("{{");
                self.pipe(&action.pipe);
                self.out.push_str("}}");
            }
            ParseNode::If(branch) => self.branch("if", branch),
            ParseNode::With(branch) => self.branch("with", branch),
            ParseNode::Range(branch) => self.branch("range", branch),
            ParseNode::Template(invocation) => {
                self.out.push_str("{{template ");
                self.out.push_str(&quote::quote_bytes(&invocation.name));
                if let Some(pipe) = &invocation.pipe {
                    self.out.push(' ');
                    self.pipe(pipe);
                }
                self.out.push_str("}}");
            }
            ParseNode::Break => self.out.push_str("{{break}}"),
            ParseNode::Continue => self.out.push_str("{{continue}}"),
        }
    }

    fn branch(&mut self, word: &str, branch: &BranchNode) {
        self.out.push_str("{{");
        self.out.push_str(word);
        self.out.push(' ');
        self.pipe(&branch.pipe);
        self.out.push_str("}}");
        self.list(&branch.list);
        if let Some(else_list) = &branch.else_list {
            self.out.push_str("{{else}}");
            self.list(else_list);
        }
        self.out.push_str("{{end}}");
    }

    fn pipe(&mut self, pipe: &PipeNode) {
        for (index, name) in pipe.declared.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.text(&self.tree.variables[*name as usize]);
        }
        if !pipe.declared.is_empty() {
            self.out.push_str(if pipe.assigns { " = " } else { " := " });
        }
        for (index, command) in pipe.commands.iter().enumerate() {
            if index > 0 {
                self.out.push_str(" | ");
            }
            self.command(command);
        }
    }

    fn command(&mut self, command: &CommandNode) {
        for (index, operand) in command.args.iter().enumerate() {
            if index > 0 {
                self.out.push(' ');
            }
            self.in_parens(operand);
        }
    }

    /// Prints a nested pipeline in parentheses, and other operands without.
    fn in_parens(&mut self, operand: &Operand) {
        let Operand::Pipe(pipe) = operand else { return self.operand(operand) };
        self.out.push('(');
        stack::grow(|| self.pipe(pipe));
        self.out.push(')');
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Field(_, path) => self.path(path),
            Operand::Variable(_, name, path) => {
                self.text(&self.tree.variables[*name as usize]);
                self.path(path);
            }
            Operand::Function(called) => self.text(&called.name),
            Operand::Chain(chain) => {
                self.in_parens(&chain.operand);
                self.path(&chain.fields);
            }
            Operand::Pipe(pipe) => stack::grow(|| self.pipe(pipe)),
            literal => self.out.push_str(&self::literal(literal)),
        }
    }

    fn path(&mut self, path: &[Str]) {
        for name in path {
            self.out.push('.');
            self.text(name);
        }
    }

    fn text(&mut self, text: &Str) {
        self.out.push_str(&text.to_text());
    }
}
