//! `why-not`: why an operator does not run right now, and what would help.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::decision::{Cause, DecisionId};
use crate::moment::Moment;
use crate::operator::Unit;
use crate::state::{OperatorState, State, UnitState, Wait, Word};

use super::{times, words};

/// Why an operator, or one of its units, does not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhyNot {
    /// Which operator.
    pub operator: String,
    /// The moment of the report.
    pub now: Moment,
    /// Its word; absent when there is no such operator.
    pub word: Option<Word>,
    /// Why it stands so, in its words or the kernel's.
    pub reason: String,
    /// Operators there are, when it is not among them.
    pub known: Vec<String>,
    /// Its units that do not run, worst first.
    pub units: Vec<Held>,
    /// How many of its units do not run; more than are named when there are many.
    pub units_waiting: usize,
    /// All its units.
    pub units_total: usize,
}

/// One unit that does not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// Which.
    pub unit: Unit,
    /// Its word.
    pub word: Word,
    /// Why it does not run right now.
    pub wait: Wait,
    /// What it waits for, what a person must do, or what failed, in its words.
    pub reason: String,
    /// Since when it stands so.
    pub since: Moment,
    /// What has woken it.
    pub causes: Vec<Cause>,
    /// Its last decision.
    pub last: Option<DecisionId>,
    /// What would help.
    pub help: String,
}

/// Why an operator does not run; of one unit, as it is displayed, when given.
pub fn why_not(operator: &str, unit: Option<&str>, state: &State) -> WhyNot {
    let found = state.operators.iter().find(|o| o.name == operator);
    let known = if found.is_some() { vec![] } else { state.operators.iter().map(|o| o.name.clone()).collect() };
    let asked = |one: &&UnitState| unit.is_none_or(|name| one.unit.to_string() == name);
    let units = |o: &OperatorState| o.units.iter().filter(asked).map(|unit| held(operator, unit)).collect();
    WhyNot {
        operator: operator.to_string(),
        now: state.now,
        word: found.map(|o| o.word),
        reason: found.map(|o| o.reason.clone()).unwrap_or_default(),
        known,
        units: found.map(units).unwrap_or_default(),
        units_waiting: found.map_or(0, |o| o.units_waiting.max(o.units.len())),
        units_total: found.map_or(0, |o| o.units_total),
    }
}

fn held(operator: &str, state: &UnitState) -> Held {
    Held {
        unit: state.unit.clone(),
        word: state.word,
        wait: state.wait.clone(),
        reason: state.reason.clone(),
        since: state.since,
        causes: state.causes.clone(),
        last: state.last,
        help: help(operator, state),
    }
}

fn help(operator: &str, state: &UnitState) -> String {
    let unit = if state.unit == Unit::Whole { String::new() } else { format!(" {}", state.unit) };
    let wake = format!("`switchboard wake {operator}{unit}` asks for a run");
    let helps = match (&state.wait, state.word) {
        (Wait::NothingChanged, Word::Blocked) => "do what it asks for; it runs when what it reads changes",
        (Wait::NothingChanged, _) => return format!("change something it reads; or {wake}"),
        (Wait::Running { .. }, _) => "wait for it to end; its time limit ends it otherwise",
        (Wait::Debounced { .. }, _) => "wait; a shorter debounce in switchboard.yaml runs it sooner",
        (Wait::CoolingDown { .. }, _) => "wait; a shorter cool-down in switchboard.yaml runs it sooner",
        (Wait::OutOfBudget { .. }, _) => "wait; a larger write budget in switchboard.yaml runs it sooner",
        (Wait::BackingOff { .. }, _) => return format!("mend what failed; then wait, or {wake}"),
        (Wait::Slowed { .. }, _) => "end the loop: it writes again though what it reads does not change",
        (Wait::Full { .. }, _) => "wait; a higher concurrency in switchboard.yaml makes room",
        (Wait::RequestsSpent { .. }, _) => "wait; more requests per second in switchboard.yaml make room",
        (Wait::MemorySpent, _) => "wait for a running operator to end, or allow more memory in switchboard.yaml",
        (Wait::Parked { .. }, _) => "install what defines the kind, or give leave to read it",
        (Wait::Echo { .. }, _) => "wait; the watch brings its own write back in a moment",
        (Wait::Paused, _) => return format!("`switchboard resume {operator}` lets it go on"),
    };
    helps.to_string()
}

/// What holds a unit back.
pub fn wait(wait: &Wait, now: Moment) -> String {
    let until = |until: &Moment| times::when(now, *until);
    match wait {
        Wait::NothingChanged => "nothing it read has changed".to_string(),
        Wait::Running { since } => format!("runs since {}", until(since)),
        Wait::Debounced { until: at } => format!("debounced: collects changes, runs {}", until(at)),
        Wait::CoolingDown { until: at } => format!("cooling down: it just ran; runs {}", until(at)),
        Wait::OutOfBudget { until: at } => format!("out of budget: its operator may write again {}", until(at)),
        Wait::BackingOff { until: at, failures } => {
            format!("backing off after {}: runs {}", words::count(*failures as usize, "failure"), until(at))
        }
        Wait::Slowed { until: at } => format!("slowed, because it loops or fights: runs {}", until(at)),
        Wait::Full { running } => format!("full: {} under way, as many as allowed", words::count(*running, "run")),
        Wait::RequestsSpent { until: at } => format!("all requests allowed are spent: goes on {}", until(at)),
        Wait::MemorySpent => "the running operator processes use all the memory allowed".to_string(),
        Wait::Parked { missing } => {
            let kinds: Vec<_> = missing.iter().map(|t| format!("{} of cluster {}", t.resource, t.cluster)).collect();
            format!("parked: cannot read {} yet", kinds.join(", "))
        }
        Wait::Echo { object, until: at } => format!("its write to {object} has not come back yet: runs {}", until(at)),
        Wait::Paused => "paused by somebody".to_string(),
    }
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(word) = self.word else {
            let known = if self.known.is_empty() { "none".to_string() } else { self.known.join(", ") };
            return writeln!(f, "there is no operator {}; there are: {known}", self.operator);
        };
        writeln!(
            f,
            "{} is {word}: {} of {} wait",
            self.operator,
            self.units_waiting,
            words::count(self.units_total, "unit")
        )?;
        if self.units_total == 0 && !self.reason.is_empty() {
            return writeln!(f, "  {}", self.reason);
        }
        if self.units.is_empty() {
            return writeln!(f, "  nothing it read has changed");
        }
        for one in &self.units {
            let mut out = format!("{} {}: {}\n", self.operator, one.unit, wait(&one.wait, self.now));
            if !one.reason.is_empty() {
                let since = times::when(self.now, one.since);
                words::column(&mut out, "stands", &[format!("{}: {}, since {since}", one.word, one.reason)]);
            }
            if !one.causes.is_empty() {
                words::column(&mut out, "woken by", &[words::causes(&one.causes)]);
            }
            if let Some(last) = one.last {
                words::column(&mut out, "last", &[format!("decision {last}")]);
            }
            words::column(&mut out, "helps", std::slice::from_ref(&one.help));
            f.write_str(&out)?;
        }
        let more = self.units_waiting.saturating_sub(self.units.len());
        // Who asks for one unit knows that there are others.
        if more > 0 && self.units.len() > 1 { writeln!(f, "and {} more", words::count(more, "unit")) } else { Ok(()) }
    }
}
