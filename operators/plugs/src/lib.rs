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
//! - [`path`] finds the field that a var names, [`apparatus`] is a program that takes part.
//! - [`board`] is who is plugged in where, [`status_table`] and [`picture`] show it; [`preview`] is what a pair would do, from files.
//! - [`kinds`] says where an object of a kind is served, [`authority`] what a service account may read.
//!
//! It never reads a Secret that the service account of the plug or socket may not read, and never puts one into a status,
//! an event or an error.

pub mod apparatus;
pub mod coupling;
pub mod crds;
pub mod deferred;
pub mod graph;
pub mod kinds;
pub mod model;
pub mod overview;
pub mod path;
pub mod plug;
pub mod preview;
pub mod rbac;
mod refusal;
pub mod render;
pub mod socket;
pub mod status_table;

use std::sync::Arc;

use switchboard_kernel::operator::Operator;

/// All operators of this crate, as the kernel hosts them.
pub fn operators(options: plug::PlugOptions) -> Vec<Arc<dyn Operator>> {
    vec![
        plug::PlugOperator::operator(options.clone()),
        socket::SocketOperator::operator(options),
        Arc::new(deferred::DeferredOperator),
    ]
}
