//! One object of one cluster: itself, who owns its fields, what happened to it, what it has to do with, and why it is so.

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::explain::{self, Target};
use switchboard_kernel::journal::Entry;
use switchboard_kernel::moment::Moment;
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::resource::{ObjectKey, TableKey};
use switchboard_object::yaml;

use super::relations::{Relation, relations};
use crate::piece::NO_NAMESPACE;
use crate::problem::Problem;
use crate::pulse;
use crate::recent::Brief;
use crate::source::Source;
use crate::veil::Veil;

/// How many entries of the journal are looked at to say why.
const MAX_ENTRIES: usize = 1_500;
/// How many decisions a history shows.
const MAX_HISTORY: usize = 30;
/// How many fields of one manager are named.
const MAX_FIELDS: usize = 200;
/// How many bytes of YAML are shown.
const MAX_YAML_BYTES: usize = 256 * 1024;
/// How many events are shown.
const MAX_EVENTS: usize = 20;

/// An object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectPage {
    /// Which.
    #[serde(flatten)]
    pub key: ObjectKey,
    /// The moment.
    pub now: Moment,
    /// Changes with what is shown.
    #[serde(skip)]
    pub version: String,
    /// Whether it is there; also false when nobody can say.
    pub there: bool,
    /// Why its cluster does not say whether it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// Itself as YAML, masked.
    pub yaml: String,
    /// Who owns which fields.
    pub owners: Vec<Owner>,
    /// Decisions that wrote or read it, newest first.
    pub history: Vec<Moved>,
    /// What it has to do with.
    pub relations: Vec<Relation>,
    /// Why it is so, in words.
    pub why: String,
    /// What was told of it.
    pub events: Vec<Told>,
}

/// A field manager and what it owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Its name.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// When it last wrote.
    pub time: String,
    /// The part it wrote through.
    pub subresource: String,
    /// The fields, as paths.
    pub fields: Vec<String>,
    /// Fields that were left off.
    pub left_off: usize,
}

/// A decision that had to do with the object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    /// Whether it wrote it; otherwise it read it.
    pub wrote: bool,
    /// The decision.
    #[serde(flatten)]
    pub brief: Brief,
}

/// An Event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// When it was last seen.
    pub time: String,
    /// `Normal` or `Warning`.
    pub r#type: String,
    /// Its reason.
    pub reason: String,
    /// What it says.
    pub message: String,
}

/// An object by the parts of its address.
pub async fn key(
    source: &Source,
    cluster: &str,
    kind: &str,
    namespace: &str,
    name: &str,
) -> Result<ObjectKey, Problem> {
    let resource = source.kind(cluster, kind).await?;
    let namespace = if namespace == NO_NAMESPACE { "" } else { namespace };
    let table = TableKey { cluster: ClusterName::new(cluster), resource: resource.into() };
    Ok(ObjectKey { table, namespace: namespace.into(), name: name.into() })
}

/// One object.
pub async fn load(source: &Source, key: ObjectKey) -> Result<ObjectPage, Problem> {
    let (live, unread) = match live(source, &key).await? {
        Ok(live) => (live, None),
        Err(why) => (None, Some(why)),
    };
    let (state, briefs, veil) = (source.state().await?, source.briefs().await?, source.veil().await?);
    let history = briefs.iter().filter_map(|brief| {
        let wrote = brief.wrote.contains(&key);
        (wrote || brief.read.contains(&key) || brief.missed.contains(&key))
            .then(|| Moved { wrote, brief: Brief { said: veil.text(&brief.said), ..brief.clone() } })
    });
    let history: Vec<Moved> = history.take(MAX_HISTORY).collect();
    let related = relations(source, &key, live.as_ref(), &briefs).await?;
    Ok(ObjectPage {
        now: state.now,
        version: pulse::version(&state),
        there: live.is_some(),
        yaml: live.as_ref().map(|live| shown(live, &veil)).unwrap_or_default(),
        owners: live.as_ref().map(|live| owners(live, &veil)).unwrap_or_default(),
        history,
        relations: related,
        why: veil.text(&report(source, &key, told(&live, unread.is_none()).as_ref()).await?.to_string()),
        events: events(source, &key, &veil).await,
        unread: unread.map(|why| veil.text(&why)),
        key,
    })
}

/// An object as it is now, if its cluster says so: what is known of it besides is told whatever that one says.
async fn live(source: &Source, key: &ObjectKey) -> Result<Result<Option<Value>, String>, Problem> {
    match source.get(key).await {
        Ok(live) => Ok(Ok(live)),
        Err(Problem::Cluster(why)) => Ok(Err(why)),
        Err(other) => Err(other),
    }
}

/// What is told of a live object: null when it is not there, nothing when nobody could say.
fn told(live: &Option<Value>, known: bool) -> Option<Value> {
    known.then(|| live.clone().unwrap_or(Value::Null))
}

/// Why an object is as it is, as data.
pub async fn why(source: &Source, key: &ObjectKey) -> Result<explain::Why, Problem> {
    let live = live(source, key).await?;
    report(source, key, told(&live.clone().unwrap_or_default(), live.is_ok()).as_ref()).await
}

async fn report(source: &Source, key: &ObjectKey, live: Option<&Value>) -> Result<explain::Why, Problem> {
    let state = source.state().await?;
    let wanted = key.clone();
    let (mut entries, reach, last) = source
        .handle
        .journal(move |journal| {
            let entries: Vec<Entry> = journal.newest().take(MAX_ENTRIES).collect();
            (entries, journal.reach(), journal.last_write_of(&wanted))
        })
        .await?;
    // The last write may lie further back than is looked.
    if let Some(last) = last {
        let oldest = entries.iter().rev().find_map(|entry| match entry {
            Entry::Decision(decision) => Some(decision.id),
            Entry::Finding(_) => None,
        });
        if oldest.is_some_and(|oldest| last.id < oldest) {
            entries.push(Entry::Decision(Box::new(last)));
        }
    }
    Ok(explain::why(&Target::of(key), None, &entries, &reach, &state, live, &|_, _| None))
}

fn shown(live: &Value, veil: &Veil) -> String {
    let mut object = live.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // They have a table of their own.
        metadata.remove("managedFields");
    }
    let mut text = yaml::to_string(&veil.value(&object));
    if text.len() > MAX_YAML_BYTES {
        text.truncate(text.floor_char_boundary(MAX_YAML_BYTES));
        text.push_str("\n# the rest is left off\n");
    }
    text
}

/// Who owns which fields, as the object says, newest first. Items of sets and keys of lists are values, and masked as such.
pub fn owners(live: &Value, veil: &Veil) -> Vec<Owner> {
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let owner = |entry: &Value| {
        let mut fields = Vec::new();
        paths(&entry["fieldsV1"], String::new(), "", veil, &mut fields);
        let left_off = fields.len().saturating_sub(MAX_FIELDS);
        fields.truncate(MAX_FIELDS);
        Owner {
            manager: veil.text(&text(&entry["manager"])),
            operation: text(&entry["operation"]),
            time: text(&entry["time"]),
            subresource: text(&entry["subresource"]),
            fields,
            left_off,
        }
    };
    let mut owners: Vec<Owner> = entries.map(owner).collect();
    owners.sort_by(|a, b| b.time.cmp(&a.time));
    owners
}

/// The leaves of a tree of fields, as paths. `within` is the field they stand in.
fn paths(fields: &Value, at: String, within: &str, veil: &Veil, out: &mut Vec<String>) {
    let inner: Vec<(&String, &Value)> =
        fields.as_object().into_iter().flatten().filter(|(key, _)| *key != ".").collect();
    if inner.is_empty() && !at.is_empty() {
        out.push(veil.text(&at));
        return;
    }
    for (key, value) in inner {
        let (step, name) = match key.split_once(':') {
            Some(("f", name)) if name.contains(['.', '/']) => (format!("[{name:?}]"), name),
            Some(("f", name)) => (format!(".{name}"), name),
            Some(("k" | "v", keys)) => (format!("[{}]", item(keys, within, veil)), ""),
            _ => (format!("[{key}]"), ""),
        };
        paths(value, format!("{at}{step}"), name, veil, out);
    }
}

/// What an item of a list is known by: a value of its own, or keys that are fields.
fn item(keys: &str, within: &str, veil: &Veil) -> String {
    match serde_json::from_str::<Value>(keys) {
        Ok(keys) => veil.value(&serde_json::json!({ within: keys }))[within].to_string(),
        Err(_) => veil.named(within, keys),
    }
}

/// What was told of an object. A cluster that does not say takes nothing from the page.
pub async fn events(source: &Source, key: &ObjectKey, veil: &Veil) -> Vec<Told> {
    let namespace = if key.namespace.is_empty() { "default" } else { &*key.namespace };
    let kind = switchboard_kernel::resource::Resource::namespaced("", "v1", "Event", "events");
    let query = format!("limit=500&fieldSelector=involvedObject.name%3D{}", crate::piece::escaped(&key.name));
    let Ok(answer) = source.read(&key.table.cluster.0, &format!("{}?{query}", kind.path(namespace))).await else {
        return Vec::new();
    };
    let of_kind = |event: &&Value| event["involvedObject"]["kind"] == *key.table.resource.kind;
    let text = |value: &Value| value.as_str().map(str::to_string);
    let mut told: Vec<Told> = answer["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(of_kind)
        .map(|event| Told {
            time: text(&event["lastTimestamp"])
                .or_else(|| text(&event["eventTime"]))
                .or_else(|| text(&event["metadata"]["creationTimestamp"]))
                .unwrap_or_default(),
            r#type: text(&event["type"]).unwrap_or_default(),
            reason: text(&event["reason"]).unwrap_or_default(),
            message: veil.text(&text(&event["message"]).unwrap_or_default()),
        })
        .collect();
    told.sort_by(|a, b| b.time.cmp(&a.time));
    told.truncate(MAX_EVENTS);
    told
}
