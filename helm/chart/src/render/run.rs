//! One rendering of a chart: what its functions count and remember.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use switchboard_object::Value as Json;
use switchboard_template::{Error, Set, Str};

use super::functions::layer;

/// How often one template may be included within itself, as in Helm.
pub const MAX_INCLUDES: u32 = 1_000;
/// How many texts given to `tpl` are kept parsed.
const MAX_PARSED: usize = 8_192;
/// How long a text may be to be kept.
const MAX_PARSED_BYTES: usize = 64 * 1024;

/// Where `lookup` looks: a cluster, a cache, a test's objects.
pub trait View: Send + Sync {
    /// The object of that name, or, without a name, the list of all; nothing where there is none.
    ///
    /// # Errors
    /// When nobody could be asked; the text stands in the error of the template.
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Json>, String>;
}

/// Templates that were given to `tpl`, parsed once for all renderings of a chart.
#[derive(Debug, Default)]
pub struct Parsed(RwLock<HashMap<Str, Arc<Set>>>);

impl Parsed {
    fn get(&self, text: &Str) -> Option<Arc<Set>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
    }

    fn keep(&self, text: &Str, set: &Arc<Set>) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if text.len() <= MAX_PARSED_BYTES {
            if kept.len() >= MAX_PARSED {
                kept.clear();
            }
            kept.insert(text.clone(), set.clone());
        }
    }
}

/// The state of one rendering.
pub struct Run {
    /// Whether missing values are let pass.
    pub lint: bool,
    /// What `lookup` asks.
    pub view: Option<Arc<dyn View>>,
    /// The templates of the chart itself.
    base: Arc<Set>,
    parsed: Arc<Parsed>,
    included: RefCell<HashMap<Str, u32>>,
    in_tpl: Cell<u32>,
}

impl Run {
    /// A rendering of the chart with these templates.
    pub fn new(base: Arc<Set>, parsed: Arc<Parsed>, view: Option<Arc<dyn View>>, lint: bool) -> Self {
        Self { lint, view, base, parsed, included: RefCell::default(), in_tpl: Cell::new(0) }
    }

    /// Counts an include; false when it is one too many.
    pub fn enter(&self, name: &Str) -> bool {
        let mut included = self.included.borrow_mut();
        let count = included.entry(name.clone()).or_insert(0);
        if *count > MAX_INCLUDES {
            return false;
        }
        *count += 1;
        true
    }

    /// The include is done.
    pub fn leave(&self, name: &Str) {
        if let Some(count) = self.included.borrow_mut().get_mut(name) {
            *count -= 1;
        }
    }

    /// Counts a `tpl` within others; false when it is one too many. Helm has no such bound: it dies of its stack.
    pub fn enter_tpl(&self) -> bool {
        let allowed = self.in_tpl.get() < MAX_INCLUDES;
        self.in_tpl.set(self.in_tpl.get() + u32::from(allowed));
        allowed
    }

    /// The `tpl` is done.
    pub fn leave_tpl(&self) {
        self.in_tpl.set(self.in_tpl.get() - 1);
    }

    /// A text given to `tpl`, parsed; what is parsed over the chart's own templates is kept.
    ///
    /// # Errors
    /// When it is no template.
    pub fn template(&self, below: &Arc<Set>, text: &Str) -> Result<Arc<Set>, Error> {
        if !Arc::ptr_eq(below, &self.base) {
            return layer(below, text);
        }
        if let Some(set) = self.parsed.get(text) {
            return Ok(set);
        }
        let set = layer(below, text)?;
        self.parsed.keep(text, &set);
        Ok(set)
    }
}
