//! Fault injection for any operator. The probe checks that an operator reaches the same result when the process crashes
//! at any write, when watch events are delayed, lost or merged, and when the API server does not respond.
//!
//! ```text
//!  case ──▶ undisturbed run ──▶ schedule of faults ──▶ one run per fault, each on its own cluster ──▶ report
//!           (writes, events)                            (virtual time, no threads, no sleeping)
//! ```
//!
//! ```no_run
//! use std::sync::Arc;
//! use serde_json::json;
//! use switchboard_probe::{Probe, ScriptStep};
//!
//! let words = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"words": "Hello"},
//!     "metadata": {"name": "greeting", "namespace": "shop"}});
//! let guest = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"name": "Ada"},
//!     "metadata": {"name": "ada", "namespace": "shop", "labels": {"greeter.example.com/greet": "yes"}}});
//! Probe::of(|| Arc::new(switchboard_greeter::Greeter)).given([words]).script([ScriptStep::apply(guest)]).run().assert_ok();
//! ```
//!
//! Each run must reach the final state of the undisturbed run, must not create or delete any object more often, and
//! must then write nothing for [`QUIET_ROUNDS`] rounds. UIDs, times and generated names may differ: objects with the
//! same `generateName` are counted together and identified by their content. The runs use the kernel's own core,
//! arbiter and applier, so the probe tests them too.
//!
//! The probe never connects to a real cluster, and does not check whether the undisturbed run is correct; other tests
//! do that.

mod case;
mod fault;
mod feed;
mod final_state;
mod names;
mod normalization;
mod probe;
mod report;
mod round;
mod rows;
mod run;
mod run_cluster;
mod schedule;
mod watchdog;
mod writer;

pub use case::{CaseError, MAX_STEPS, ProbeCase, ScriptStep, StepVerb};
pub use fault::{Fault, FaultClass, FaultError, FaultKind, FaultPart, MAX_PARTS};
pub use feed::WINDOW_MS;
pub use probe::{DECIDE_TIMEOUT, MAX_THREADS, Probe, REPLAY_VARIABLE};
pub use report::{ProbeFailure, ProbeReport};
pub use run::{MAX_TURNS, QUIET_ROUNDS, SETTLE_TIMEOUT};
pub use schedule::{MAX_POINTS, PAIRS_MAX_WRITES, WINDOW_EVENTS, row_schedule, schedule};
