//! `values.schema.json`: validation of values, in the order and with the texts of the validator that Helm uses (JSON
//! Schema, drafts 4 to 2020-12).
//!
//! Remote schemas are not fetched, because rendering a chart uses no network. A `$ref` to one is an error. An
//! unresolved `urn:` is accepted, as in Helm.

mod combine;
mod compare;
mod compile;
mod document;
mod format;
mod meta;
mod number;
mod problem;
mod scalar;
mod validate;

use switchboard_object::Value;
use switchboard_object::quote::quote;
use switchboard_template::sprig::{MAX_COMPILED_BYTES, Regexp};

use number::SchemaNumber;

/// Maximum bytes of all compiled patterns of a chart and its subcharts, which equals the maximum of a single one.
pub const MAX_PATTERN_BYTES: usize = MAX_COMPILED_BYTES;

/// A compiled schema.
#[derive(Debug)]
pub struct ValuesSchema {
    nodes: Vec<SchemaNode>,
    /// Warnings that Helm prints on stderr when it reads the schema.
    pub warnings: Vec<String>,
}

/// Error of an invalid schema, with the validator's text.
#[derive(Debug, thiserror::Error)]
pub enum ValuesSchemaError {
    /// The text is not JSON.
    #[error("{0}")]
    Json(String),
    /// The JSON is not a schema of its draft.
    #[error("{} is not valid against metaschema: {}", quote(.0), .1)]
    Invalid(String, String),
    /// A pattern is not valid in Go's regular expressions.
    #[error("{} is not valid regex: {}", quote(.0), .1)]
    Regex(String, String),
    /// A `$ref` points to nothing.
    #[error("json-pointer in {} not found", quote(.0))]
    Pointer(String),
    /// A `$ref` names an unknown anchor.
    #[error("anchor in {} not found in schema {}", quote(.0), quote(.1))]
    Anchor(String, String),
    /// Two schemas have the same name.
    #[error("duplicate {what} {} in {} at {} and {}", quote(.name), quote(.url), quote(.first), quote(.second))]
    Duplicate {
        /// Kind of the name: `id` or `anchor`.
        what: &'static str,
        /// Name.
        name: String,
        /// URL of the document.
        url: String,
        /// Location of the first schema.
        first: String,
        /// Location of the second schema.
        second: String,
    },
    /// A `$ref` or `$schema` refers to a schema that would have to be fetched.
    #[error("failing loading {}: {}", quote(.0), .1)]
    Remote(String, String),
}

impl ValuesSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// If the schema is invalid or refers to a remote one.
    pub fn read(bytes: &[u8]) -> Result<Self, ValuesSchemaError> {
        Self::read_within(bytes, &mut { MAX_PATTERN_BYTES })
    }

    /// Compiles one of several schemas that stay in memory together. `left` is the memory that the patterns of all of
    /// them may still use.
    ///
    /// # Errors
    /// Errors of [`ValuesSchema::read`], and if the remaining memory does not suffice.
    pub fn read_within(bytes: &[u8], left: &mut usize) -> Result<Self, ValuesSchemaError> {
        compile::compile(bytes, left)
    }

    /// Validates values.
    ///
    /// # Errors
    /// All problems, one per line, as Helm prints them.
    pub fn check(&self, values: &Value) -> Result<(), String> {
        validate::check(&self.nodes, values).map_err(|problem| problem.to_text())
    }
}

/// A schema of the tree. Subschemas are referred to by index.
#[derive(Debug, Default)]
struct SchemaNode {
    draft: u16,
    /// Document and pointer of the schema.
    location: String,
    always: Option<bool>,
    types: Option<Vec<String>>,
    constant: Option<Value>,
    values: Option<Vec<Value>>,
    format: Option<String>,
    /// Referenced schema and the keyword of the reference.
    reference: Option<(usize, &'static str)>,
    min_properties: Option<usize>,
    max_properties: Option<usize>,
    required: Vec<String>,
    dependencies: Vec<(String, DependencyRule)>,
    properties: Vec<(String, usize)>,
    pattern_properties: Vec<(Regexp, usize)>,
    additional_properties: Option<AdditionalRule>,
    property_names: Option<usize>,
    dependent_schemas: Vec<(String, usize)>,
    dependent_required: Vec<(String, Vec<String>)>,
    min_items: Option<usize>,
    max_items: Option<usize>,
    unique_items: bool,
    items: Option<usize>,
    item_list: Option<Vec<usize>>,
    additional_items: Option<AdditionalRule>,
    contains: Option<usize>,
    min_contains: Option<usize>,
    max_contains: Option<usize>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    pattern: Option<(String, Regexp)>,
    minimum: Option<SchemaNumber>,
    maximum: Option<SchemaNumber>,
    exclusive_minimum: Option<SchemaNumber>,
    exclusive_maximum: Option<SchemaNumber>,
    multiple_of: Option<SchemaNumber>,
    not: Option<usize>,
    all_of: Vec<usize>,
    any_of: Vec<usize>,
    one_of: Vec<usize>,
    condition: Option<(usize, Option<usize>, Option<usize>)>,
    unevaluated_properties: Option<usize>,
    unevaluated_items: Option<usize>,
}

#[derive(Debug)]
enum DependencyRule {
    Names(Vec<String>),
    Schema(usize),
}

#[derive(Debug)]
enum AdditionalRule {
    Allowed(bool),
    Schema(usize),
}

#[cfg(test)]
mod tests;
