//! `values.schema.json`: what values must look like, judged and worded as the validator inside Helm does it
//! (JSON Schema, drafts 4 to 2020-12).
//!
//! Schemas of other places are not fetched: rendering a chart talks to nobody. A `$ref` to one is an error; an unresolved
//! `urn:` is let through, as in Helm.

mod combine;
mod compare;
mod compile;
mod document;
mod format;
mod meta;
mod number;
mod problem;
mod validate;

use switchboard_object::Value;
use switchboard_template::sprig::{MAX_COMPILED_BYTES, Regexp};

use number::Decimal;

/// How many bytes all patterns of a chart and its subcharts may take when they are compiled: as many as one may.
pub const MAX_PATTERN_BYTES: usize = MAX_COMPILED_BYTES;

/// A schema, ready to judge.
#[derive(Debug)]
pub struct Schema {
    nodes: Vec<Node>,
    /// What Helm says on stderr when it reads it.
    pub warnings: Vec<String>,
}

/// A schema that is none, in the validator's words.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Not JSON.
    #[error("{0}")]
    Json(String),
    /// JSON that is no schema of its draft.
    #[error("{0:?} is not valid against metaschema: {1}")]
    NotOne(String, String),
    /// A pattern Go's regular expressions do not have.
    #[error("{0:?} is not valid regex: {1}")]
    Regex(String, String),
    /// A `$ref` to nothing.
    #[error("json-pointer in {0:?} not found")]
    Pointer(String),
    /// A `$ref` to an anchor nobody has.
    #[error("anchor in {0:?} not found in schema {1:?}")]
    Anchor(String, String),
    /// Two schemas of one name.
    #[error("duplicate {what} {name:?} in {url:?} at {first:?} and {second:?}")]
    Duplicate {
        /// `id` or `anchor`.
        what: &'static str,
        /// The name.
        name: String,
        /// The document.
        url: String,
        /// Where one is.
        first: String,
        /// Where the other is.
        second: String,
    },
    /// A `$ref` or `$schema` of a place that would have to be fetched.
    #[error("failing loading {0:?}: {1}")]
    Remote(String, String),
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// When it is no schema, or refers to another place.
    pub fn read(bytes: &[u8]) -> Result<Self, SchemaError> {
        Self::read_within(bytes, &mut { MAX_PATTERN_BYTES })
    }

    /// Reads one of several schemas that are kept together; `left` is what the patterns of all of them may still take.
    ///
    /// # Errors
    /// As [`Schema::read`], and when too little is left.
    pub fn read_within(bytes: &[u8], left: &mut usize) -> Result<Self, SchemaError> {
        compile::compile(bytes, left)
    }

    /// Judges values.
    ///
    /// # Errors
    /// All that is wrong, one line each, as Helm prints it.
    pub fn check(&self, values: &Value) -> Result<(), String> {
        validate::check(&self.nodes, values).map_err(|problem| problem.told())
    }
}

/// One schema of the tree; those it is made of by their places.
#[derive(Debug, Default)]
struct Node {
    draft: u16,
    /// Where it stands: document and pointer.
    location: String,
    always: Option<bool>,
    types: Option<Vec<String>>,
    constant: Option<Value>,
    values: Option<Vec<Value>>,
    format: Option<String>,
    /// The schema it refers to, and the keyword that does.
    reference: Option<(usize, &'static str)>,
    min_properties: Option<usize>,
    max_properties: Option<usize>,
    required: Vec<String>,
    dependencies: Vec<(String, Depends)>,
    properties: Vec<(String, usize)>,
    pattern_properties: Vec<(Regexp, usize)>,
    additional_properties: Option<Additional>,
    property_names: Option<usize>,
    dependent_schemas: Vec<(String, usize)>,
    dependent_required: Vec<(String, Vec<String>)>,
    min_items: Option<usize>,
    max_items: Option<usize>,
    unique_items: bool,
    items: Option<usize>,
    item_list: Option<Vec<usize>>,
    additional_items: Option<Additional>,
    contains: Option<usize>,
    min_contains: Option<usize>,
    max_contains: Option<usize>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    pattern: Option<(String, Regexp)>,
    minimum: Option<Decimal>,
    maximum: Option<Decimal>,
    exclusive_minimum: Option<Decimal>,
    exclusive_maximum: Option<Decimal>,
    multiple_of: Option<Decimal>,
    not: Option<usize>,
    all_of: Vec<usize>,
    any_of: Vec<usize>,
    one_of: Vec<usize>,
    condition: Option<(usize, Option<usize>, Option<usize>)>,
    unevaluated_properties: Option<usize>,
    unevaluated_items: Option<usize>,
}

#[derive(Debug)]
enum Depends {
    On(Vec<String>),
    Fits(usize),
}

#[derive(Debug)]
enum Additional {
    Allowed(bool),
    Fits(usize),
}

#[cfg(test)]
mod tests;
