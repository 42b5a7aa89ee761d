//! Trees as Go's `String()` prints them: errors show the part that failed.

use crate::format::quote;
use crate::parse::node::{Branch, Command, Node, Operand, Part, Pipe, Tree};
use crate::stack;
use crate::value::Str;

/// A part of the tree as text.
pub(crate) fn part(tree: &Tree, part: Part<'_>) -> String {
    let mut printer = Printer { tree, out: String::new() };
    match part {
        Part::Node(node) => printer.node(node),
        Part::Pipe(pipe) => printer.pipe(pipe),
        Part::Command(command) => printer.command(command),
        Part::Operand(operand) => printer.operand(operand),
        Part::List(list) => printer.list(list),
    }
    printer.out
}

/// A literal as text, which needs no tree.
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

struct Printer<'t> {
    tree: &'t Tree,
    out: String,
}

impl Printer<'_> {
    fn list(&mut self, list: &[Node]) {
        for node in list {
            stack::grow(|| self.node(node));
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Text(range) => {
                let text = &self.tree.text[range.start as usize..range.end as usize];
                self.out.push_str(&String::from_utf8_lossy(text));
            }
            Node::Action(action) => {
                self.out.push_str("{{");
                self.pipe(&action.pipe);
                self.out.push_str("}}");
            }
            Node::If(branch) => self.branch("if", branch),
            Node::With(branch) => self.branch("with", branch),
            Node::Range(branch) => self.branch("range", branch),
            Node::Template(invocation) => {
                self.out.push_str("{{template ");
                self.out.push_str(&quote::quote(&invocation.name));
                if let Some(pipe) = &invocation.pipe {
                    self.out.push(' ');
                    self.pipe(pipe);
                }
                self.out.push_str("}}");
            }
            Node::Break => self.out.push_str("{{break}}"),
            Node::Continue => self.out.push_str("{{continue}}"),
        }
    }

    fn branch(&mut self, word: &str, branch: &Branch) {
        self.out.push_str("{{");
        self.out.push_str(word);
        self.out.push(' ');
        self.pipe(&branch.pipe);
        self.out.push_str("}}");
        self.list(&branch.list);
        if let Some(otherwise) = &branch.otherwise {
            self.out.push_str("{{else}}");
            self.list(otherwise);
        }
        self.out.push_str("{{end}}");
    }

    fn pipe(&mut self, pipe: &Pipe) {
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

    fn command(&mut self, command: &Command) {
        for (index, operand) in command.args.iter().enumerate() {
            if index > 0 {
                self.out.push(' ');
            }
            self.in_parens(operand);
        }
    }

    /// A pipeline inside of another thing has parentheses, one by itself has none.
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
