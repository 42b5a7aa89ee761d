//! Reports as users see them: each folder of `tests/explain` is a query, with the result as text and as JSON.
//! `UPDATE=1` rewrites the results.

#![allow(clippy::unwrap_used)]

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_kernel::decision::{Decision, DecisionId};
use switchboard_kernel::explain::{ObjectTarget, PlanReport, ReplayReport, explain_idle, explain_object, report};
use switchboard_kernel::journal::{JournalEntry, JournalRange};
use switchboard_kernel::replay::ReplayComparison;
use switchboard_kernel::resource::ObjectKey;
use switchboard_kernel::state::KernelState;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", tag = "ask")]
enum ExplainQuery {
    Why {
        target: ObjectTarget,
        field: Option<String>,
        entries: Vec<JournalEntry>,
        #[serde(flatten)]
        reach: JournalRange,
        state: KernelState,
        live: Option<Value>,
        /// Whether the kernel found no live object.
        #[serde(default)]
        gone: bool,
        /// Recorded objects that decisions read.
        #[serde(default)]
        read: Vec<(DecisionId, Value)>,
    },
    WhyNot {
        operator: String,
        unit: Option<String>,
        state: KernelState,
    },
    Top {
        state: KernelState,
    },
    Plan {
        report: PlanReport,
    },
    Replay {
        id: DecisionId,
        decision: Option<Box<Decision>>,
        replayed: ReplayComparison,
    },
}

fn answer(question: ExplainQuery) -> (String, String) {
    match question {
        ExplainQuery::Why { target, field, entries, reach, state, live, gone, read } => {
            let field = field.map(|field| field.parse().unwrap());
            let live = live.or(gone.then_some(Value::Null));
            let kept = |id: DecisionId, key: &ObjectKey| {
                let of = |(by, object): &&(DecisionId, Value)| *by == id && object["metadata"]["name"] == *key.name;
                read.iter().find(of).map(|(_, object)| object.clone())
            };
            both(&explain_object(&target, field.as_ref(), &entries, &reach, &state, live.as_ref(), &kept))
        }
        ExplainQuery::WhyNot { operator, unit, state } => both(&explain_idle(&operator, unit.as_deref(), &state)),
        ExplainQuery::Top { state } => both(&report(&state)),
        ExplainQuery::Plan { report } => both(&report),
        ExplainQuery::Replay { id, decision, replayed } => both(&ReplayReport::of(id, decision.as_deref(), replayed)),
    }
}

fn both(report: &(impl Display + Serialize)) -> (String, String) {
    (report.to_string(), serde_json::to_string_pretty(report).unwrap() + "\n")
}

fn check(path: &Path, actual: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, actual).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(expected == actual, "{} is not\n{actual}\nhint: UPDATE=1 takes it over", path.display());
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain");
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

#[test]
fn answers_are_as_recorded() {
    let cases = cases();
    assert!(cases.len() >= 10, "the cases are gone");
    for case in cases {
        let input = fs::read_to_string(case.join("input.json")).unwrap();
        let question: ExplainQuery =
            serde_json::from_str(&input).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
        let is_why = matches!(question, ExplainQuery::Why { .. });
        let (text, json) = answer(question);
        assert!(text.lines().all(|line| line == line.trim_end()), "{}: trailing blanks", case.display());
        for label in ["  because ", "  tried ", "  found ", "  awaited "] {
            if is_why && text.lines().any(|line| line.starts_with(label)) {
                let early = text.lines().take(5).any(|line| line.starts_with(label));
                assert!(early, "{}: {label} comes too late in\n{text}", case.display());
            }
        }
        check(&case.join("expected.txt"), &text);
        check(&case.join("expected.json"), &json);
    }
}
