//! Reader for a recorded decision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use switchboard_object::selector::LabelSelector;

use crate::decision::{Decision, RunOutcome};
use crate::journal::RecordedDecision;
use crate::object::Object;
use crate::redact::redact_value;
use crate::resource::{ListQuery, ObjectKey, TableKey};
use crate::row::{Row, RowTable};
use crate::row_cache::RowAnswer;
use crate::topology::ClusterName;
use crate::view::{ExternalQuery, Reader, listed_keys};

/// Recorded reads of a decision; anything else is unknown.
pub struct Recording {
    decision: Decision,
    objects: BTreeMap<(ObjectKey, u64), Object>,
    redacted: BTreeSet<ObjectKey>,
    not_cached: BTreeSet<TableKey>,
    new_reads: Mutex<BTreeSet<String>>,
}

impl Recording {
    /// Creates the reader. A redacted object is replaced by one in `live` with the same revision.
    pub fn of(recorded: &RecordedDecision, live: &[Object]) -> Self {
        let (mut objects, mut masked) = (BTreeMap::new(), BTreeSet::new());
        for kept in &recorded.reads.objects {
            let same = |object: &&Object| object.key == kept.key && object.revision == kept.revision;
            let found = live.iter().find(same).filter(|_| kept.redacted);
            if kept.redacted && found.is_none() {
                masked.insert(kept.key.clone());
            }
            objects.insert((kept.key.clone(), kept.revision), found.cloned().unwrap_or_else(|| kept.object()));
        }
        let parked = match &recorded.decision.outcome {
            RunOutcome::NotCached { missing } => missing.iter().cloned().collect(),
            RunOutcome::Decided { .. } | RunOutcome::Failed { .. } => BTreeSet::new(),
        };
        Self {
            decision: recorded.decision.clone(),
            objects,
            redacted: masked,
            not_cached: parked,
            new_reads: Mutex::default(),
        }
    }

    /// Returns the redacted objects.
    pub fn redacted(&self) -> impl Iterator<Item = &ObjectKey> {
        self.redacted.iter()
    }

    /// Returns what was read in addition to the recorded reads.
    pub fn new_reads(&self) -> Vec<String> {
        self.new_reads.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Returns the revision of an object in a recorded list or sample.
    fn listed_revision(&self, key: &ObjectKey) -> Option<u64> {
        let lists =
            self.decision.lists.iter().chain(&self.decision.rows.samples).filter(|(query, _)| query.table == key.table);
        let mut all = lists.flat_map(|(_, listed)| listed);
        all.find(|one| one.name == key.name && one.namespace == key.namespace).map(|one| one.revision)
    }

    fn add_new_read(&self, table: Option<&TableKey>, what: String) {
        if !table.is_some_and(|table| self.not_cached.contains(table)) {
            self.new_reads.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
        }
    }
}

/// Returns a recorded row at its recorded revision, which is not that of its redacted values.
fn recorded_row(object: &Object, table: &'static RowTable) -> Row {
    Row { key: object.key.clone(), table, revision: object.revision, values: table.values(&object.value()) }
}

impl Reader for Recording {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        let got = self.decision.gets.iter().find(|(read, _)| read == key).map(|(_, revision)| *revision);
        match got.or_else(|| self.listed_revision(key).map(Some)) {
            None => {
                self.add_new_read(Some(&key.table), key.to_string());
                None
            }
            Some(None) => Some(None),
            Some(Some(revision)) => self.objects.get(&(key.clone(), revision)).cloned().map(Some),
        }
    }

    fn list(&self, query: &ListQuery, _selector: &LabelSelector) -> Option<Vec<Object>> {
        let Some((_, listed)) = self.decision.lists.iter().find(|(made, _)| made == query) else {
            self.add_new_read(Some(&query.table), query.to_string());
            return None;
        };
        let one = |name: &crate::view::ListedObject| {
            let key =
                ObjectKey { table: query.table.clone(), namespace: name.namespace.clone(), name: name.name.clone() };
            self.objects.get(&(key, name.revision)).cloned()
        };
        listed.iter().map(one).collect()
    }

    fn row(&self, key: &ObjectKey, table: &'static RowTable) -> Option<Option<Arc<Row>>> {
        let object = self.get(key)?;
        Some(object.map(|object| Arc::new(recorded_row(&object, table))))
    }

    fn rows(&self, query: &ListQuery, table: &'static RowTable) -> Option<RowAnswer> {
        if let Some((_, below)) = self.decision.rows.counts.iter().find(|(made, _)| made == query) {
            return Some(RowAnswer::Below(*below));
        }
        let mut read = self.decision.lists.iter().chain(&self.decision.rows.samples);
        let Some((_, listed)) = read.find(|(made, _)| made == query) else {
            self.add_new_read(Some(&query.table), query.to_string());
            return None;
        };
        let revisions = listed.iter().map(|one| one.revision);
        let object = |(key, revision)| self.objects.get(&(key, revision));
        let rows =
            listed_keys(query, listed).zip(revisions).map(|one| Some(Arc::new(recorded_row(object(one)?, table))));
        rows.collect::<Option<_>>().map(RowAnswer::Rows)
    }

    fn is_cached(&self, table: &TableKey) -> bool {
        !self.not_cached.contains(table)
    }

    fn revision(&self, cluster: &ClusterName) -> u64 {
        let of =
            |((key, revision), _): (&(ObjectKey, u64), &Object)| (key.table.cluster == *cluster).then_some(*revision);
        self.objects.iter().filter_map(of).max().unwrap_or(0)
    }

    fn answer(&self, kind: &str, request: &Value) -> Option<Result<Value, String>> {
        // The recorded request is redacted, and a replayed one may contain redacted values already.
        let masked = redact_value(request);
        // Recordings of older versions have no kind.
        let same = |query: &&ExternalQuery| {
            (query.kind == kind || query.kind.is_empty()) && (query.request == *request || query.request == masked)
        };
        if let Some(query) = self.decision.external_queries.iter().find(same) {
            return Some(query.answer.clone());
        }
        self.add_new_read(None, format!("an external system with another query `{kind}`"));
        Some(Err("this query was not sent when the decision was recorded".to_string()))
    }
}
