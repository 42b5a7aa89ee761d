//! Explains decisions and states: builds reports from the journal and the kernel's state, and formats them for users.
//!
//! All functions are pure. `-o json` prints a report as JSON; its `Display` is the text for users.

mod field;
mod field_managers;
mod phrases;
mod plan_report;
mod replay_report;
mod target;
mod times;
mod top;
mod why;
mod why_not;

pub use field::FieldPath;
pub use field_managers::FieldManager;
pub use phrases::{cause, causes, count, reads, result};
pub use plan_report::{PlanReport, PlannedWrite, SkippedItem};
pub use replay_report::ReplayReport;
pub use target::ObjectTarget;
pub use times::{format_duration, format_time};
pub use top::{TopReport, TopRow, bytes, micros, report};
pub use why::{
    CauseLink, FailedWrite, LastWrite, MAX_CHAIN, ReadLookup, WaitingUnit, WhyReport, explain_object, resolve_target,
};
pub use why_not::{IdleUnit, WhyNotReport, describe_wait, explain_idle};
