//! What a run left behind, and whether that is what the undisturbed run left.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use switchboard_cluster::store::{Change, Key, Store};

use crate::mask::{difference, masked};

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
    /// How often each Kubernetes Event was told, by what it tells: its name is chance.
    told: BTreeMap<String, u32>,
    /// The uids seen, with the object that had them.
    uids: HashMap<String, Key>,
}

/// How a run ended.
pub struct Ended {
    written: Written,
    uids: HashMap<String, String>,
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
            if change.before.is_none()
                && let Some(uid) = uid(&value(change.object()))
            {
                self.uids.insert(uid, change.key.clone());
            }
        }
    }

    pub fn end(self, store: Store, writes: u32, events: u32) -> Ended {
        let living = |uid: &str, key: &Key| {
            store.get(key).is_some_and(|record| self::uid(&value(&record.bytes)).as_deref() == Some(uid))
        };
        let name = |(uid, key): (&String, &Key)| {
            let former = if living(uid, key) { "" } else { "former " };
            (uid.clone(), format!("<uid of {former}{}>", shown(key)))
        };
        let uids = self.uids.iter().map(name).collect();
        Ended { uids, written: self, store, asked: Mutex::default(), writes, events }
    }
}

impl Ended {
    /// The object at the end, without what no two runs share.
    fn object(&self, key: &Key) -> Option<Arc<Value>> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(object) = asked.get(key) {
            return object.clone();
        }
        let object = self.store.get(key).map(|record| Arc::new(masked(value(&record.bytes), &self.uids)));
        asked.insert(key.clone(), object.clone());
        object
    }

    /// What is not as in the undisturbed run: the first thing found. `all_seen` is whether the operator saw every state on
    /// the way, and so must have told of each.
    pub fn differs_from(&self, undisturbed: &Ended, all_seen: bool) -> Option<String> {
        for key in undisturbed.written.counts.keys().chain(self.written.counts.keys()) {
            if let Some(how) = difference(undisturbed.object(key).as_deref(), self.object(key).as_deref()) {
                return Some(format!("{} {how}", shown(key)));
            }
        }
        for (key, count) in &self.written.counts {
            let allowed = undisturbed.written.counts.get(key).copied().unwrap_or_default();
            for (verb, found, allowed) in
                [("created", count.created, allowed.created), ("deleted", count.deleted, allowed.deleted)]
            {
                if found > allowed {
                    return Some(format!("{} was {verb} {found} times, undisturbed {allowed}", shown(key)));
                }
            }
        }
        let all: BTreeSet<&String> = undisturbed.written.told.keys().chain(self.written.told.keys()).collect();
        all.into_iter().find_map(|what| {
            let count = |ended: &Ended| ended.written.told.get(what).copied().unwrap_or_default();
            let (found, wanted) = (count(self), count(undisturbed));
            let wrong = found > wanted || (all_seen && found < wanted);
            wrong.then(|| format!("{what} was told {found} times, undisturbed {wanted}"))
        })
    }
}

/// `PlugCoupled of Plug shop/web`.
fn told(event: &Value) -> String {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let about = ["kind", "namespace", "name"].map(|field| text(&format!("/involvedObject/{field}")));
    format!("{} of {} {}/{}", text("/reason"), about[0], about[1], about[2])
}

/// `configmaps/shop/web`.
pub fn shown(key: &Key) -> String {
    let namespace = if key.namespace().is_empty() { String::new() } else { format!("{}/", key.namespace()) };
    format!("{}/{namespace}{}", key.resource(), key.name())
}

fn value(bytes: &[u8]) -> Value {
    // What the store holds is what the API server encoded.
    serde_json::from_slice(bytes).unwrap_or_default()
}

fn uid(object: &Value) -> Option<String> {
    object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_string)
}
