//! Kubernetes objects as plain data: kinds, names, selectors, patches, server-side apply, schemas.
//!
//! Formats of Go that several crates share stand here as well: durations, quoting, globs and semantic versions.
//!
//! All functions are pure: no I/O, no clock, no randomness.

pub mod apply;
pub mod causes;
pub mod cel;
pub mod duration;
pub mod equality;
pub mod field;
pub mod fuzz;
pub mod glob;
mod go_format;
pub mod health;
pub mod json;
pub mod jsonpath;
pub mod kind;
pub mod name;
pub mod patch;
pub mod quantity;
pub mod quote;
pub mod schema;
pub mod selector;
pub mod semver;
pub mod status;
pub mod yaml;

pub use go_format::json_type;

/// Object, or any part of one. Maps are sorted, as in kube-apiserver's custom resources.
pub type Value = serde_json::Value;
/// JSON object.
pub type Map = serde_json::Map<String, Value>;

/// Aggregated discovery documents of the Kubernetes release whose built-in kinds are served: `/api` and `/apis`.
pub const DISCOVERY: &str = include_str!("../data/discovery.json");

/// OpenAPI v3 schemas of that release's built-in kinds, by definition name.
pub const SCHEMAS: &str = include_str!("../data/schemas.json");

/// Examples of the README, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeDoctests;
