//! One run of a template.

mod call;
mod eval;
mod field;
mod frame;
pub(crate) mod ledger;
mod range;
mod slot;
pub(crate) mod whole;

use std::sync::Arc;

use crate::error::Error;
use crate::format::quote;
use crate::options::Options;
use crate::parse::Tree;
use crate::set::Set;
use crate::stack;
use crate::value::{Str, Value};
use frame::Frame;
use ledger::Ledger;
pub(crate) use slot::Slot;

/// Executions within executions. Helm's `include` lets a template be in itself a thousand times; errors of all levels
/// contain those below, so it cannot be much more.
const MAX_RENDERS: usize = 10_000;
/// How many templates that were looked up are remembered.
const RECENT: usize = 16;

/// A running execution: what functions and methods get to call back and to account for their work.
pub struct Execution<'a> {
    set: Arc<Set>,
    options: Options<'a>,
    out: Vec<u8>,
    variables: Vec<(u32, Slot)>,
    /// Templates within templates; Go counts anew for each execution within one, and memory is the same.
    depth: usize,
    /// Executions within this one.
    renders: usize,
    /// Actions and parentheses within each other, of all templates that run.
    nesting: usize,
    ledger: Ledger,
    /// The key that was missed last, for the error when nothing stands in for it.
    missed: Option<Str>,
    /// Argument lists that wait to be used again.
    spare_slots: Vec<Vec<Slot>>,
    spare_values: Vec<Vec<Value>>,
    recent: [Option<Found>; RECENT],
}

/// A template that was looked up, and the set it was looked up in.
type Found = (Arc<Set>, Arc<Tree>);

impl<'a> Execution<'a> {
    pub(crate) fn new(set: &Arc<Set>, options: Options<'a>, ledger: Ledger, out: Vec<u8>) -> Execution<'a> {
        Execution {
            set: set.clone(),
            options,
            out,
            variables: Vec::new(),
            depth: 0,
            renders: 0,
            nesting: 0,
            ledger,
            missed: None,
            spare_slots: Vec::new(),
            spare_values: Vec::new(),
            recent: Default::default(),
        }
    }

    /// The template of that name, if there is one. Those that were called a moment ago are called again more often than not.
    #[inline]
    fn lookup(&mut self, name: &[u8]) -> Option<Arc<Tree>> {
        let place = (name.len() + usize::from(name.last().copied().unwrap_or_default())) % RECENT;
        match &self.recent[place] {
            // Sets do not change while they are held.
            Some((set, tree)) if Arc::ptr_eq(set, &self.set) && tree.name.as_bytes() == name => Some(tree.clone()),
            _ => {
                let tree = self.set.lookup(name)?;
                self.recent[place] = Some((self.set.clone(), tree.clone()));
                Some(tree)
            }
        }
    }

    /// What was written, and what is left.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Ledger) {
        (self.out, self.ledger)
    }

    /// Executes a template of the running set and adds what it writes to the output, partly if it fails.
    pub(crate) fn run(&mut self, name: &[u8], data: &Value) -> Result<(), Error> {
        let Some(tree) = self.lookup(name) else {
            let (name, set) = (quote::quote(name), quote::quote(self.set.name()));
            return Err(Error::call(format!("template: no template {name} associated with template {set}")));
        };
        let base = self.variables.len();
        let dot = Slot::concrete(data.clone());
        self.variables.push((0, dot.clone()));
        let functions = self.set.functions().clone();
        let depth = self.depth;
        let outcome = stack::grow(|| Frame::new(self, &functions, &tree, base).run(&dot));
        // What failed left its own depth behind, and a function may go on after it.
        self.depth = depth;
        self.variables.truncate(base);
        outcome
    }

    /// Lets `write` write behind the output, and takes away what it wrote.
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

    /// The output, and how long it may become.
    pub(crate) fn output(&mut self) -> (&mut Vec<u8>, usize) {
        let limit = self.options.limits.output_bytes;
        (&mut self.out, limit)
    }

    /// Executes a template of the running set, as Helm's `include` does, and gives what it wrote.
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

    /// Executes a template of another set, as Helm's `tpl` does with a layer over the running one.
    pub fn render_in(&mut self, set: &Arc<Set>, name: impl AsRef<[u8]>, data: &Value) -> Result<Str, Error> {
        let outer = std::mem::replace(&mut self.set, set.clone());
        let outcome = self.render(name, data);
        self.set = outer;
        outcome
    }

    /// The set whose templates run.
    pub fn set(&self) -> &Arc<Set> {
        &self.set
    }

    /// The host of that type which the execution was given.
    pub fn host<T: 'static>(&self) -> Option<&'a T> {
        self.options.hosts.iter().find_map(|host| host.downcast_ref())
    }

    /// How the template is executed.
    pub fn options(&self) -> Options<'a> {
        self.options
    }

    /// Takes steps from the budget, for functions whose work grows with a number they were given.
    pub fn charge(&mut self, steps: u64) -> Result<(), Error> {
        match self.ledger.steps_left.checked_sub(steps) {
            Some(left) => self.ledger.steps_left = left,
            None => return Err(Error::call(format!("took more than {} steps", self.options.limits.steps))),
        }
        Ok(())
    }

    /// Accounts for a result of that size before it is made: it may not be larger than the output may be.
    pub fn charge_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        let limit = self.options.limits.output_bytes;
        if bytes > limit {
            return Err(Error::call(format!("result of {bytes} bytes is larger than the limit of {limit}")));
        }
        self.charge(bytes as u64 / 64)
    }

    /// Accounts for memory that a function took beside its result, which is accounted for itself: all functions together
    /// may take only so much.
    pub fn charge_memory(&mut self, bytes: usize) -> Result<(), Error> {
        match self.ledger.bytes_left.checked_sub(bytes as u64) {
            Some(left) => self.ledger.bytes_left = left,
            None => {
                let total = ledger::total_bytes(&self.options.limits);
                return Err(Error::call(format!("made more than {total} bytes of texts and lists")));
            }
        }
        Ok(())
    }

    /// Accounts for a list of so many elements before it is made.
    pub(crate) fn charge_list(&mut self, count: u64) -> Result<(), Error> {
        self.charge_bytes(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(size_of::<Value>()))
    }

    pub(crate) fn steps_left(&self) -> u64 {
        self.ledger.steps_left
    }

    pub(crate) fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}
