//! Summary of a socket's plugs.

use serde_json::{Value, json};

use crate::coupling::{
    COUPLED_LABEL, FAILING_LABEL, ObjectIdentity, PLUG_ANNOTATION, PLUG_NAMESPACE_LABEL, PLUG_UID_LABEL,
    StatusCondition, conditions,
};
use crate::model::PLUGS;

/// Maximum number of plugs that a socket lists by name, to limit the size of the object.
pub const MAX_LISTED_PLUGS: usize = 1000;

/// Plugs of a socket, from their records.
pub(super) struct PlugSummary {
    /// All plugs, by namespace and name.
    pub all: Vec<ObjectIdentity>,
    coupled: Vec<ObjectIdentity>,
    failing: usize,
}

impl PlugSummary {
    pub fn of(records: &[Value]) -> Self {
        let has = |record: &Value, label: &str| record["metadata"]["labels"][label] == "true";
        let plug = |record: &Value| {
            let metadata = &record["metadata"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
            ObjectIdentity {
                namespace: text(&metadata["labels"][PLUG_NAMESPACE_LABEL]),
                name: text(&metadata["annotations"][PLUG_ANNOTATION]),
                uid: text(&metadata["labels"][PLUG_UID_LABEL]),
            }
        };
        Self {
            all: records.iter().map(plug).collect(),
            coupled: records.iter().filter(|record| has(record, COUPLED_LABEL)).map(plug).collect(),
            failing: records.iter().filter(|record| has(record, FAILING_LABEL)).count(),
        }
    }
}

/// Returns the status of a socket. Fields about the socket itself are taken from `known`, conditions so far from
/// `before`.
pub(super) fn status(
    sum: &PlugSummary,
    known: &Value,
    failed: Option<&str>,
    generation: i64,
    before: &Value,
    now: &str,
) -> Value {
    let count = sum.coupled.len();
    let coupled = |status, reason: &str, message: String| ("Coupled", status, reason.to_string(), message);
    let wanted: Vec<StatusCondition> = match (failed, count) {
        (Some(words), _) => vec![
            coupled(false, "Error", "coupling failed".to_string()),
            ("Failed", true, "Error".to_string(), words.to_string()),
        ],
        (None, 0) => vec![coupled(false, "SocketEmpty", "0 plugs coupled".to_string())],
        (None, 1) => vec![coupled(true, "SocketCoupled", "1 plug coupled".to_string())],
        (None, _) => vec![coupled(true, "SocketCoupled", format!("{count} plugs coupled"))],
    };
    let listed = |plug: &ObjectIdentity| json!({"apiVersion": PLUGS.api_version(), "kind": PLUGS.kind, "namespace": plug.namespace, "name": plug.name, "uid": plug.uid});
    let waiting = sum.all.len().saturating_sub(count).saturating_sub(sum.failing.min(sum.all.len() - count));
    let mut status = json!({
        "conditions": conditions(wanted, generation, before, now),
        "plugs": {"coupled": count, "failing": sum.failing, "waiting": waiting},
    });
    if count > 0 {
        status["coupledPlugs"] = sum.coupled.iter().take(MAX_LISTED_PLUGS).map(listed).collect();
    }
    for field in OWN_FIELDS {
        if !known[field].is_null() {
            status[field] = known[field].clone();
        }
    }
    status
}

/// Fields of the status about the socket itself.
const OWN_FIELDS: [&str; 5] = ["created", "made", "replaced", "abandoned", "apparatus"];

/// Whether two statuses differ only in the number of plugs.
pub(super) fn differ_only_in_counts(before: &Value, after: &Value) -> bool {
    let bare = |status: &Value| {
        let mut bare = status.clone();
        for field in ["plugs", "coupledPlugs", "summed"] {
            bare.as_object_mut().map(|fields| fields.remove(field));
        }
        let conditions = bare["conditions"].as_array_mut().into_iter().flatten();
        for coupled in conditions.filter(|one| one["type"] == "Coupled") {
            coupled["message"] = Value::Null;
        }
        bare
    };
    bare(before) == bare(after)
}
