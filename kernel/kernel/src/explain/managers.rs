//! Who owns what, as the object itself says.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::{Decision, Write, WriteResult};
use crate::moment::Moment;
use crate::plan::Act;
use crate::state::State;

use super::{FieldPath, words};

/// A field manager of the object as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manager {
    /// Its name.
    pub name: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// When it last wrote, in the API server's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The part it wrote through, such as `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
}

/// `kubectl-patch (Update, 2026-01-01T00:00:00Z)`.
impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.name, self.operation)?;
        if let Some(part) = &self.subresource {
            write!(f, " of {part}")?;
        }
        if let Some(time) = &self.time {
            write!(f, ", {time}")?;
        }
        f.write_str(")")
    }
}

impl Manager {
    fn seconds(&self) -> Option<i64> {
        Some(self.time.as_ref()?.parse::<jiff::Timestamp>().ok()?.as_second())
    }
}

/// The last write of an operator here, to hold a live object's managers against.
pub(super) struct Own {
    /// The name it wrote under.
    manager: String,
    /// When it was decided.
    at: Moment,
    /// The revision it made.
    revision: u64,
    /// Whether it took the object away.
    deleted: bool,
    /// Every name that operators here write under.
    names: BTreeSet<String>,
}

impl Own {
    pub(super) fn of(decision: &Decision, write: &Write, decisions: &[&Decision], state: &State) -> Self {
        let wrote = decisions.iter().flat_map(|d| words::writes(d).iter().map(move |w| under(d, w)));
        Self {
            manager: under(decision, write),
            at: decision.started,
            revision: match write.result {
                WriteResult::Written { revision } => revision,
                _ => 0,
            },
            deleted: matches!(write.mutation.act, Act::Delete { .. }),
            names: wrote.chain(state.operators.iter().map(|operator| operator.name.clone())).collect(),
        }
    }
}

/// The name that a write was made under.
pub(super) fn under(decision: &Decision, write: &Write) -> String {
    write.mutation.field_manager.clone().unwrap_or_else(|| decision.unit.operator.to_string())
}

/// Who is no operator here and wrote the object, or the field, after that write.
pub(super) fn later(live: &Value, field: Option<&FieldPath>, own: &Own) -> Option<Manager> {
    // Nothing has happened to it since.
    if !own.deleted && revision(live) == Some(own.revision) {
        return None;
    }
    let all = managers(live, field);
    // Controllers report in the status all the time; that makes nobody the writer of the rest.
    let counts = |one: &&Manager| field.is_some() || one.subresource.as_deref() != Some("status");
    let newest = all.iter().filter(counts).find(|one| !own.names.contains(&one.name))?;
    let mine = all.iter().filter(counts).find(|one| one.name == own.manager);
    let decided = own.at.timestamp().as_second();
    let after = match mine {
        // Who writes another value takes the field from its owner: to own it together is to agree.
        Some(_) if field.is_some() => false,
        // Both times are the API server's, in whole seconds; within one, the revision tells, unless a controller made it.
        Some(mine) if newest.seconds() == mine.seconds() => {
            let reported = |one: &Manager| one.subresource.is_some() && one.seconds() >= mine.seconds();
            revision(live) > Some(own.revision) && !all.iter().any(reported)
        }
        Some(mine) => newest.seconds() > mine.seconds(),
        None if own.deleted => newest.seconds().is_some_and(|time| time > decided),
        // What was written is owned until somebody takes it; times have whole seconds.
        None => newest.seconds().is_none_or(|time| time >= decided),
    };
    after.then(|| newest.clone())
}

fn revision(live: &Value) -> Option<u64> {
    live.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

/// The managers of a live object, newest first; of one field when given.
pub(super) fn managers(live: &Value, field: Option<&FieldPath>) -> Vec<Manager> {
    let all = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let own = all.filter(|entry| field.is_none_or(|field| owns(&entry["fieldsV1"], &field.0)));
    let text = |value: &Value| value.as_str().map(str::to_string);
    let manager = |entry: &Value| Manager {
        name: text(&entry["manager"]).unwrap_or_else(|| "unknown".to_string()),
        operation: text(&entry["operation"]).unwrap_or_default(),
        time: text(&entry["time"]),
        subresource: text(&entry["subresource"]).filter(|part| !part.is_empty()),
    };
    let mut found: Vec<Manager> = own.map(manager).collect();
    found.sort_by(|a, b| b.time.cmp(&a.time));
    found
}

fn owns(fields: &Value, path: &[String]) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    let Some(fields) = fields.as_object() else { return false };
    if let Some(inner) = fields.get(&format!("f:{step}")) {
        return owns(inner, rest);
    }
    // Items of lists are owned by key, not by place: any of them may be the one.
    let numbered = step.parse::<usize>().is_ok();
    numbered && fields.iter().any(|(key, inner)| key.starts_with("k:") && owns(inner, rest))
}
