//! Object of a cluster: its YAML, field owners, history, relations, and the explanation of its state.

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::explain::{self, ObjectTarget};
use switchboard_kernel::journal::JournalEntry;
use switchboard_kernel::resource::{ObjectKey, TableKey};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::ClusterName;
use switchboard_object::yaml;

use super::relations::{Relation, relations};
use super::resource_tree::{self, TreeNode};
use crate::components::NO_NAMESPACE;
use crate::problem::ConsoleProblem;
use crate::recent::DecisionSummary;
use crate::redact::PageRedactor;
use crate::source::ConsoleSource;
use crate::state_cache;

/// Maximum number of journal entries that are searched for an explanation.
const MAX_ENTRIES: usize = 1_500;
/// Maximum number of decisions in a history.
const MAX_HISTORY: usize = 30;
/// Maximum number of listed fields of a manager.
const MAX_FIELDS: usize = 200;
/// Maximum size of the shown YAML.
const MAX_YAML_BYTES: usize = 256 * 1024;
/// Maximum number of shown events.
const MAX_EVENTS: usize = 20;

/// Data of an object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectPage {
    /// Key of the object.
    #[serde(flatten)]
    pub key: ObjectKey,
    /// Time of the page.
    pub now: Timestamp,
    /// Version of the data.
    #[serde(skip)]
    pub version: String,
    /// Whether the object exists; false if this is unknown.
    pub exists: bool,
    /// Error of the cluster, if the object could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_error: Option<String>,
    /// YAML of the object, redacted.
    pub yaml: String,
    /// Field managers with their fields.
    pub owners: Vec<FieldOwner>,
    /// Decisions that wrote or read the object, newest first.
    pub history: Vec<HistoryRow>,
    /// Relations to other objects.
    pub relations: Vec<Relation>,
    /// Objects that the object deploys or owns, with their health.
    pub resource_tree: TreeNode,
    /// Explanation of the object's state, as text.
    pub why: String,
    /// Events of the object.
    pub events: Vec<EventRow>,
}

/// Field manager with its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldOwner {
    /// Name of the manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// Time of the last write.
    pub time: String,
    /// Subresource of the writes.
    pub subresource: String,
    /// Paths of the fields.
    pub fields: Vec<String>,
    /// Number of omitted fields.
    pub omitted: usize,
}

/// Decision that wrote or read the object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryRow {
    /// Whether the decision wrote the object; otherwise it read it.
    pub is_write: bool,
    /// Summary of the decision.
    #[serde(flatten)]
    pub summary: DecisionSummary,
}

impl AsRef<DecisionSummary> for HistoryRow {
    fn as_ref(&self) -> &DecisionSummary {
        &self.summary
    }
}

/// Event of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventRow {
    /// Time of the last occurrence.
    pub time: String,
    /// `Normal` or `Warning`.
    pub r#type: String,
    /// Reason of the event.
    pub reason: String,
    /// Message of the event.
    pub message: String,
}

/// Returns the key of an object from the parts of its path.
pub async fn key(
    source: &ConsoleSource,
    cluster: &str,
    kind: &str,
    namespace: &str,
    name: &str,
) -> Result<ObjectKey, ConsoleProblem> {
    let resource = source.kind(cluster, kind).await?;
    let namespace = if namespace == NO_NAMESPACE { "" } else { namespace };
    let table = TableKey { cluster: ClusterName::new(cluster), resource: resource.into() };
    Ok(ObjectKey { table, namespace: namespace.into(), name: name.into() })
}

/// Loads an object.
pub async fn load(source: &ConsoleSource, key: ObjectKey) -> Result<ObjectPage, ConsoleProblem> {
    let (live, read_error) = match live(source, &key).await? {
        Ok(live) => (live, None),
        Err(why) => (None, Some(why)),
    };
    let (state, summaries, redactor) = (source.state().await?, source.summaries().await?, source.redactor().await?);
    let history = summaries.iter().filter_map(|summary| {
        let is_write = summary.wrote.contains(&key);
        (is_write || summary.read.contains(&key) || summary.missed.contains(&key)).then(|| HistoryRow {
            is_write,
            summary: DecisionSummary { message: redactor.text(&summary.message), ..summary.clone() },
        })
    });
    let history: Vec<HistoryRow> = history.take(MAX_HISTORY).collect();
    let related = relations(source, &key, live.as_ref(), &summaries).await?;
    Ok(ObjectPage {
        now: state.now,
        version: state_cache::version(&state),
        exists: live.is_some(),
        yaml: live.as_ref().map(|live| redacted_yaml(live, &redactor)).unwrap_or_default(),
        owners: live.as_ref().map(|live| owners(live, &redactor)).unwrap_or_default(),
        history,
        relations: related,
        resource_tree: resource_tree::load(source, &key, live.as_ref(), &redactor).await?,
        why: redactor.text(&report(source, &key, known_value(&live, read_error.is_none()).as_ref()).await?.to_string()),
        events: events(source, &key, &redactor).await,
        read_error: read_error.map(|why| redactor.text(&why)),
        key,
    })
}

/// Reads a live object. An error of its cluster does not prevent the rest of the page.
async fn live(source: &ConsoleSource, key: &ObjectKey) -> Result<Result<Option<Value>, String>, ConsoleProblem> {
    match source.get(key).await {
        Ok(live) => Ok(Ok(live)),
        Err(ConsoleProblem::Cluster(why)) => Ok(Err(why)),
        Err(other) => Err(other),
    }
}

/// Returns the live object for the explanation: null if it does not exist, `None` if this is unknown.
fn known_value(live: &Option<Value>, known: bool) -> Option<Value> {
    known.then(|| live.clone().unwrap_or(Value::Null))
}

/// Returns the explanation of an object's state as data.
pub async fn why(source: &ConsoleSource, key: &ObjectKey) -> Result<explain::WhyReport, ConsoleProblem> {
    let live = live(source, key).await?;
    report(source, key, known_value(&live.clone().unwrap_or_default(), live.is_ok()).as_ref()).await
}

async fn report(
    source: &ConsoleSource,
    key: &ObjectKey,
    live: Option<&Value>,
) -> Result<explain::WhyReport, ConsoleProblem> {
    let state = source.state().await?;
    let target = key.clone();
    let (mut entries, reach, last) = source
        .handle
        .journal(move |journal| {
            let entries: Vec<JournalEntry> = journal.newest().take(MAX_ENTRIES).collect();
            (entries, journal.range(), journal.last_write_of(&target))
        })
        .await?;
    // The last write may be older than the searched entries.
    if let Some(last) = last {
        let oldest = entries.iter().rev().find_map(|entry| match entry {
            JournalEntry::Decision(decision) => Some(decision.id),
            JournalEntry::Finding(_) => None,
        });
        if oldest.is_some_and(|oldest| last.id < oldest) {
            entries.push(JournalEntry::Decision(Box::new(last)));
        }
    }
    Ok(explain::explain_object(&ObjectTarget::of(key), None, &entries, &reach, &state, live, &|_, _| None))
}

fn redacted_yaml(live: &Value, redactor: &PageRedactor) -> String {
    let mut object = live.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // Managed fields have their own table.
        metadata.remove("managedFields");
    }
    let mut text = yaml::to_string(&redactor.value(&object));
    if text.len() > MAX_YAML_BYTES {
        text.truncate(text.floor_char_boundary(MAX_YAML_BYTES));
        text.push_str("\n# truncated\n");
    }
    text
}

/// Returns the field managers of an object, newest first. Items of sets and keys of lists are values and are redacted.
pub fn owners(live: &Value, redactor: &PageRedactor) -> Vec<FieldOwner> {
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let owner = |entry: &Value| {
        let mut fields = Vec::new();
        paths(&entry["fieldsV1"], String::new(), "", redactor, &mut fields);
        let omitted = fields.len().saturating_sub(MAX_FIELDS);
        fields.truncate(MAX_FIELDS);
        FieldOwner {
            manager: redactor.text(&text(&entry["manager"])),
            operation: text(&entry["operation"]),
            time: text(&entry["time"]),
            subresource: text(&entry["subresource"]),
            fields,
            omitted,
        }
    };
    let mut owners: Vec<FieldOwner> = entries.map(owner).collect();
    owners.sort_by(|a, b| b.time.cmp(&a.time));
    owners
}

/// Collects the paths of the leaves of a field tree. `within` is the enclosing field.
fn paths(fields: &Value, at: String, within: &str, redactor: &PageRedactor, out: &mut Vec<String>) {
    let inner: Vec<(&String, &Value)> =
        fields.as_object().into_iter().flatten().filter(|(key, _)| *key != ".").collect();
    if inner.is_empty() && !at.is_empty() {
        out.push(redactor.text(&at));
        return;
    }
    for (key, value) in inner {
        let (step, name) = match key.split_once(':') {
            Some(("f", name)) if name.contains(['.', '/']) => (format!("[{name:?}]"), name),
            Some(("f", name)) => (format!(".{name}"), name),
            Some(("k" | "v", keys)) => (format!("[{}]", item(keys, within, redactor)), ""),
            _ => (format!("[{key}]"), ""),
        };
        paths(value, format!("{at}{step}"), name, redactor, out);
    }
}

/// Returns the redacted identity of a list item: its value, or its key fields.
fn item(keys: &str, within: &str, redactor: &PageRedactor) -> String {
    match serde_json::from_str::<Value>(keys) {
        Ok(keys) => redactor.value(&serde_json::json!({ within: keys }))[within].to_string(),
        Err(_) => redactor.named(within, keys),
    }
}

/// Returns the events of an object. An error of the cluster yields none.
pub async fn events(source: &ConsoleSource, key: &ObjectKey, redactor: &PageRedactor) -> Vec<EventRow> {
    let namespace = if key.namespace.is_empty() { "default" } else { &*key.namespace };
    let kind = switchboard_kernel::resource::Resource::namespaced("", "v1", "Event", "events");
    let query =
        format!("limit=500&fieldSelector=involvedObject.name%3D{}", crate::components::percent_encode(&key.name));
    let Ok(answer) = source.read(&key.table.cluster.0, &format!("{}?{query}", kind.path(namespace))).await else {
        return Vec::new();
    };
    let of_kind = |event: &&Value| event["involvedObject"]["kind"] == *key.table.resource.kind;
    let text = |value: &Value| value.as_str().map(str::to_string);
    let mut event_rows: Vec<EventRow> = answer["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(of_kind)
        .map(|event| EventRow {
            time: text(&event["lastTimestamp"])
                .or_else(|| text(&event["eventTime"]))
                .or_else(|| text(&event["metadata"]["creationTimestamp"]))
                .unwrap_or_default(),
            r#type: text(&event["type"]).unwrap_or_default(),
            reason: text(&event["reason"]).unwrap_or_default(),
            message: redactor.text(&text(&event["message"]).unwrap_or_default()),
        })
        .collect();
    event_rows.sort_by(|a, b| b.time.cmp(&a.time));
    event_rows.truncate(MAX_EVENTS);
    event_rows
}
