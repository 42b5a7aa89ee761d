//! Final state of a run, and its comparison with the undisturbed run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use switchboard_cluster::store::{ObjectStore, StoreChange, StoreKey};
use switchboard_kernel::row::Row;

use crate::names::{CreatedObjects, StableNames};
use crate::normalization::{difference, normalize};
use crate::rows::RowCounts;

/// Number of times an object was created and deleted by any client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ObjectCount {
    created: u32,
    deleted: u32,
}

/// All writes of a run.
#[derive(Default)]
pub struct WriteLog {
    counts: BTreeMap<StoreKey, ObjectCount>,
    /// Number of each Kubernetes Event, by its content and object; its name is random.
    event_counts: BTreeMap<(String, String), u32>,
    created: CreatedObjects,
}

/// Final state of a run.
pub struct FinalState {
    counts: BTreeMap<StoreKey, ObjectCount>,
    event_counts: BTreeMap<String, u32>,
    names: StableNames,
    store: ObjectStore,
    /// Cache of normalized objects: the undisturbed run is compared with every other run.
    objects: Mutex<HashMap<StoreKey, Option<Arc<Value>>>>,
    /// Number of writes the operator sent, and of events it received.
    pub writes: u32,
    pub events: u32,
    /// Final rows, and the numbers of commits.
    pub rows: Vec<Row>,
    pub row_counts: RowCounts,
}

impl WriteLog {
    pub fn record(&mut self, changes: &[Arc<StoreChange>]) {
        for change in changes {
            if change.key.resource() == "events" {
                if change.before.is_none() {
                    *self.event_counts.entry(event_key(&value(change.object()))).or_default() += 1;
                }
                continue;
            }
            let count = self.counts.entry(change.key.clone()).or_default();
            count.created += u32::from(change.before.is_none());
            count.deleted += u32::from(change.after.is_none());
            if change.before.is_none() {
                self.created.record(&change.key, &value(change.object()));
            }
        }
    }

    pub fn end(self, store: ObjectStore, writes: u32, events: u32) -> FinalState {
        let (mut counts, mut event_counts) = (BTreeMap::<StoreKey, ObjectCount>::new(), BTreeMap::<String, u32>::new());
        for (key, count) in &self.counts {
            let all = counts.entry(self.created.counted_as(key)).or_default();
            all.created += count.created;
            all.deleted += count.deleted;
        }
        for ((what, name), times) in &self.event_counts {
            *event_counts.entry(format!("{what}{}", self.created.event_name(name))).or_default() += times;
        }
        let names = self.created.names(&store);
        FinalState {
            counts,
            event_counts,
            names,
            store,
            objects: Mutex::default(),
            writes,
            events,
            rows: Vec::new(),
            row_counts: RowCounts::default(),
        }
    }
}

impl FinalState {
    /// Adds the final rows, and the numbers of commits.
    pub fn with_rows(self, rows: Vec<Row>, row_counts: RowCounts) -> FinalState {
        FinalState { rows, row_counts, ..self }
    }

    /// Returns the first row that differs from the undisturbed run.
    fn row_difference(&self, undisturbed: &FinalState) -> Option<String> {
        let keyed = |rows: &[Row]| rows.iter().map(|row| (row.key.clone(), row.clone())).collect::<BTreeMap<_, _>>();
        let (wanted, found) = (keyed(&undisturbed.rows), keyed(&self.rows));
        wanted.keys().chain(found.keys()).find_map(|key| match (wanted.get(key), found.get(key)) {
            (Some(_), None) => Some(format!("{key} is missing")),
            (None, Some(_)) => Some(format!("{key} is too many")),
            (Some(wanted), Some(found)) if wanted != found => {
                let [wanted, found] = [wanted, found].map(|row| row.object().value());
                Some(format!("{key} is {found}, undisturbed {wanted}"))
            }
            _ => None,
        })
    }

    /// Returns all written objects, and the stable names of those with generated names.
    fn objects(&self) -> impl Iterator<Item = &StoreKey> {
        self.counts.keys().chain(self.names.numbered())
    }

    /// Returns the final object, without values that differ between any two runs.
    fn object(&self, key: &StoreKey) -> Option<Arc<Value>> {
        let mut asked = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(object) = asked.get(key) {
            return object.clone();
        }
        let record = self.store.get(self.names.real(key));
        let object = record.map(|record| Arc::new(normalize(value(&record.bytes), self.names.replacements())));
        asked.insert(key.clone(), object.clone());
        object
    }

    /// Returns the first difference from the undisturbed run. `all_seen` is whether the operator has seen all
    /// intermediate states, and so must have written an Event for each.
    pub fn differs_from(&self, undisturbed: &FinalState, all_seen: bool) -> Option<String> {
        if let Some(how) = self.row_difference(undisturbed) {
            return Some(how);
        }
        for key in undisturbed.objects().chain(self.objects()) {
            if let Some(how) = difference(undisturbed.object(key).as_deref(), self.object(key).as_deref()) {
                return Some(format!("{} {how}", display_key(key)));
            }
        }
        for (key, count) in &self.counts {
            let allowed = undisturbed.counts.get(key).copied().unwrap_or_default();
            for (verb, found, allowed) in
                [("created", count.created, allowed.created), ("deleted", count.deleted, allowed.deleted)]
            {
                if found > allowed {
                    return Some(format!("{} was {verb} {found} times, undisturbed {allowed}", display_key(key)));
                }
            }
        }
        let all: BTreeSet<&String> = undisturbed.event_counts.keys().chain(self.event_counts.keys()).collect();
        all.into_iter().find_map(|what| {
            let count = |ended: &FinalState| ended.event_counts.get(what).copied().unwrap_or_default();
            let (found, wanted) = (count(self), count(undisturbed));
            let wrong = found > wanted || (all_seen && found < wanted);
            wrong.then(|| format!("{what} was written {found} times, undisturbed {wanted}"))
        })
    }
}

/// Returns the content and object name of an Event, such as `PlugCoupled of Plug shop/` and `web`.
fn event_key(event: &Value) -> (String, String) {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let [kind, namespace, name] = ["kind", "namespace", "name"].map(|field| text(&format!("/involvedObject/{field}")));
    (format!("{} of {kind} {namespace}/", text("/reason")), name.to_string())
}

/// Formats a key as `configmaps/shop/web`.
pub fn display_key(key: &StoreKey) -> String {
    let namespace = if key.namespace().is_empty() { String::new() } else { format!("{}/", key.namespace()) };
    format!("{}/{namespace}{}", key.resource(), key.name())
}

pub fn value(bytes: &[u8]) -> Value {
    // The stored bytes were encoded by the API server.
    serde_json::from_slice(bytes).unwrap_or_default()
}

pub fn uid(object: &Value) -> Option<String> {
    object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_string)
}
