//! Execution of a template.

pub(crate) mod budget;
mod call;
pub(crate) mod cost;
mod eval;
mod field;
mod frame;
mod range;
mod reflect;

use std::sync::Arc;

use switchboard_object::quote;

use crate::error::Error;
use crate::options::ExecutionOptions;
use crate::parse::Tree;
use crate::set::TemplateSet;
use crate::stack;
use crate::value::{Str, Value};
use budget::ExecutionBudget;
use frame::ExecFrame;
pub(crate) use reflect::ReflectValue;

/// Maximum number of nested executions. Helm's `include` allows a template to include itself a thousand times. The
/// error of each level contains the errors below it, so the limit cannot be much higher.
const MAX_RENDERS: usize = 10_000;
/// Number of recently called templates that are cached.
const MAX_RECENT_TEMPLATES: usize = 16;

/// A running execution. Functions and methods use it to call back and to charge their work.
pub struct Execution<'a> {
    set: Arc<TemplateSet>,
    options: ExecutionOptions<'a>,
    out: Vec<u8>,
    variables: Vec<(u32, ReflectValue)>,
    /// Nesting depth of templates. Go starts again at zero for a nested execution; this count does not, because memory
    /// is shared.
    depth: usize,
    /// Nesting depth of executions.
    renders: usize,
    /// Nesting depth of actions and parentheses, over all running templates.
    nesting: usize,
    budget: ExecutionBudget,
    /// Key that was missing most recently, for the error if no function replaces the value.
    missing_key: Option<Str>,
    /// Argument lists kept for reuse.
    spare_slots: Vec<Vec<ReflectValue>>,
    spare_values: Vec<Vec<Value>>,
    recent: [Option<CachedTemplate>; MAX_RECENT_TEMPLATES],
}

/// A template and the set it was found in.
type CachedTemplate = (Arc<TemplateSet>, Arc<Tree>);

impl<'a> Execution<'a> {
    pub(crate) fn new(
        set: &Arc<TemplateSet>,
        options: ExecutionOptions<'a>,
        budget: ExecutionBudget,
        out: Vec<u8>,
    ) -> Execution<'a> {
        Execution {
            set: set.clone(),
            options,
            out,
            variables: Vec::new(),
            depth: 0,
            renders: 0,
            nesting: 0,
            budget,
            missing_key: None,
            spare_slots: Vec::new(),
            spare_values: Vec::new(),
            recent: Default::default(),
        }
    }

    /// Returns the template with that name. Recently called templates are cached, because templates call the same few.
    #[inline]
    fn lookup(&mut self, name: &[u8]) -> Option<Arc<Tree>> {
        let place = (name.len() + usize::from(name.last().copied().unwrap_or_default())) % MAX_RECENT_TEMPLATES;
        match &self.recent[place] {
            // A set cannot change while the execution holds it.
            Some((set, tree)) if Arc::ptr_eq(set, &self.set) && tree.name.as_bytes() == name => Some(tree.clone()),
            _ => {
                let tree = self.set.lookup(name)?;
                self.recent[place] = Some((self.set.clone(), tree.clone()));
                Some(tree)
            }
        }
    }

    /// Returns the output and the remaining budget.
    pub(crate) fn into_parts(self) -> (Vec<u8>, ExecutionBudget) {
        (self.out, self.budget)
    }

    /// Executes a template of the current set and appends its output, or a part of it if the template fails.
    pub(crate) fn run(&mut self, name: &[u8], data: &Value) -> Result<(), Error> {
        let Some(tree) = self.lookup(name) else {
            let (name, set) = (quote::quote_bytes(name), quote::quote_bytes(self.set.name()));
            return Err(Error::call(format!("template: no template {name} associated with template {set}")));
        };
        let base = self.variables.len();
        let dot = ReflectValue::concrete(data.clone());
        self.variables.push((0, dot.clone()));
        let functions = self.set.functions().clone();
        let depth = self.depth;
        let outcome = stack::grow(|| ExecFrame::new(self, &functions, &tree, base).run(&dot));
        // A failed template leaves its depth behind, and the calling function may continue.
        self.depth = depth;
        self.variables.truncate(base);
        outcome
    }

    /// Calls `write` to append to the output, then removes and returns the appended part.
    pub(crate) fn capture(
        &mut self,
        write: impl FnOnce(&mut Execution<'a>) -> Result<(), Error>,
    ) -> Result<Str, Error> {
        let start = self.out.len();
        let outcome = write(self);
        let text = Str::new(&self.out[start..]);
        self.out.truncate(start);
        outcome.map(|()| text)
    }

    /// Returns the output and its maximum length.
    pub(crate) fn output(&mut self) -> (&mut Vec<u8>, usize) {
        let limit = self.options.limits.output_bytes;
        (&mut self.out, limit)
    }

    /// Executes a template of the current set and returns its output, like Helm's `include`.
    pub fn render(&mut self, name: impl AsRef<[u8]>, data: &Value) -> Result<Str, Error> {
        let deepest = MAX_RENDERS.min(self.options.limits.depth);
        if self.renders >= deepest {
            return Err(Error::call(format!("exceeded maximum template depth ({deepest})")));
        }
        self.renders += 1;
        let text = self.capture(|execution| execution.run(name.as_ref(), data));
        self.renders -= 1;
        text
    }

    /// Executes a template of another set, as Helm's `tpl` does with a layer over the current set.
    pub fn render_in(&mut self, set: &Arc<TemplateSet>, name: impl AsRef<[u8]>, data: &Value) -> Result<Str, Error> {
        let outer = std::mem::replace(&mut self.set, set.clone());
        let outcome = self.render(name, data);
        self.set = outer;
        outcome
    }

    /// Returns the set whose templates are running.
    pub fn set(&self) -> &Arc<TemplateSet> {
        &self.set
    }

    /// Returns the host of type `T` from the execution's options.
    pub fn host<T: 'static>(&self) -> Option<&'a T> {
        self.options.hosts.iter().find_map(|host| host.downcast_ref())
    }

    /// Returns the options of this execution.
    pub fn options(&self) -> ExecutionOptions<'a> {
        self.options
    }

    /// Takes steps from the budget. Functions call it if their work grows with a number from the template.
    pub fn charge(&mut self, steps: u64) -> Result<(), Error> {
        match self.budget.steps_left.checked_sub(steps) {
            Some(left) => self.budget.steps_left = left,
            None => return Err(Error::call(format!("took more than {} steps", self.options.limits.steps))),
        }
        Ok(())
    }

    /// Charges for a result of that size before it is created. It must not exceed the output limit.
    pub fn charge_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        let limit = self.options.limits.output_bytes;
        if bytes > limit {
            return Err(Error::call(format!("result of {bytes} bytes is larger than the limit of {limit}")));
        }
        self.charge(bytes as u64 / 64)
    }

    /// Charges for memory that a function uses besides its result, which is charged separately. All functions of an
    /// execution share one limit.
    pub fn charge_memory(&mut self, bytes: usize) -> Result<(), Error> {
        match self.budget.bytes_left.checked_sub(bytes as u64) {
            Some(left) => self.budget.bytes_left = left,
            None => {
                let total = budget::total_bytes(&self.options.limits);
                return Err(Error::call(format!("created more than {total} bytes of texts and lists")));
            }
        }
        Ok(())
    }

    /// Charges for a list of `count` elements before it is created.
    pub(crate) fn charge_list(&mut self, count: u64) -> Result<(), Error> {
        self.charge_bytes(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(size_of::<Value>()))
    }

    pub(crate) fn steps_left(&self) -> u64 {
        self.budget.steps_left
    }

    pub(crate) fn budget(&mut self) -> &mut ExecutionBudget {
        &mut self.budget
    }
}
