//! Fault schedules over any operator: does it do the same when the process dies at any write, when it sees things late, not at
//! all, or only the last of several, and when the API server does not answer?
//!
//! ```text
//!  case ──▶ undisturbed run ──▶ schedule of faults ──▶ one run per fault, each on a cluster of its own ──▶ report
//!           (writes, events)                            (virtual time, no threads inside, no sleeping)
//! ```
//!
//! ```no_run
//! use std::sync::Arc;
//! use serde_json::json;
//! use switchboard_probe::{Probe, Step};
//!
//! let words = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"words": "Hello"},
//!     "metadata": {"name": "greeting", "namespace": "shop"}});
//! let guest = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"name": "Ada"},
//!     "metadata": {"name": "ada", "namespace": "shop", "labels": {"greeter.example.com/greet": "yes"}}});
//! Probe::of(|| Arc::new(switchboard_greeter::Greeter)).given([words]).script([Step::apply(guest)]).run().assert_ok();
//! ```
//!
//! Each run must reach the state the undisturbed one ends in, create and delete no object more often than there, and then write
//! nothing for [`QUIET_ROUNDS`] rounds. Uids, times and names that are left to `generateName` need not be the same: objects of one
//! `generateName` are counted together and told apart by what is in them. The kernel's own core, arbiter and applier take part, so the probe tests them too.
//!
//! It never talks to a real cluster, and it has no opinion on whether the undisturbed run is right: that is what other tests say.

mod case;
mod ended;
mod fault;
mod feed;
mod mask;
mod names;
mod probe;
mod pulse;
mod report;
mod round;
mod run;
mod schedule;
mod world;
mod writer;

pub use case::{Case, CaseError, MAX_STEPS, Step, Verb};
pub use fault::{Class, Fault, FaultError, Kind, MAX_PARTS, Part};
pub use feed::WINDOW_MS;
pub use probe::{DECIDE_PATIENCE, MAX_THREADS, Probe, REPLAY_VARIABLE};
pub use report::{Failure, Report};
pub use run::{MAX_TURNS, PATIENCE, QUIET_ROUNDS};
pub use schedule::{MAX_POINTS, PAIRS_MAX_WRITES, WINDOW_EVENTS, schedule};
