//! What a Kubernetes object is: kinds, names, selectors, patches, server-side apply, schemas.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no randomness.

pub mod apply;
pub mod cel;
pub mod equality;
pub mod field;
pub mod fuzz;
mod gofmt;
pub mod json;
pub mod kind;
pub mod name;
pub mod patch;
pub mod path;
pub mod quantity;
pub mod quote;
pub mod schema;
pub mod selector;
pub mod status;
pub mod yaml;

pub use gofmt::json_type;

/// An object, or any part of one. Maps are sorted, as the API server sends custom resources.
pub type Value = serde_json::Value;
/// A JSON object.
pub type Map = serde_json::Map<String, Value>;

/// The aggregated discovery documents of the release whose built-in kinds are served: `/api` and `/apis`.
pub const DISCOVERY: &str = include_str!("../data/discovery.json");

/// The OpenAPI v3 schemas of that release's built-in kinds, by definition name.
pub const SCHEMAS: &str = include_str!("../data/schemas.json");
