//! Report of `why-not`: reasons why an operator does not run now, with hints.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::decision::{Cause, DecisionId};
use crate::operator::Unit;
use crate::state::{Health, KernelState, OperatorState, UnitState, Wait};
use crate::timestamp::Timestamp;

use super::{phrases, times};

/// Reasons why an operator, or one of its units, does not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhyNotReport {
    /// Name of the operator.
    pub operator: String,
    /// Time of the report.
    pub now: Timestamp,
    /// Health of the operator; absent if it does not exist.
    #[serde(rename = "state")]
    pub health: Option<Health>,
    /// Reason for the health.
    pub reason: String,
    /// Names of all operators, if the requested one does not exist.
    pub operators: Vec<String>,
    /// Units that do not run, least healthy first.
    pub units: Vec<IdleUnit>,
    /// Number of units that do not run, including those not listed.
    pub units_waiting: usize,
    /// Number of units.
    pub units_total: usize,
}

/// Unit that does not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdleUnit {
    /// Name of the unit.
    pub unit: Unit,
    /// Health of the unit.
    #[serde(rename = "state")]
    pub health: Health,
    /// Reason why it does not run now.
    pub wait: Wait,
    /// Reason for the health: what the unit waits for, what a user must do, or what failed.
    pub reason: String,
    /// Time since which the unit has this health.
    pub since: Timestamp,
    /// Causes of the next run.
    pub causes: Vec<Cause>,
    /// Last decision of the unit.
    pub last_decision: Option<DecisionId>,
    /// Hint with a solution.
    pub hint: String,
}

/// Explains why an operator, or one of its units given by name, does not run.
pub fn explain_idle(operator: &str, unit: Option<&str>, state: &KernelState) -> WhyNotReport {
    let found = state.operators.iter().find(|o| o.name == operator);
    let known = if found.is_some() { vec![] } else { state.operators.iter().map(|o| o.name.clone()).collect() };
    let asked = |one: &&UnitState| unit.is_none_or(|name| one.unit.to_string() == name);
    let units = |o: &OperatorState| o.units.iter().filter(asked).map(|unit| idle_unit(operator, unit)).collect();
    WhyNotReport {
        operator: operator.to_string(),
        now: state.now,
        health: found.map(|o| o.health),
        reason: found.map(|o| o.reason.clone()).unwrap_or_default(),
        operators: known,
        units: found.map(units).unwrap_or_default(),
        units_waiting: found.map_or(0, |o| o.units_waiting.max(o.units.len())),
        units_total: found.map_or(0, |o| o.units_total),
    }
}

fn idle_unit(operator: &str, state: &UnitState) -> IdleUnit {
    IdleUnit {
        unit: state.unit.clone(),
        health: state.health,
        wait: state.wait.clone(),
        reason: state.reason.clone(),
        since: state.since,
        causes: state.causes.clone(),
        last_decision: state.last_decision,
        hint: hint(operator, state),
    }
}

fn hint(operator: &str, state: &UnitState) -> String {
    let unit = if state.unit == Unit::Whole { String::new() } else { format!(" {}", state.unit) };
    let reconcile = format!("run `switchboard reconcile {operator}{unit}`");
    let helps = match (&state.wait, state.health) {
        (Wait::NothingChanged, Health::Blocked) => "follow the reason; the unit runs when something it reads changes",
        (Wait::NothingChanged, _) => return format!("change something it reads, or {reconcile}"),
        (Wait::Running { .. }, _) => "wait until it ends; its timeout limits it",
        (Wait::Debounced { .. }, _) => "wait, or set a shorter `debounce` in switchboard.yaml",
        (Wait::CoolingDown { .. }, _) => "wait, or set a shorter `coolDown` in switchboard.yaml",
        (Wait::OutOfBudget { .. }, _) => "wait, or set a larger write budget in switchboard.yaml",
        (Wait::WritesSpent { .. }, _) => "wait, or set `writesPerSecond` in switchboard.yaml: then it applies instead",
        (Wait::BackingOff { .. }, _) => return format!("fix the error; then wait, or {reconcile}"),
        (Wait::Slowed { .. }, _) => {
            "resolve the loop or conflict: the unit keeps writing although what it reads does not change"
        }
        (Wait::Full { .. }, _) => "wait, or set a higher `maxConcurrent` in switchboard.yaml",
        (Wait::RequestsSpent { .. }, _) => "wait, or set a higher `requestsPerSecond` in switchboard.yaml",
        (Wait::Paced { .. }, _) => "wait; the rate rises while the API servers respond as fast as usual",
        (Wait::MemorySpent, _) => "wait until a running operator ends, or allow more memory in switchboard.yaml",
        (Wait::NotCached { .. }, _) => "install the CRD of the kind, or grant permission to read it",
        (Wait::AwaitingCache { .. }, _) => "wait until the watch reports the write",
        (Wait::Paused(_), _) => return format!("run `switchboard resume {operator}`"),
    };
    helps.to_string()
}

/// Describes why a unit waits.
pub fn describe_wait(wait: &Wait, now: Timestamp) -> String {
    let until = |until: &Timestamp| times::format_time(now, *until);
    match wait {
        Wait::NothingChanged => "nothing it read has changed".to_string(),
        Wait::Running { since } => format!("running, started {}", until(since)),
        Wait::Debounced { until: at } => format!("debounced: collects changes, runs {}", until(at)),
        Wait::CoolingDown { until: at } => format!("cooling down: it just ran; runs {}", until(at)),
        Wait::OutOfBudget { until: at } => format!("out of budget: its operator may write again {}", until(at)),
        Wait::WritesSpent { until: at } => {
            format!("the unit has written too much at once: may write again {}", until(at))
        }
        Wait::BackingOff { until: at, failures } => {
            format!("backing off after {}: runs {}", phrases::count(*failures as usize, "failure"), until(at))
        }
        Wait::Slowed { until: at } => format!("slowed, because of a hot loop or field conflict: runs {}", until(at)),
        Wait::Full { running } => format!("full: {} active, as many as allowed", phrases::count(*running, "run")),
        Wait::RequestsSpent { until: at } => format!("all allowed requests are spent: continues {}", until(at)),
        Wait::Paced { until: at, writes_per_second } => {
            format!("API servers take {writes_per_second} writes per second at present: continues {}", until(at))
        }
        Wait::MemorySpent => "running operator processes use all the allowed memory".to_string(),
        Wait::NotCached { missing } => {
            let kinds: Vec<_> = missing.iter().map(|t| format!("{} of cluster {}", t.resource, t.cluster)).collect();
            format!("waiting for the cache: could not read {} yet", kinds.join(", "))
        }
        Wait::AwaitingCache { object, until: at } => {
            format!("the watch has not reported its write to {object} yet: runs {}", until(at))
        }
        Wait::Paused(pause) => format!("paused by {} {}", pause.by, until(&pause.since)),
    }
}

impl fmt::Display for WhyNotReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(health) = self.health else {
            let known = if self.operators.is_empty() { "none".to_string() } else { self.operators.join(", ") };
            return writeln!(f, "unknown operator {}; operators: {known}", self.operator);
        };
        writeln!(
            f,
            "{} is {health}: {} of {} waiting",
            self.operator,
            self.units_waiting,
            phrases::count(self.units_total, "unit")
        )?;
        if self.units_total == 0 && !self.reason.is_empty() {
            return writeln!(f, "  {}", self.reason);
        }
        if self.units.is_empty() {
            return writeln!(f, "  nothing it read has changed");
        }
        for one in &self.units {
            let mut out = format!("{} {}: {}\n", self.operator, one.unit, describe_wait(&one.wait, self.now));
            if !one.reason.is_empty() {
                let since = times::format_time(self.now, one.since);
                phrases::column(&mut out, "status", &[format!("{}: {}, since {since}", one.health, one.reason)]);
            }
            if !one.causes.is_empty() {
                phrases::column(&mut out, "causes", &[phrases::causes(&one.causes)]);
            }
            if let Some(last) = one.last_decision {
                phrases::column(&mut out, "last", &[format!("decision {last}")]);
            }
            phrases::column(&mut out, "hint", std::slice::from_ref(&one.hint));
            f.write_str(&out)?;
        }
        let more = self.units_waiting.saturating_sub(self.units.len());
        // A request for one unit needs no count of the others.
        if more > 0 && self.units.len() > 1 { writeln!(f, "and {} more", phrases::count(more, "unit")) } else { Ok(()) }
    }
}
