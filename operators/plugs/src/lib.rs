//! Plug and Socket: applications that integrate themselves.
//!
//! A Plug requests an integration, and a Socket provides it. A *coupling* connects one to the other: Switchboard
//! computes both configs, validates them against the socket's interface, applies the objects of both sides, and passes
//! the results to both.
//!
//! ```text
//!  Plug ──┐                                                       ┌─▶ objects, as the plug's service account
//!         ├─▶ render: data ─▶ vars ─▶ config ─▶ interface ─▶ steps ├─▶ apparatus
//!  Socket ┘        Secrets, ConfigMaps, objects named by vars      └─▶ objects, as the socket's service account
//!                                                   │
//!                                record: completed steps; the only input of teardown
//! ```
//!
//! - [`model`] reads the three kinds, and [`crds`] defines them.
//! - [`render`] computes configs, results and objects. It is pure.
//! - [`coupling`] holds the record of a coupling and its status. It is pure.
//! - [`plug`], [`socket`] and [`deferred`] are the operators, one for each kind.
//! - [`path`] evaluates field paths of vars, and [`apparatus`] calls programs that take part.
//! - [`overview`] collects states, [`status_table`] and [`graph`] show them; [`preview`] computes the effect of a pair from files.
//! - `needed_kinds` opens the watches that a unit needs together.
//! - [`kinds`] looks up resources, and [`rbac`] checks read access of service accounts.
//!
//! Switchboard never reads a Secret that the service account of the plug or socket may not read, and never writes
//! secret values to a status, an Event or an error message.

pub mod apparatus;
pub mod coupling;
pub mod crds;
pub mod deferred;
pub mod family;
pub mod graph;
pub mod kinds;
pub mod model;
mod needed_kinds;
pub mod overview;
pub mod path;
pub mod plug;
pub mod preview;
pub mod rbac;
mod redaction;
mod refusal;
pub mod render;
pub mod socket;
pub mod status_table;

use std::sync::Arc;

use switchboard_kernel::operator::Operator;

/// Returns all operators of this crate.
pub fn operators(options: plug::PlugOptions) -> Vec<Arc<dyn Operator>> {
    vec![
        plug::PlugOperator::operator(options.clone()),
        socket::SocketOperator::operator(options),
        Arc::new(deferred::DeferredOperator),
    ]
}
