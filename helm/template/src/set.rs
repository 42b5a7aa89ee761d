//! Templates that know each other, parsed once and executed by many threads.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Error;
use crate::exec::Execution;
use crate::exec::ledger::Ledger;
use crate::function::Functions;
use crate::options::Options;
use crate::parse::{self, Delimiters, Tree};
use crate::value::{Str, Value, free_cycles};

/// A set of templates by name, with the functions they call.
///
/// ```
/// use std::sync::Arc;
/// use switchboard_template::{Functions, Options, Set, Value};
///
/// let mut set = Set::new("greeting", Arc::new(Functions::new()));
/// set.parse("greeting", "Hello, {{ .name }}!")?;
/// let text = Arc::new(set).render("greeting", &Value::map([("name", "you".into())]), &Options::default())?;
/// assert_eq!(text, b"Hello, you!");
/// # Ok::<(), switchboard_template::Error>(())
/// ```
#[derive(Debug)]
pub struct Set {
    name: Str,
    functions: Arc<Functions>,
    delimiters: Delimiters,
    trees: HashMap<Str, Arc<Tree>>,
    below: Option<Arc<Set>>,
}

impl Set {
    /// An empty set; its name stands in the error for a template it does not have.
    pub fn new(name: impl AsRef<[u8]>, functions: Arc<Functions>) -> Set {
        let delimiters = Delimiters::new("", "");
        Set { name: Str::new(name), functions, delimiters, trees: HashMap::new(), below: None }
    }

    /// An empty set over another one: it sees the templates below, and hides those it has itself.
    pub fn layer(below: &Arc<Set>) -> Set {
        Set {
            name: below.name.clone(),
            functions: below.functions.clone(),
            delimiters: below.delimiters.clone(),
            trees: HashMap::new(),
            below: Some(below.clone()),
        }
    }

    /// What begins and ends an action in texts parsed from now on; an empty one is `{{` or `}}`.
    pub fn set_delimiters(&mut self, left: &str, right: &str) {
        self.delimiters = Delimiters::new(left, right);
    }

    /// Parses a text as the template of that name, and all it defines. A template that is there already is replaced,
    /// unless the new one is empty; a text with an error changes nothing.
    pub fn parse(&mut self, name: impl AsRef<[u8]>, text: impl AsRef<[u8]>) -> Result<(), Error> {
        self.add(Str::new(name), text.as_ref(), false)
    }

    /// Like [`Set::parse`], but the template of that name becomes this text even if it is empty: what Go executes when it
    /// is told `New(name).Parse(text)` and then `Execute`, as Helm's `tpl` does.
    pub fn parse_new(&mut self, name: impl AsRef<[u8]>, text: impl AsRef<[u8]>) -> Result<(), Error> {
        self.add(Str::new(name), text.as_ref(), true)
    }

    fn add(&mut self, name: Str, text: &[u8], new: bool) -> Result<(), Error> {
        let trees = parse::parse(&name, text, &self.delimiters, &self.functions)?;
        for tree in trees {
            let own = new && tree.name == name;
            if !own && self.contains(&tree.name) && parse::is_empty(&tree.root, &tree.text) {
                continue;
            }
            self.trees.insert(tree.name.clone(), Arc::new(tree));
        }
        Ok(())
    }

    /// Whether there is a template of that name.
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.lookup(name.as_ref()).is_some()
    }

    /// The names of all templates, sorted.
    pub fn names(&self) -> Vec<Str> {
        let mut names = self.below.as_ref().map(|below| below.names()).unwrap_or_default();
        names.extend(self.trees.keys().cloned());
        names.sort();
        names.dedup();
        names
    }

    /// Its own name.
    pub fn name(&self) -> &Str {
        &self.name
    }

    /// The functions its templates call.
    pub fn functions(&self) -> &Arc<Functions> {
        &self.functions
    }

    /// Executes a template and adds what it writes to `out`, which has a part of it if it fails.
    pub fn execute(
        self: &Arc<Set>,
        name: impl AsRef<[u8]>,
        data: &Value,
        options: &Options<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let outcome = self.execute_on(&mut Ledger::new(&options.limits), name.as_ref(), data, options, out);
        free_cycles();
        outcome
    }

    fn execute_on(
        self: &Arc<Set>,
        ledger: &mut Ledger,
        name: &[u8],
        data: &Value,
        options: &Options<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let lent = std::mem::replace(ledger, Ledger::spent());
        let mut execution = Execution::new(self, *options, lent, std::mem::take(out));
        let outcome = execution.run(name, data);
        (*out, *ledger) = execution.into_parts();
        outcome
    }

    /// Executes a template and gives what it writes.
    pub fn render(
        self: &Arc<Set>,
        name: impl AsRef<[u8]>,
        data: &Value,
        options: &Options<'_>,
    ) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.execute(name, data, options, &mut out).map(|()| out)
    }

    /// Like [`Set::render`], with what others left of their means. Whoever is done with them calls [`free_cycles`].
    pub fn render_on(
        self: &Arc<Set>,
        ledger: &mut Ledger,
        name: impl AsRef<[u8]>,
        data: &Value,
        options: &Options<'_>,
    ) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.execute_on(ledger, name.as_ref(), data, options, &mut out).map(|()| out)
    }

    pub(crate) fn lookup(&self, name: &[u8]) -> Option<Arc<Tree>> {
        let mut set = self;
        loop {
            if let Some(tree) = set.trees.get(name) {
                return Some(tree.clone());
            }
            set = set.below.as_deref()?;
        }
    }
}
