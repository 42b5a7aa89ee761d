//! JSONPath in the dialect of declared references: `$.spec.routes[?(@.name == "web")].secret.name`.
//!
//! It is Goessner's, as the Go libraries gval and jsonpath read it: `$`, `.key`, `["key"]`, `[0]`, `[1:3]`, `[a, b]`, `[*]`, `.*`,
//! `..key` and filters with comparisons, `&&`, `||`, `!` and `=~`. What gval can do beside that (arithmetic, functions, JSON
//! literals) no reference needs, and is refused when it is read.

mod eval;
mod expression;
mod parse;

use serde_json::Value;

/// How deep filters may nest.
pub const MAX_NESTING: usize = 32;
/// How many values a path may visit in one evaluation.
pub const MAX_VISITS: usize = 100_000;

/// A path that was read.
#[derive(Clone, Debug)]
pub struct JsonPath {
    steps: Vec<Step>,
}

/// A path that cannot be read, or does not fit the object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonPathError(String);

/// A value that a path found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<'a> {
    /// The keys and indices on the way to it.
    pub location: Vec<Segment>,
    /// The value.
    pub value: &'a Value,
}

/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A field of an object.
    Key(String),
    /// An item of a list.
    Index(usize),
}

#[derive(Clone, Debug)]
enum Step {
    /// `.key`, `["key"]`, `[0]`: what is an index of a list is a key of an object.
    Key(String),
    /// `.*`, `[*]`.
    Star,
    /// `..`: the value and everything under it.
    Recursive,
    /// `[a, b]`.
    Union(Vec<String>),
    /// `[min:max:step]`.
    Range { min: i64, max: i64, step: i64 },
    /// `[?(..)]`.
    Filter(expression::Expression),
}

impl Step {
    /// Finds one value or none, and says in the original which key is missing.
    fn is_plain(&self) -> bool {
        matches!(self, Step::Key(_))
    }
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        parse::path(text)
    }

    /// Every value it finds, in the order of the object; a key that is missing is nothing found.
    ///
    /// # Errors
    /// When more would be visited than [`MAX_VISITS`].
    pub fn find<'a>(&self, root: &'a Value) -> Result<Vec<Found<'a>>, JsonPathError> {
        eval::find(&self.steps, root)
    }

    /// What the original finds: a path that can find one value alone finds it or says which key is missing.
    ///
    /// # Errors
    /// As said.
    pub fn find_as_original(&self, root: &Value) -> Result<Value, JsonPathError> {
        if self.steps.iter().all(Step::is_plain) {
            return eval::plain(&self.steps, root);
        }
        let found = self.find(root)?;
        Ok(Value::Array(found.into_iter().map(|found| found.value.clone()).collect()))
    }
}

#[cfg(test)]
mod tests;
