//! JSONPath in the dialect of declared references: `$.spec.routes[?(@.name == "web")].secret.name`.
//!
//! The dialect is Goessner's, as the Go libraries gval and jsonpath implement it: `$`, `.key`, `["key"]`, `[0]`,
//! `[1:3]`, `[a, b]`, `[*]`, `.*`, `..key`, and filters with comparisons, `&&`, `||`, `!` and `=~`. References do not
//! need the other features of gval (arithmetic, functions, JSON literals), so parsing rejects them.

mod eval;
mod expression;
mod parse;

use serde_json::Value;
pub use switchboard_object::jsonpath::{MAX_NESTING, MAX_VISITS};

/// A parsed path.
#[derive(Clone, Debug)]
pub struct JsonPath {
    steps: Vec<JsonPathStep>,
}

/// Error for a path that is invalid or does not fit the object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonPathError(String);

/// A value found by a path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPathMatch<'a> {
    /// Keys and indexes from the root to the value.
    pub location: Vec<LocationSegment>,
    /// The value.
    pub value: &'a Value,
}

/// A segment of a location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocationSegment {
    /// Field of an object.
    Key(String),
    /// Index of a list.
    Index(usize),
}

#[derive(Clone, Debug)]
enum JsonPathStep {
    /// `.key`, `["key"]`, `[0]`: an index of a list is also a key of an object.
    Key(String),
    /// `.*`, `[*]`.
    Star,
    /// `..`: the value and all its descendants.
    Recursive,
    /// `[a, b]`.
    Union(Vec<String>),
    /// `[min:max:step]`.
    Range { min: i64, max: i64, step: i64 },
    /// `[?(..)]`.
    Filter(expression::FilterExpression),
}

impl JsonPathStep {
    /// Whether the step finds at most one value. multi-operator-manager reports the missing key of such a path.
    fn is_plain(&self) -> bool {
        matches!(self, JsonPathStep::Key(_))
    }
}

impl JsonPath {
    /// Parses a path.
    ///
    /// # Errors
    /// If the text is not a path.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        parse::path(text)
    }

    /// Returns all values of the path, in the order of the object. A missing key finds nothing.
    ///
    /// # Errors
    /// If more than [`MAX_VISITS`] values would be visited.
    pub fn find<'a>(&self, root: &'a Value) -> Result<Vec<JsonPathMatch<'a>>, JsonPathError> {
        eval::find(&self.steps, root)
    }

    /// Returns the result of multi-operator-manager. A path that finds at most one value fails with the missing key.
    ///
    /// # Errors
    /// If a key is missing, and the errors of [`JsonPath::find`].
    pub fn find_compat(&self, root: &Value) -> Result<Value, JsonPathError> {
        if self.steps.iter().all(JsonPathStep::is_plain) {
            return eval::find_single(&self.steps, root);
        }
        let found = self.find(root)?;
        Ok(Value::Array(found.into_iter().map(|found| found.value.clone()).collect()))
    }
}

#[cfg(test)]
mod tests;
