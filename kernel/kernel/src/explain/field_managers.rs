//! Field managers in an object's `managedFields`.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::{Decision, Write, WriteResult};
use crate::plan::WriteOp;
use crate::state::KernelState;
use crate::timestamp::Timestamp;

use super::{FieldPath, phrases};

/// Field manager of the live object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldManager {
    /// Name of the manager.
    pub name: String,
    /// Operation: `Apply` or `Update`.
    pub operation: String,
    /// Time of its last write, as formatted by the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Subresource it wrote through, such as `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
}

/// Formats a manager as `kubectl-patch (Update, 2026-01-01T00:00:00Z)`.
impl fmt::Display for FieldManager {
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

impl FieldManager {
    /// Whether the last write was before a time. API servers report whole seconds.
    pub(super) fn wrote_before(&self, time: Timestamp) -> bool {
        self.seconds().is_none_or(|seconds| seconds < time.to_jiff().as_second())
    }

    fn seconds(&self) -> Option<i64> {
        Some(self.time.as_ref()?.parse::<jiff::Timestamp>().ok()?.as_second())
    }
}

/// Last write of a Switchboard operator, to compare with the managers of the live object.
pub(super) struct OwnWrite {
    /// Field manager of the write.
    manager: String,
    /// Time of the decision.
    at: Timestamp,
    /// Revision after the write.
    revision: u64,
    /// Whether the write deleted the object.
    deleted: bool,
    /// Field managers of all Switchboard operators.
    names: BTreeSet<String>,
}

impl OwnWrite {
    pub(super) fn of(decision: &Decision, write: &Write, decisions: &[&Decision], state: &KernelState) -> Self {
        let wrote = decisions.iter().flat_map(|d| phrases::writes(d).iter().map(move |w| manager_of(d, w)));
        Self {
            manager: manager_of(decision, write),
            at: decision.started,
            revision: match write.result {
                WriteResult::Written { revision } => revision,
                _ => 0,
            },
            deleted: matches!(write.mutation.operation, WriteOp::Delete { .. }),
            names: wrote.chain(state.operators.iter().map(|operator| operator.name.clone())).collect(),
        }
    }
}

/// Returns the field manager of a write.
pub(super) fn manager_of(decision: &Decision, write: &Write) -> String {
    write.mutation.field_manager.clone().unwrap_or_else(|| decision.unit.operator.to_string())
}

/// Returns the manager, other than a Switchboard operator, that changed the object or field after that write.
pub(super) fn later_writer(live: &Value, field: Option<&FieldPath>, own: &OwnWrite) -> Option<FieldManager> {
    // The object has not changed since.
    if !own.deleted && revision(live) == Some(own.revision) {
        return None;
    }
    let all = managers(live, field);
    // Controllers update the status all the time; that does not make them the writer of the other fields.
    let counts = |one: &&FieldManager| field.is_some() || one.subresource.as_deref() != Some("status");
    let newest = all.iter().filter(counts).find(|one| !own.names.contains(&one.name))?;
    let mine = all.iter().filter(counts).find(|one| one.name == own.manager);
    let decided = own.at.to_jiff().as_second();
    let after = match mine {
        // Setting another value takes the field from its owner, so a shared field still has the same value.
        Some(_) if field.is_some() => false,
        // Both times are set by the API server in whole seconds. Within one second the revision decides, unless a
        // controller changed it.
        Some(mine) if newest.seconds() == mine.seconds() => {
            let reported = |one: &FieldManager| one.subresource.is_some() && one.seconds() >= mine.seconds();
            revision(live) > Some(own.revision) && !all.iter().any(reported)
        }
        Some(mine) => newest.seconds() > mine.seconds(),
        None if own.deleted => newest.seconds().is_some_and(|time| time > decided),
        // A written field is owned until another manager takes it; times are in whole seconds.
        None => newest.seconds().is_none_or(|time| time >= decided),
    };
    after.then(|| newest.clone())
}

fn revision(live: &Value) -> Option<u64> {
    live.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

/// Returns the managers of a live object, or of one field, newest first.
pub(super) fn managers(live: &Value, field: Option<&FieldPath>) -> Vec<FieldManager> {
    let all = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let own = all.filter(|entry| field.is_none_or(|field| owns(&entry["fieldsV1"], &field.0)));
    let text = |value: &Value| value.as_str().map(str::to_string);
    let manager = |entry: &Value| FieldManager {
        name: text(&entry["manager"]).unwrap_or_else(|| "unknown".to_string()),
        operation: text(&entry["operation"]).unwrap_or_default(),
        time: text(&entry["time"]),
        subresource: text(&entry["subresource"]).filter(|part| !part.is_empty()),
    };
    let mut found: Vec<FieldManager> = own.map(manager).collect();
    found.sort_by(|a, b| b.time.cmp(&a.time));
    found
}

fn owns(fields: &Value, path: &[String]) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    let Some(fields) = fields.as_object() else { return false };
    if let Some(inner) = fields.get(&format!("f:{step}")) {
        return owns(inner, rest);
    }
    // List items are owned by key, not by index, so any of them may be the one.
    let numbered = step.parse::<usize>().is_ok();
    numbered && fields.iter().any(|(key, inner)| key.starts_with("k:") && owns(inner, rest))
}
