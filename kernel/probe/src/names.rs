//! What stands for uids, and for names that were left to `generateName`: no two runs have those in common.
//!
//! Objects of one `generateName` are counted together, as `parcel-*`. Those that live at the end are told apart by what is in
//! them, not by when they were made, and numbered in that order: `parcel-*#1`, `parcel-*#2`.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use switchboard_cluster::store::{Key, Store};

use crate::ended::{shown, uid, value};
use crate::mask::masked;

/// What was seen of the objects that were made in a run.
#[derive(Default)]
pub struct Made {
    /// The uids, with the object that had them.
    uids: HashMap<String, Key>,
    /// Objects whose names were generated, with what those begin with.
    generated: BTreeMap<Key, String>,
}

/// What stands for what.
pub struct Names {
    words: HashMap<String, String>,
    /// The objects of generated names that live at the end, by what stands for them.
    numbered: BTreeMap<Key, Key>,
}

impl Made {
    /// Takes in an object that was made.
    pub fn take(&mut self, key: &Key, object: &Value) {
        if let Some(uid) = uid(object) {
            self.uids.insert(uid, key.clone());
        }
        let prefix = object.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default();
        if !prefix.is_empty() {
            self.generated.insert(key.clone(), prefix.to_string());
        }
    }

    /// What an object is counted as.
    pub fn counted(&self, key: &Key) -> Key {
        self.generated.get(key).map_or_else(|| key.clone(), |prefix| renamed(key, &format!("{prefix}*")))
    }

    /// What a name of an object is told as.
    pub fn told(&self, name: &str) -> String {
        let mut generated = self.generated.iter();
        generated
            .find(|(key, _)| key.name() == name)
            .map_or_else(|| name.to_string(), |(_, prefix)| format!("{prefix}*"))
    }

    /// What stands for all of them at the end.
    pub fn names(&self, store: &Store) -> Names {
        let mut names = Names { words: self.words(store, &BTreeMap::new()), numbered: BTreeMap::new() };
        if self.generated.is_empty() {
            return names;
        }
        let mut living: BTreeMap<Key, Vec<(String, &Key)>> = BTreeMap::new();
        for key in self.generated.keys() {
            if let Some(record) = store.get(key) {
                let looks = masked(value(&record.bytes), &names.words).to_string();
                living.entry(self.counted(key)).or_default().push((looks, key));
            }
        }
        for (counted, mut alike) in living {
            alike.sort();
            for (at, (_, key)) in alike.into_iter().enumerate() {
                names.numbered.insert(renamed(&counted, &format!("{}#{}", counted.name(), at + 1)), key.clone());
            }
        }
        let numbers = names.numbered.iter().map(|(number, key)| (key, number)).collect();
        names.words = self.words(store, &numbers);
        names
    }

    fn words(&self, store: &Store, numbers: &BTreeMap<&Key, &Key>) -> HashMap<String, String> {
        let stands_for = |key: &Key| numbers.get(key).map_or_else(|| self.counted(key), |number| (*number).clone());
        let living = |uid: &str, key: &Key| {
            store.get(key).is_some_and(|record| self::uid(&value(&record.bytes)).as_deref() == Some(uid))
        };
        let uids = self.uids.iter().map(|(uid, key)| {
            let former = if living(uid, key) { "" } else { "former " };
            (uid.clone(), format!("<uid of {former}{}>", shown(&stands_for(key))))
        });
        let generated = self.generated.keys().map(|key| (key.name().to_string(), stands_for(key).name().to_string()));
        uids.chain(generated).collect()
    }
}

impl Names {
    /// Uids and names, with what stands for them.
    pub fn words(&self) -> &HashMap<String, String> {
        &self.words
    }

    /// What stands for the objects of generated names.
    pub fn numbered(&self) -> impl Iterator<Item = &Key> {
        self.numbered.keys()
    }

    /// The object that something stands for.
    pub fn real<'a>(&'a self, key: &'a Key) -> &'a Key {
        self.numbered.get(key).unwrap_or(key)
    }
}

fn renamed(key: &Key, name: &str) -> Key {
    Key::new(key.cluster(), key.resource(), key.namespace(), name)
}
