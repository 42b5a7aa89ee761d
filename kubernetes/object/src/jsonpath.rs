//! JSONPath in kubectl's dialect: templates such as `{.items[*].metadata.name}` or `{range
//! .items[*]}{.kind}{"\n"}{end}`.
//!
//! Used by printer columns, `kubectl -o jsonpath`, `--sort-by` and `kubectl wait`. This is a port of client-go's
//! parser, because its leniencies are part of the dialect.

mod compare;
mod eval;
mod parse;
mod print;

use std::borrow::Cow;

use crate::Value;

/// Parsed template.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPathTemplate {
    nodes: Vec<PathNode>,
}

/// Error of a template that cannot be parsed or does not fit the value, in client-go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonPathTemplateError(pub(crate) String);

/// Nesting limit of filters, unions and ranges.
pub const MAX_NESTING: usize = 32;
/// Number of values that a template may visit in one evaluation.
pub const MAX_VISITS: usize = 100_000;
/// Bound on the output of a template. Results often contain other results.
pub const MAX_OUTPUT_BYTES: usize = 16 << 20;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PathNode {
    List(Vec<PathNode>),
    Text(String),
    Field(String),
    Identifier(String),
    Array([SliceParam; 3]),
    Filter { left: Vec<PathNode>, right: Vec<PathNode>, operator: String },
    Integer(i64),
    Float(f64),
    Bool(bool),
    Wildcard,
    Recursive,
    Union(Vec<Vec<PathNode>>),
}

/// Start, end or step of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct SliceParam {
    pub value: i64,
    pub known: bool,
    /// Whether this is the end of a plain index, which is the start plus one.
    pub derived: bool,
}

impl JsonPathTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// When the text is not a template.
    pub fn parse(template: &str) -> Result<Self, JsonPathTemplateError> {
        parse::template(template, 0).map(|nodes| Self { nodes })
    }

    /// Parses kubectl's relaxed form, which may omit the braces and the leading dot: `metadata.name`.
    ///
    /// # Errors
    /// When the text is not a template.
    pub fn parse_relaxed(text: &str) -> Result<Self, JsonPathTemplateError> {
        if text.is_empty() {
            return Ok(Self { nodes: Vec::new() });
        }
        let bare = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
        let bare = bare.strip_prefix('.').filter(|t| !t.is_empty()).unwrap_or(bare);
        if bare.is_empty() || bare.contains(['{', '}']) {
            let words = "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'";
            return Err(JsonPathTemplateError(words.to_string()));
        }
        Self::parse(&format!("{{.{bare}}}"))
    }

    /// Returns the results of each part of the template. With `allow_missing`, an absent field is not an error.
    ///
    /// # Errors
    /// When the value does not fit the template.
    pub fn find<'a>(
        &self,
        value: &'a Value,
        allow_missing: bool,
    ) -> Result<Vec<Vec<Cow<'a, Value>>>, JsonPathTemplateError> {
        eval::find(&self.nodes, value, allow_missing)
    }

    /// Renders the template.
    ///
    /// # Errors
    /// When the value does not fit the template.
    pub fn print(&self, value: &Value, allow_missing: bool) -> Result<String, JsonPathTemplateError> {
        let mut out = String::new();
        for results in self.find(value, allow_missing)? {
            print::results(&results, &mut out)?;
        }
        Ok(out)
    }
}

/// Returns the value at a simple path such as `.spec.replicas`, which consists of field names only. Scale paths have
/// this form.
pub fn simple_path_value<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    simple_path_keys(path).try_fold(value, |value, key| value.get(key))
}

/// Returns the field names of a simple path.
pub fn simple_path_keys(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

#[cfg(test)]
mod tests;
