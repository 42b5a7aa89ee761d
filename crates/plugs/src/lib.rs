//! Plug and Socket: applications that integrate themselves.
//!
//! A Plug asks for an integration, a Socket answers. What one couples to the other is a *coupling*: both configurations
//! are computed and checked against the socket's interface, what the two want made is made, and both learn the result.
//!
//! ```text
//!  Plug ──┐                                                       ┌─▶ objects, as the plug's service account
//!         ├─▶ render: data ─▶ vars ─▶ config ─▶ interface ─▶ steps ├─▶ apparatus
//!  Socket ┘        Secrets, ConfigMaps, objects that vars name     └─▶ objects, as the socket's service account
//!                                                   │
//!                                record: what was done, step by step; what teardown works from
//! ```
//!
//! - [`model`] is what users write, [`crds`] how the API server is told of it.
//! - [`render`] makes configurations, results and objects of it. It is pure.
//! - [`coupling`] is the record of a coupling and what is to be done next. It is pure.
//! - [`plug`], [`socket`] and [`deferred`] are the operators, one for each kind.
//!
//! It never reads a Secret that the service account of the plug or socket may not read, and never puts one into a status,
//! an event or an error.

pub mod authority;
pub mod coupling;
pub mod crds;
pub mod deferred;
pub mod kinds;
pub mod model;
pub mod path;
pub mod plug;
pub mod render;
pub mod socket;
