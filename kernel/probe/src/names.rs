//! Stable names for UIDs and generated names, which differ between any two runs.
//!
//! Objects with the same `generateName` are counted together, as `parcel-*`. Those that exist at the end are sorted by
//! their content, not by creation, and numbered in that order: `parcel-*#1`, `parcel-*#2`.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use switchboard_cluster::store::{ObjectStore, StoreKey};

use crate::final_state::{display_key, uid, value};
use crate::normalization::normalize;

/// Objects created in a run.
#[derive(Default)]
pub struct CreatedObjects {
    /// Object of each UID.
    uids: HashMap<String, StoreKey>,
    /// Objects with generated names, with the prefix of the name.
    generated: BTreeMap<StoreKey, String>,
}

/// Stable names of a run.
pub struct StableNames {
    replacements: HashMap<String, String>,
    /// Existing objects with generated names, by their stable name.
    numbered: BTreeMap<StoreKey, StoreKey>,
}

impl CreatedObjects {
    /// Records a created object.
    pub fn record(&mut self, key: &StoreKey, object: &Value) {
        if let Some(uid) = uid(object) {
            self.uids.insert(uid, key.clone());
        }
        let prefix = object.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default();
        if !prefix.is_empty() {
            self.generated.insert(key.clone(), prefix.to_string());
        }
    }

    /// Returns the key under which an object is counted.
    pub fn counted_as(&self, key: &StoreKey) -> StoreKey {
        self.generated.get(key).map_or_else(|| key.clone(), |prefix| renamed(key, &format!("{prefix}*")))
    }

    /// Returns the stable name of an object in an Event.
    pub fn event_name(&self, name: &str) -> String {
        let mut generated = self.generated.iter();
        generated
            .find(|(key, _)| key.name() == name)
            .map_or_else(|| name.to_string(), |(_, prefix)| format!("{prefix}*"))
    }

    /// Returns the stable names at the end of the run.
    pub fn names(&self, store: &ObjectStore) -> StableNames {
        let mut names =
            StableNames { replacements: self.replacements(store, &BTreeMap::new()), numbered: BTreeMap::new() };
        if self.generated.is_empty() {
            return names;
        }
        let mut living: BTreeMap<StoreKey, Vec<(String, &StoreKey)>> = BTreeMap::new();
        for key in self.generated.keys() {
            if let Some(record) = store.get(key) {
                let looks = normalize(value(&record.bytes), &names.replacements).to_string();
                living.entry(self.counted_as(key)).or_default().push((looks, key));
            }
        }
        for (counted, mut alike) in living {
            alike.sort();
            for (at, (_, key)) in alike.into_iter().enumerate() {
                names.numbered.insert(renamed(&counted, &format!("{}#{}", counted.name(), at + 1)), key.clone());
            }
        }
        let numbers = names.numbered.iter().map(|(number, key)| (key, number)).collect();
        names.replacements = self.replacements(store, &numbers);
        names
    }

    fn replacements(&self, store: &ObjectStore, numbers: &BTreeMap<&StoreKey, &StoreKey>) -> HashMap<String, String> {
        let stands_for =
            |key: &StoreKey| numbers.get(key).map_or_else(|| self.counted_as(key), |number| (*number).clone());
        let living = |uid: &str, key: &StoreKey| {
            store.get(key).is_some_and(|record| self::uid(&value(&record.bytes)).as_deref() == Some(uid))
        };
        let uids = self.uids.iter().map(|(uid, key)| {
            let former = if living(uid, key) { "" } else { "former " };
            (uid.clone(), format!("<uid of {former}{}>", display_key(&stands_for(key))))
        });
        let generated = self.generated.keys().map(|key| (key.name().to_string(), stands_for(key).name().to_string()));
        uids.chain(generated).collect()
    }
}

impl StableNames {
    /// Returns UIDs and names, with their stable names.
    pub fn replacements(&self) -> &HashMap<String, String> {
        &self.replacements
    }

    /// Returns the stable names of objects with generated names.
    pub fn numbered(&self) -> impl Iterator<Item = &StoreKey> {
        self.numbered.keys()
    }

    /// Returns the real object of a stable name.
    pub fn real<'a>(&'a self, key: &'a StoreKey) -> &'a StoreKey {
        self.numbered.get(key).unwrap_or(key)
    }
}

fn renamed(key: &StoreKey, name: &str) -> StoreKey {
    StoreKey::new(key.cluster(), key.resource(), key.namespace(), name)
}
