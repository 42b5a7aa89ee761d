//! State of one rendering: counters and caches of its functions.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use switchboard_object::Value as Json;
use switchboard_template::{Error, Str, TemplateSet};

use super::functions::layer;

/// Maximum depth at which a template may include itself, as in Helm.
pub const MAX_INCLUDES: u32 = 1_000;
/// Number of parsed texts of `tpl` that are cached.
const MAX_PARSED: usize = 8_192;
/// Maximum length of a cached text.
const MAX_PARSED_BYTES: usize = 64 * 1024;

/// Source of objects for `lookup`: a cluster, a cache, or objects of a test.
pub trait ClusterLookup: Send + Sync {
    /// Returns the object of that name or, without a name, the list of all; `None` if there is none.
    ///
    /// # Errors
    /// If the source is not available. The template's error contains the text.
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Option<Json>, String>;
}

/// Cache of parsed texts of `tpl`, shared by all renderings of a chart.
#[derive(Debug, Default)]
pub struct TplCache(RwLock<HashMap<Str, Arc<TemplateSet>>>);

impl TplCache {
    fn get(&self, text: &Str) -> Option<Arc<TemplateSet>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(text).cloned()
    }

    fn insert(&self, text: &Str, set: &Arc<TemplateSet>) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if text.len() <= MAX_PARSED_BYTES {
            if kept.len() >= MAX_PARSED {
                kept.clear();
            }
            kept.insert(text.clone(), set.clone());
        }
    }
}

/// State of one rendering.
pub struct RenderState {
    /// Whether missing values are tolerated.
    pub lint: bool,
    /// Source of objects for `lookup`.
    pub lookup: Option<Arc<dyn ClusterLookup>>,
    /// Templates of the chart itself.
    base: Arc<TemplateSet>,
    parsed: Arc<TplCache>,
    included: RefCell<HashMap<Str, u32>>,
    in_tpl: Cell<u32>,
}

impl RenderState {
    /// Creates the state for rendering a chart with these templates.
    pub fn new(
        base: Arc<TemplateSet>,
        parsed: Arc<TplCache>,
        view: Option<Arc<dyn ClusterLookup>>,
        lint: bool,
    ) -> Self {
        Self { lint, lookup: view, base, parsed, included: RefCell::default(), in_tpl: Cell::new(0) }
    }

    /// Counts an include. Returns false if the limit is exceeded.
    pub fn enter(&self, name: &Str) -> bool {
        let mut included = self.included.borrow_mut();
        let count = included.entry(name.clone()).or_insert(0);
        if *count > MAX_INCLUDES {
            return false;
        }
        *count += 1;
        true
    }

    /// Ends an include.
    pub fn leave(&self, name: &Str) {
        if let Some(count) = self.included.borrow_mut().get_mut(name) {
            *count -= 1;
        }
    }

    /// Counts a nested `tpl`. Returns false if the limit is exceeded. Helm has no such limit and overflows its stack.
    pub fn enter_tpl(&self) -> bool {
        let allowed = self.in_tpl.get() < MAX_INCLUDES;
        self.in_tpl.set(self.in_tpl.get() + u32::from(allowed));
        allowed
    }

    /// Ends a `tpl`.
    pub fn leave_tpl(&self) {
        self.in_tpl.set(self.in_tpl.get() - 1);
    }

    /// Parses a text for `tpl`. The result is cached if it is based on the chart's own templates.
    ///
    /// # Errors
    /// If the text is not a valid template.
    pub fn template(&self, below: &Arc<TemplateSet>, text: &Str) -> Result<Arc<TemplateSet>, Error> {
        if !Arc::ptr_eq(below, &self.base) {
            return layer(below, text);
        }
        if let Some(set) = self.parsed.get(text) {
            return Ok(set);
        }
        let set = layer(below, text)?;
        self.parsed.insert(text, &set);
        Ok(set)
    }
}
