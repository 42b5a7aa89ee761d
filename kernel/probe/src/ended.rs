//! What a run left behind, and whether that is what the undisturbed run left.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use switchboard_cluster::store::{Change, Key, Store};

use crate::mask::{difference, masked};
use crate::names::{Made, Names};

/// How often an object was made and removed, by whomever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    created: u32,
    deleted: u32,
}

/// All that was written in a run.
#[derive(Default)]
pub struct Written {
    counts: BTreeMap<Key, Count>,
    /// How often each Kubernetes Event was told, by what it tells and of whom: its name is chance.
    told: BTreeMap<(String, String), u32>,
    made: Made,
}

/// How a run ended.
pub struct Ended {
    counts: BTreeMap<Key, Count>,
    told: BTreeMap<String, u32>,
    names: Names,
    store: Store,
    /// Objects that were asked for: those of the undisturbed run are, after each other one.
    asked: Mutex<HashMap<Key, Option<Arc<Value>>>>,
    /// How many writes the operator sent, and how many events it was told of.
    pub writes: u32,
    pub events: u32,
}

impl Written {
    pub fn take(&mut self, changes: &[Arc<Change>]) {
        for change in changes {
            if change.key.resource() == "events" {
                if change.before.is_none() {
                    *self.told.entry(told(&value(change.object()))).or_default() += 1;
                }
                continue;
            }
            let count = self.counts.entry(change.key.clone()).or_default();
            count.created += u32::from(change.before.is_none());
            count.deleted += u32::from(change.after.is_none());
            if change.before.is_none() {
                self.made.take(&change.key, &value(change.object()));
            }
        }
    }

    pub fn end(self, store: Store, writes: u32, events: u32) -> Ended {
        let (mut counts, mut told) = (BTreeMap::<Key, Count>::new(), BTreeMap::<String, u32>::new());
        for (key, count) in &self.counts {
            let all = counts.entry(self.made.counted(key)).or_default();
            all.created += count.created;
            all.deleted += count.deleted;
        }
        for ((what, name), times) in &self.told {
            *told.entry(format!("{what}{}", self.made.told(name))).or_default() += times;
        }
        let names = self.made.names(&store);
        Ended { counts, told, names, store, asked: Mutex::default(), writes, events }
    }
}

impl Ended {
    /// All that was written, and what stands for those of generated names.
    fn objects(&self) -> impl Iterator<Item = &Key> {
        self.counts.keys().chain(self.names.numbered())
    }

    /// The object at the end, without what no two runs share.
    fn object(&self, key: &Key) -> Option<Arc<Value>> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(object) = asked.get(key) {
            return object.clone();
        }
        let record = self.store.get(self.names.real(key));
        let object = record.map(|record| Arc::new(masked(value(&record.bytes), self.names.words())));
        asked.insert(key.clone(), object.clone());
        object
    }

    /// What is not as in the undisturbed run: the first thing found. `all_seen` is whether the operator saw every state on
    /// the way, and so must have told of each.
    pub fn differs_from(&self, undisturbed: &Ended, all_seen: bool) -> Option<String> {
        for key in undisturbed.objects().chain(self.objects()) {
            if let Some(how) = difference(undisturbed.object(key).as_deref(), self.object(key).as_deref()) {
                return Some(format!("{} {how}", shown(key)));
            }
        }
        for (key, count) in &self.counts {
            let allowed = undisturbed.counts.get(key).copied().unwrap_or_default();
            for (verb, found, allowed) in
                [("created", count.created, allowed.created), ("deleted", count.deleted, allowed.deleted)]
            {
                if found > allowed {
                    return Some(format!("{} was {verb} {found} times, undisturbed {allowed}", shown(key)));
                }
            }
        }
        let all: BTreeSet<&String> = undisturbed.told.keys().chain(self.told.keys()).collect();
        all.into_iter().find_map(|what| {
            let count = |ended: &Ended| ended.told.get(what).copied().unwrap_or_default();
            let (found, wanted) = (count(self), count(undisturbed));
            let wrong = found > wanted || (all_seen && found < wanted);
            wrong.then(|| format!("{what} was told {found} times, undisturbed {wanted}"))
        })
    }
}

/// `PlugCoupled of Plug shop/`, and `web`.
fn told(event: &Value) -> (String, String) {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let [kind, namespace, name] = ["kind", "namespace", "name"].map(|field| text(&format!("/involvedObject/{field}")));
    (format!("{} of {kind} {namespace}/", text("/reason")), name.to_string())
}

/// `configmaps/shop/web`.
pub fn shown(key: &Key) -> String {
    let namespace = if key.namespace().is_empty() { String::new() } else { format!("{}/", key.namespace()) };
    format!("{}/{namespace}{}", key.resource(), key.name())
}

pub fn value(bytes: &[u8]) -> Value {
    // What the store holds is what the API server encoded.
    serde_json::from_slice(bytes).unwrap_or_default()
}

pub fn uid(object: &Value) -> Option<String> {
    object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_string)
}
