//! Sets of templates that call each other, parsed once and executed by many threads.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Error;
use crate::exec::Execution;
use crate::exec::budget::ExecutionBudget;
use crate::function::Functions;
use crate::options::ExecutionOptions;
use crate::parse::{self, Delimiters, Tree};
use crate::value::{Str, Value, free_cycles};

/// A set of templates by name, with the functions they call.
///
/// ```
/// use std::sync::Arc;
/// use switchboard_template::{ExecutionOptions, Functions, TemplateSet, Value};
///
/// let mut set = TemplateSet::new("greeting", Arc::new(Functions::new()));
/// set.parse("greeting", "Hello, {{ .name }}!")?;
/// let data = Value::map([("name", "you".into())]);
/// let text = Arc::new(set).render("greeting", &data, &ExecutionOptions::default())?;
/// assert_eq!(text, b"Hello, you!");
/// # Ok::<(), switchboard_template::Error>(())
/// ```
#[derive(Debug)]
pub struct TemplateSet {
    name: Str,
    functions: Arc<Functions>,
    delimiters: Delimiters,
    trees: HashMap<Str, Arc<Tree>>,
    below: Option<Arc<TemplateSet>>,
}

impl TemplateSet {
    /// Creates an empty set. The error for a missing template contains the set's name.
    pub fn new(name: impl AsRef<[u8]>, functions: Arc<Functions>) -> TemplateSet {
        let delimiters = Delimiters::new("", "");
        TemplateSet { name: Str::new(name), functions, delimiters, trees: HashMap::new(), below: None }
    }

    /// Creates an empty set on top of another one. Its templates hide those of the same name below.
    pub fn layer(below: &Arc<TemplateSet>) -> TemplateSet {
        TemplateSet {
            name: below.name.clone(),
            functions: below.functions.clone(),
            delimiters: below.delimiters.clone(),
            trees: HashMap::new(),
            below: Some(below.clone()),
        }
    }

    /// Sets the delimiters of actions for texts parsed from now on. An empty text selects `{{` or `}}`.
    pub fn set_delimiters(&mut self, left: &str, right: &str) {
        self.delimiters = Delimiters::new(left, right);
    }

    /// Parses a text as the template of that name, including all templates it defines. Replaces an existing template
    /// unless the new one is empty. On an error the set stays unchanged.
    pub fn parse(&mut self, name: impl AsRef<[u8]>, text: impl AsRef<[u8]>) -> Result<(), Error> {
        self.add(Str::new(name), text.as_ref(), false)
    }

    /// Parses like [`TemplateSet::parse`], but uses the text for the template of that name even if it is empty. Go does
    /// this for `New(name).Parse(text)` followed by `Execute`, as in Helm's `tpl`.
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

    /// Whether the set has a template of that name.
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.lookup(name.as_ref()).is_some()
    }

    /// Returns the names of all templates, sorted.
    pub fn names(&self) -> Vec<Str> {
        let mut names = self.below.as_ref().map(|below| below.names()).unwrap_or_default();
        names.extend(self.trees.keys().cloned());
        names.sort();
        names.dedup();
        names
    }

    /// Returns the name of the set.
    pub fn name(&self) -> &Str {
        &self.name
    }

    /// Returns the functions that the templates call.
    pub fn functions(&self) -> &Arc<Functions> {
        &self.functions
    }

    /// Executes a template and appends its output to `out`, or a part of it if the template fails.
    pub fn execute(
        self: &Arc<TemplateSet>,
        name: impl AsRef<[u8]>,
        data: &Value,
        options: &ExecutionOptions<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let outcome =
            self.execute_with_budget(&mut ExecutionBudget::new(&options.limits), name.as_ref(), data, options, out);
        free_cycles();
        outcome
    }

    fn execute_with_budget(
        self: &Arc<TemplateSet>,
        budget: &mut ExecutionBudget,
        name: &[u8],
        data: &Value,
        options: &ExecutionOptions<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let lent = std::mem::replace(budget, ExecutionBudget::empty());
        let mut execution = Execution::new(self, *options, lent, std::mem::take(out));
        let outcome = execution.run(name, data);
        (*out, *budget) = execution.into_parts();
        outcome
    }

    /// Executes a template and returns its output.
    pub fn render(
        self: &Arc<TemplateSet>,
        name: impl AsRef<[u8]>,
        data: &Value,
        options: &ExecutionOptions<'_>,
    ) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.execute(name, data, options, &mut out).map(|()| out)
    }

    /// Renders like [`TemplateSet::render`] with a shared budget. The caller must call [`free_cycles`] after the last
    /// use of the values.
    pub fn render_with_budget(
        self: &Arc<TemplateSet>,
        budget: &mut ExecutionBudget,
        name: impl AsRef<[u8]>,
        data: &Value,
        options: &ExecutionOptions<'_>,
    ) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.execute_with_budget(budget, name.as_ref(), data, options, &mut out).map(|()| out)
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
