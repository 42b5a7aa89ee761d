//! A recorded decision as a picture of the clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use switchboard_object::selector::LabelSelector;

use crate::decision::{Decision, Outcome};
use crate::journal::Recorded;
use crate::object::Object;
use crate::place::ClusterName;
use crate::redact::conceal;
use crate::resource::{ObjectKey, Query, TableKey};
use crate::view::{Asked, Picture};

/// What a decision had read, and nothing else: what it did not read is not known.
pub struct Recording {
    decision: Decision,
    objects: BTreeMap<(ObjectKey, u64), Object>,
    masked: BTreeSet<ObjectKey>,
    parked: BTreeSet<TableKey>,
    unread: Mutex<BTreeSet<String>>,
}

impl Recording {
    /// The picture of a recorded decision. Of `live`, objects that were masked are taken when their revision is the same.
    pub fn of(recorded: &Recorded, live: &[Object]) -> Self {
        let (mut objects, mut masked) = (BTreeMap::new(), BTreeSet::new());
        for kept in &recorded.contents.objects {
            let same = |object: &&Object| object.key == kept.key && object.revision == kept.revision;
            let found = live.iter().find(same).filter(|_| kept.masked);
            if kept.masked && found.is_none() {
                masked.insert(kept.key.clone());
            }
            objects.insert((kept.key.clone(), kept.revision), found.cloned().unwrap_or_else(|| kept.object()));
        }
        let parked = match &recorded.decision.outcome {
            Outcome::Parked { missing } => missing.iter().cloned().collect(),
            Outcome::Decided { .. } | Outcome::Failed { .. } => BTreeSet::new(),
        };
        Self { decision: recorded.decision.clone(), objects, masked, parked, unread: Mutex::default() }
    }

    /// The objects whose values are masked.
    pub fn masked(&self) -> impl Iterator<Item = &ObjectKey> {
        self.masked.iter()
    }

    /// What was read from it that the decision had not read.
    pub fn unread(&self) -> Vec<String> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The revision of an object that was read as part of a list.
    fn listed(&self, key: &ObjectKey) -> Option<u64> {
        let lists = self.decision.lists.iter().filter(|(query, _)| query.table == key.table);
        let mut all = lists.flat_map(|(_, listed)| listed);
        all.find(|one| one.name == key.name && one.namespace == key.namespace).map(|one| one.revision)
    }

    fn unknown(&self, table: Option<&TableKey>, what: String) {
        if !table.is_some_and(|table| self.parked.contains(table)) {
            self.unread.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
        }
    }
}

impl Picture for Recording {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        let got = self.decision.gets.iter().find(|(read, _)| read == key).map(|(_, revision)| *revision);
        match got.or_else(|| self.listed(key).map(Some)) {
            None => {
                self.unknown(Some(&key.table), key.to_string());
                None
            }
            Some(None) => Some(None),
            Some(Some(revision)) => self.objects.get(&(key.clone(), revision)).cloned().map(Some),
        }
    }

    fn list(&self, query: &Query, _selector: &LabelSelector) -> Option<Vec<Object>> {
        let Some((_, listed)) = self.decision.lists.iter().find(|(made, _)| made == query) else {
            self.unknown(Some(&query.table), query.to_string());
            return None;
        };
        let one = |name: &crate::view::Listed| {
            let key =
                ObjectKey { table: query.table.clone(), namespace: name.namespace.clone(), name: name.name.clone() };
            self.objects.get(&(key, name.revision)).cloned()
        };
        listed.iter().map(one).collect()
    }

    fn revision(&self, cluster: &ClusterName) -> u64 {
        let of =
            |((key, revision), _): (&(ObjectKey, u64), &Object)| (key.table.cluster == *cluster).then_some(*revision);
        self.objects.iter().filter_map(of).max().unwrap_or(0)
    }

    fn answer(&self, request: &Value) -> Option<Result<Value, String>> {
        // A request that held a secret is recorded masked, and a replayed one holds the mask already.
        let masked = conceal(request);
        let same = |asked: &&Asked| asked.request == *request || asked.request == masked;
        if let Some(asked) = self.decision.asked.iter().find(same) {
            return Some(asked.answer.clone());
        }
        self.unknown(None, "the outside with another question".to_string());
        Some(Err("this question was not asked when the decision was recorded".to_string()))
    }
}
