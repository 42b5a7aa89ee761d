//! JSONPath in kubectl's dialect: templates such as `{.items[*].metadata.name}` or `{range .items[*]}{.kind}{"\n"}{end}`.
//!
//! Printer columns, `kubectl -o jsonpath`, `--sort-by` and `kubectl wait` speak it. A port of client-go's parser, because its
//! leniencies are part of the dialect.

mod compare;
mod eval;
mod parse;
mod print;

use std::borrow::Cow;

use crate::Value;

/// A template that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    nodes: Vec<Node>,
}

/// A template that cannot be read, or does not fit the value; in client-go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PathError(pub(crate) String);

/// How deep filters, unions and ranges may nest.
pub const MAX_NESTING: usize = 32;
/// How many values a template may visit in one evaluation.
pub const MAX_VISITS: usize = 100_000;
/// How long a filled-in template may be: what is found often contains what is found as well.
pub const MAX_OUTPUT_BYTES: usize = 16 << 20;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    List(Vec<Node>),
    Text(String),
    Field(String),
    Identifier(String),
    Array([Param; 3]),
    Filter { left: Vec<Node>, right: Vec<Node>, operator: String },
    Integer(i64),
    Float(f64),
    Bool(bool),
    Wildcard,
    Recursive,
    Union(Vec<Vec<Node>>),
}

/// Start, end or step of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct Param {
    pub value: i64,
    pub known: bool,
    /// The end of a plain index, which is the start plus one.
    pub derived: bool,
}

impl Path {
    /// Reads a template.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse(template: &str) -> Result<Self, PathError> {
        parse::template(template, 0).map(|nodes| Self { nodes })
    }

    /// Reads kubectl's relaxed form, in which braces and the leading dot may be left out: `metadata.name`.
    ///
    /// # Errors
    /// When it is not one.
    pub fn relaxed(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Ok(Self { nodes: Vec::new() });
        }
        let bare = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
        let bare = bare.strip_prefix('.').filter(|t| !t.is_empty()).unwrap_or(bare);
        if bare.is_empty() || bare.contains(['{', '}']) {
            let words = "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'";
            return Err(PathError(words.to_string()));
        }
        Self::parse(&format!("{{.{bare}}}"))
    }

    /// What each part of the template finds. With `allow_missing`, a field that is not there is no error.
    ///
    /// # Errors
    /// When the value does not fit the template.
    pub fn find<'a>(&self, value: &'a Value, allow_missing: bool) -> Result<Vec<Vec<Cow<'a, Value>>>, PathError> {
        eval::find(&self.nodes, value, allow_missing)
    }

    /// The template filled in.
    ///
    /// # Errors
    /// When the value does not fit the template.
    pub fn print(&self, value: &Value, allow_missing: bool) -> Result<String, PathError> {
        let mut out = String::new();
        for results in self.find(value, allow_missing)? {
            print::results(&results, &mut out)?;
        }
        Ok(out)
    }
}

/// The value at a plain path, `.spec.replicas`: fields by name, nothing else. Scale paths are of this form.
pub fn plain<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    plain_keys(path).try_fold(value, |value, key| value.get(key))
}

/// The field names of a plain path.
pub fn plain_keys(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

#[cfg(test)]
mod tests;
