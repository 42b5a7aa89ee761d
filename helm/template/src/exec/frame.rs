//! One template on its way: walking nodes, and errors with their place.

use super::{Execution, Slot};
use crate::error::{Error, Spot};
use crate::format::{self, quote};
use crate::function::Functions;
use crate::parse::{Branch, Invocation, Node, Part, Tree, print_part};
use crate::stack;
use crate::value::{Kind, Value};

/// As many variables as are looked at for a step.
const FEW_VARIABLES: usize = 32;

/// A template that runs, and the part of it that errors are reported at.
pub(super) struct Frame<'e, 'a, 't> {
    pub(super) execution: &'e mut Execution<'a>,
    pub(super) functions: &'t Functions,
    pub(super) tree: &'t Tree,
    /// Where the variables of this template begin; no template sees those of its caller.
    base: usize,
    pub(super) at: Part<'t>,
}

/// How a list of nodes ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
}

impl<'e, 'a, 't> Frame<'e, 'a, 't> {
    pub(super) fn new(
        execution: &'e mut Execution<'a>,
        functions: &'t Functions,
        tree: &'t Tree,
        base: usize,
    ) -> Frame<'e, 'a, 't> {
        Frame { execution, functions, tree, base, at: Part::List(&tree.root) }
    }

    pub(super) fn run(mut self, dot: &Slot) -> Result<(), Error> {
        self.walk(dot, &self.tree.root).map(|_| ())
    }

    pub(super) fn walk(&mut self, dot: &Slot, list: &'t [Node]) -> Result<Flow, Error> {
        for node in list {
            match node {
                Node::Text(range) => {
                    let text = &self.tree.text[range.start as usize..range.end as usize];
                    self.execution.out.extend_from_slice(text);
                    self.check_output()?;
                }
                Node::Action(action) => {
                    self.step()?;
                    if action.pipe.declared.is_empty() {
                        let value = self.commands(dot, &action.pipe)?;
                        self.at = Part::Node(node);
                        self.print(value)?;
                    } else {
                        self.declaration(dot, &action.pipe)?;
                    }
                }
                Node::If(branch) => {
                    let flow = self.nested(|frame| frame.branch(dot, branch, false))?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                Node::With(branch) => {
                    let flow = self.nested(|frame| frame.branch(dot, branch, true))?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                Node::Range(branch) => {
                    self.at = Part::Node(node);
                    let flow = self.nested(|frame| frame.range(dot, branch))?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                Node::Template(invocation) => {
                    self.at = Part::Node(node);
                    self.nested(|frame| frame.template(dot, invocation))?;
                }
                Node::Break => return Ok(Flow::Break),
                Node::Continue => return Ok(Flow::Continue),
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a step that goes deeper, with room on the stack for it. All levels of all templates are counted together: a
    /// template in itself a thousand times may be as deep each time as the parser lets it.
    #[inline]
    pub(super) fn nested<T>(
        &mut self,
        step: impl FnOnce(&mut Frame<'e, 'a, 't>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let deepest = self.execution.options.limits.nesting();
        if self.execution.nesting >= deepest {
            return Err(self.fail(format!("exceeded maximum nesting ({deepest})")));
        }
        self.execution.nesting += 1;
        let outcome = stack::grow(|| step(self));
        self.execution.nesting -= 1;
        outcome
    }

    fn print(&mut self, slot: Slot) -> Result<(), Error> {
        if matches!(slot.value, Value::Nil) && self.is_strict() {
            return Err(self.no_value());
        }
        let (out, limit) = self.execution.output();
        match &slot.value {
            Value::Nil => out.extend_from_slice(b"<no value>"),
            Value::String(text) => out.extend_from_slice(text),
            value @ (Value::Func(_) | Value::Object(_)) if value.kind() == Kind::Func => {
                let node = print_part(self.tree, self.at);
                return Err(self.fail(format!("can't print {node} of type {}", slot.type_name())));
            }
            value => format::append(out, value, limit).map_err(|refusal| self.fail(refusal.message(limit)))?,
        }
        self.check_output()
    }

    /// `if`, and `with`, which sets dot.
    fn branch(&mut self, dot: &Slot, branch: &'t Branch, sets_dot: bool) -> Result<Flow, Error> {
        self.step()?;
        let mark = self.mark();
        if !sets_dot && let Some(is_true) = self.truth(dot, &branch.pipe) {
            let chosen = if is_true { Some(&branch.list) } else { branch.otherwise.as_ref() };
            let flow = chosen.map_or(Ok(Flow::Next), |list| self.walk(dot, list))?;
            self.pop(mark);
            return Ok(flow);
        }
        let value = self.pipeline(dot, &branch.pipe)?;
        let flow = match (value.value.is_true(), &branch.otherwise) {
            (true, _) if sets_dot => self.walk(&value, &branch.list)?,
            (true, _) => self.walk(dot, &branch.list)?,
            (false, Some(otherwise)) => self.walk(dot, otherwise)?,
            (false, None) => Flow::Next,
        };
        self.pop(mark);
        Ok(flow)
    }

    fn template(&mut self, dot: &Slot, invocation: &'t Invocation) -> Result<(), Error> {
        self.step()?;
        let Some(tree) = self.execution.lookup(&invocation.name) else {
            return Err(self.fail(format!("template {} not defined", quote::quote(&invocation.name))));
        };
        let deepest = self.execution.options.limits.depth;
        if self.execution.depth >= deepest {
            return Err(self.fail(format!("exceeded maximum template depth ({deepest})")));
        }
        let dot = match &invocation.pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Slot::INVALID,
        };
        let base = self.mark();
        self.push(0, dot.clone());
        self.execution.depth += 1;
        Frame::new(self.execution, self.functions, &tree, base).run(&dot)?;
        self.execution.depth -= 1;
        self.pop(base);
        Ok(())
    }

    pub(super) fn mark(&self) -> usize {
        self.execution.variables.len()
    }

    pub(super) fn pop(&mut self, mark: usize) {
        self.execution.variables.truncate(mark);
    }

    #[inline]
    pub(super) fn push(&mut self, name: u32, value: Slot) {
        self.execution.variables.push((name, value));
    }

    /// The variable declared last under that name.
    #[inline]
    pub(super) fn variable(&mut self, name: u32) -> Result<&mut Slot, Error> {
        let place = self.place(name)?;
        Ok(&mut self.execution.variables[place].1)
    }

    /// The same for one that is found with a few looks.
    #[inline]
    pub(super) fn near(&self, name: u32) -> Option<&Slot> {
        let variables = &self.execution.variables[self.base..];
        let few = &variables[variables.len().saturating_sub(FEW_VARIABLES)..];
        few.iter().rfind(|(known, _)| *known == name).map(|(_, slot)| slot)
    }

    /// Where that variable stands.
    #[inline]
    pub(super) fn place(&mut self, name: u32) -> Result<usize, Error> {
        let variables = &self.execution.variables[self.base..];
        let Some(found) = variables.iter().rposition(|(known, _)| *known == name) else {
            return Err(self.fail(format!("undefined variable: {}", self.tree.variables[name as usize])));
        };
        let passed = variables.len() - found;
        if passed > FEW_VARIABLES {
            let ledger = &mut self.execution.ledger;
            ledger.steps_left = ledger.steps_left.saturating_sub((passed / FEW_VARIABLES) as u64);
        }
        Ok(self.base + found)
    }

    #[inline]
    pub(super) fn step(&mut self) -> Result<(), Error> {
        if self.execution.ledger.steps_left > 0 {
            self.execution.ledger.steps_left -= 1;
            return Ok(());
        }
        Err(self.fail(format!("took more than {} steps", self.execution.options.limits.steps)))
    }

    #[inline]
    fn check_output(&mut self) -> Result<(), Error> {
        let limit = self.execution.options.limits.output_bytes;
        if self.execution.out.len() <= limit {
            return Ok(());
        }
        Err(self.fail(format!("output is larger than the limit of {limit} bytes")))
    }

    /// An error at the present part of the template.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&self, problem: String) -> Error {
        self.fail_with(problem, None)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn fail_with(&self, problem: String, cause: Option<Error>) -> Error {
        let position = self.at.position() as usize;
        let before = &self.tree.text[..position.min(self.tree.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = before.iter().rposition(|byte| *byte == b'\n').map_or(position, |newline| position - newline - 1);
        let (file, template) = (self.tree.file.to_string(), self.tree.name.to_string());
        let node = print_part(self.tree, self.at);
        let name = quote::quote(&self.tree.name);
        let text = format!("template: {file}:{line}:{column}: executing {name} at <{node}>: {problem}");
        Error::Execute(Box::new(Spot { text, file, template, line, column: Some(column), node, problem, cause }))
    }
}
