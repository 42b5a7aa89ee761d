//! Execution of one template: walks its nodes and adds positions to errors.

use switchboard_object::quote;

use super::{Execution, ReflectValue};
use crate::error::{Error, ErrorDetails};
use crate::format;
use crate::function::Functions;
use crate::parse::{BranchNode, ParseNode, TemplateNode, Tree, TreePart, print_part};
use crate::stack;
use crate::value::{ReflectKind, Value};

/// Number of variables that are searched for the cost of one step.
const FEW_VARIABLES: usize = 32;

/// A running template and its current node, which errors report.
pub(super) struct ExecFrame<'e, 'a, 't> {
    pub(super) execution: &'e mut Execution<'a>,
    pub(super) functions: &'t Functions,
    pub(super) tree: &'t Tree,
    /// Index of this template's first variable. A template cannot see its caller's variables.
    base: usize,
    pub(super) at: TreePart<'t>,
}

/// Outcome of executing a list of nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
}

impl<'e, 'a, 't> ExecFrame<'e, 'a, 't> {
    pub(super) fn new(
        execution: &'e mut Execution<'a>,
        functions: &'t Functions,
        tree: &'t Tree,
        base: usize,
    ) -> ExecFrame<'e, 'a, 't> {
        ExecFrame { execution, functions, tree, base, at: TreePart::List(&tree.root) }
    }

    pub(super) fn run(mut self, dot: &ReflectValue) -> Result<(), Error> {
        self.walk(dot, &self.tree.root).map(|_| ())
    }

    pub(super) fn walk(&mut self, dot: &ReflectValue, list: &'t [ParseNode]) -> Result<Flow, Error> {
        for node in list {
            match node {
                ParseNode::Text(range) => {
                    let text = &self.tree.text[range.start as usize..range.end as usize];
                    self.execution.out.extend_from_slice(text);
                    self.check_output()?;
                }
                ParseNode::Action(action) => {
                    self.step()?;
                    if action.pipe.declared.is_empty() {
                        let value = self.commands(dot, &action.pipe)?;
                        self.at = TreePart::Node(node);
                        self.print(value)?;
                    } else {
                        self.declaration(dot, &action.pipe)?;
                    }
                }
                ParseNode::If(branch) => {
                    let flow = self.nested(|frame| frame.branch(dot, branch, false))?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                ParseNode::With(branch) => {
                    let flow = self.nested(|frame| frame.branch(dot, branch, true))?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                ParseNode::Range(branch) => {
                    self.at = TreePart::Node(node);
                    let flow = self.nested(|frame| frame.range(dot, branch))?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                ParseNode::Template(invocation) => {
                    self.at = TreePart::Node(node);
                    self.nested(|frame| frame.template(dot, invocation))?;
                }
                ParseNode::Break => return Ok(Flow::Break),
                ParseNode::Continue => return Ok(Flow::Continue),
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a nested step and grows the stack if needed. The levels of all templates are counted together, because a
    /// template that includes itself may nest as deeply in each call as the parser allows.
    #[inline]
    pub(super) fn nested<T>(
        &mut self,
        step: impl FnOnce(&mut ExecFrame<'e, 'a, 't>) -> Result<T, Error>,
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

    fn print(&mut self, slot: ReflectValue) -> Result<(), Error> {
        if matches!(slot.value, Value::Nil) && self.is_strict() {
            return Err(self.no_value());
        }
        let (out, limit) = self.execution.output();
        match &slot.value {
            Value::Nil => out.extend_from_slice(b"<no value>"),
            Value::String(text) => out.extend_from_slice(text),
            value @ (Value::Func(_) | Value::Object(_)) if value.kind() == ReflectKind::Func => {
                let node = print_part(self.tree, self.at);
                return Err(self.fail(format!("can't print {node} of type {}", slot.type_name())));
            }
            value => format::append(out, value, limit).map_err(|refusal| self.fail(refusal.message(limit)))?,
        }
        self.check_output()
    }

    /// Executes `if`, and `with`, which sets dot.
    fn branch(&mut self, dot: &ReflectValue, branch: &'t BranchNode, sets_dot: bool) -> Result<Flow, Error> {
        self.step()?;
        let mark = self.mark();
        if !sets_dot && let Some(is_true) = self.truth(dot, &branch.pipe) {
            let chosen = if is_true { Some(&branch.list) } else { branch.else_list.as_ref() };
            let flow = chosen.map_or(Ok(Flow::Next), |list| self.walk(dot, list))?;
            self.pop(mark);
            return Ok(flow);
        }
        let value = self.pipeline(dot, &branch.pipe)?;
        let flow = match (value.value.is_true(), &branch.else_list) {
            (true, _) if sets_dot => self.walk(&value, &branch.list)?,
            (true, _) => self.walk(dot, &branch.list)?,
            (false, Some(else_list)) => self.walk(dot, else_list)?,
            (false, None) => Flow::Next,
        };
        self.pop(mark);
        Ok(flow)
    }

    fn template(&mut self, dot: &ReflectValue, invocation: &'t TemplateNode) -> Result<(), Error> {
        self.step()?;
        let Some(tree) = self.execution.lookup(&invocation.name) else {
            return Err(self.fail(format!("template {} not defined", quote::quote_bytes(&invocation.name))));
        };
        let deepest = self.execution.options.limits.depth;
        if self.execution.depth >= deepest {
            return Err(self.fail(format!("exceeded maximum template depth ({deepest})")));
        }
        let dot = match &invocation.pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => ReflectValue::INVALID,
        };
        let base = self.mark();
        self.push(0, dot.clone());
        self.execution.depth += 1;
        ExecFrame::new(self.execution, self.functions, &tree, base).run(&dot)?;
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
    pub(super) fn push(&mut self, name: u32, value: ReflectValue) {
        self.execution.variables.push((name, value));
    }

    /// Returns the most recently declared variable of that name.
    #[inline]
    pub(super) fn variable(&mut self, name: u32) -> Result<&mut ReflectValue, Error> {
        let place = self.variable_index(name)?;
        Ok(&mut self.execution.variables[place].1)
    }

    /// Returns the most recently declared variable of that name if it is among the last few.
    #[inline]
    pub(super) fn nearby_variable(&self, name: u32) -> Option<&ReflectValue> {
        let variables = &self.execution.variables[self.base..];
        let few = &variables[variables.len().saturating_sub(FEW_VARIABLES)..];
        few.iter().rfind(|(known, _)| *known == name).map(|(_, slot)| slot)
    }

    /// Returns the index of that variable.
    #[inline]
    pub(super) fn variable_index(&mut self, name: u32) -> Result<usize, Error> {
        let variables = &self.execution.variables[self.base..];
        let Some(found) = variables.iter().rposition(|(known, _)| *known == name) else {
            return Err(self.fail(format!("undefined variable: {}", self.tree.variables[name as usize])));
        };
        let passed = variables.len() - found;
        if passed > FEW_VARIABLES {
            let budget = &mut self.execution.budget;
            budget.steps_left = budget.steps_left.saturating_sub((passed / FEW_VARIABLES) as u64);
        }
        Ok(self.base + found)
    }

    #[inline]
    pub(super) fn step(&mut self) -> Result<(), Error> {
        if self.execution.budget.steps_left > 0 {
            self.execution.budget.steps_left -= 1;
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

    /// Creates an error at the current node.
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
        let name = quote::quote_bytes(&self.tree.name);
        let text = format!("template: {file}:{line}:{column}: executing {name} at <{node}>: {problem}");
        Error::Execute(Box::new(ErrorDetails {
            text,
            file,
            template,
            line,
            column: Some(column),
            node,
            problem,
            cause,
        }))
    }
}
