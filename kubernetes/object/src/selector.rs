//! Label and field selectors.
//!
//! ```
//! use switchboard_object::selector::LabelSelector;
//! let selector = LabelSelector::parse("app=web,tier notin (cache,db),!legacy").unwrap();
//! assert!(selector.matches(serde_json::json!({"app": "web"}).as_object()));
//! ```

mod field;
mod label;
mod parse;

pub use field::{FieldSelector, FieldSelectorError, FieldTerm, escape_value};
pub use label::{LabelSelector, Requirement, SelectorOperator};

/// Invalid label selector, with the API server's error text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LabelSelectorError(pub(crate) String);

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
