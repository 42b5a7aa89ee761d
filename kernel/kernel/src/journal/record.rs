//! Records of the journal.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::{Cause, Decision, DecisionId, RunOutcome};
use crate::object::Object;
use crate::plan::WriteOp;
use crate::resource::ObjectKey;
use crate::state::Finding;
use crate::timestamp::Timestamp;
use crate::topology::Topology;
use crate::view::RecordedRowReads;

use super::JournalError;

/// Format written by this version. Readers refuse every other format.
///
/// Format 1 had other field names, such as `standing` for `status`. It was never released, so nothing converts it.
pub const FORMAT: u32 = 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum JournalRecord {
    /// First record of every segment.
    Head { format: u32, next: DecisionId },
    /// Object that a later decision of the segment read.
    Object(StoredObject),
    /// Decision.
    Decision(Box<StoredDecision>),
    /// Last of several quiet runs.
    Repeat(RepeatedRun),
    /// Field conflict or hot loop.
    Finding { at: Timestamp, finding: Finding },
    /// Lower numbers may be used.
    Ids { next: DecisionId },
    /// Number of entries before this one that could not be written.
    Lost { at: Timestamp, entries: u64 },
}

/// Recorded object at one revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredObject {
    /// Key of the object.
    pub key: ObjectKey,
    /// Revision of the object.
    pub revision: u64,
    /// Whether a value in it is redacted.
    #[serde(default)]
    pub redacted: bool,
    /// Fields of the object.
    pub value: Value,
}

impl StoredObject {
    /// Returns the object as an operator reads it.
    pub fn object(&self) -> Object {
        let json: Arc<[u8]> = self.value.to_string().into_bytes().into();
        Object { key: self.key.clone(), revision: self.revision, json }
    }
}

/// Recorded objects of a decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedReads {
    /// Recorded objects, without those that could not be recorded.
    pub objects: Vec<StoredObject>,
    /// Whether messages or external answers of the decision are redacted.
    pub redacted: bool,
    /// Whether objects are missing, so that the decision cannot be replayed.
    pub partial: bool,
    /// Whether objects are missing because the entry would be too large.
    pub trimmed: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredDecision {
    pub(super) decision: Decision,
    pub(super) at: Timestamp,
    pub(super) digest: String,
    #[serde(default)]
    pub(super) redacted: bool,
    #[serde(default)]
    pub(super) partial: bool,
    /// Real cluster of each cluster type; absent if all three were one cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) topology: Option<Topology>,
}

/// Quiet run, which differs from another run only in its times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RepeatedRun {
    pub(super) id: DecisionId,
    pub(super) of: DecisionId,
    pub(super) causes: Vec<Cause>,
    pub(super) triggered_at: Timestamp,
    pub(super) started: Timestamp,
    pub(super) decide_us: u64,
    pub(super) at: Timestamp,
}

impl RepeatedRun {
    pub(super) fn apply_to(&self, of: Decision) -> Decision {
        Decision {
            id: self.id,
            causes: self.causes.clone(),
            triggered_at: self.triggered_at,
            started: self.started,
            decide_us: self.decide_us,
            write_us: 0,
            ..of
        }
    }
}

impl JournalRecord {
    pub(super) fn at(&self) -> Option<Timestamp> {
        match self {
            JournalRecord::Decision(stored) => Some(stored.at),
            JournalRecord::Repeat(repeat) => Some(repeat.at),
            JournalRecord::Finding { at, .. } | JournalRecord::Lost { at, .. } => Some(*at),
            JournalRecord::Head { .. } | JournalRecord::Object(_) | JournalRecord::Ids { .. } => None,
        }
    }
}

/// Serializes records as JSON.
pub(super) fn encode(records: &[JournalRecord]) -> Result<Vec<Vec<u8>>, JournalError> {
    records.iter().map(|record| serde_json::to_vec(record).map_err(JournalError::Encode)).collect()
}

/// Shrinks the records of an entry to a maximum size: first without read objects, then without lists, then without
/// bodies. `written` is their JSON. Returns whether anything was removed.
pub(super) fn trim(records: &mut Vec<JournalRecord>, written: &[Vec<u8>], max_bytes: u64) -> bool {
    let sum = |sizes: &mut dyn Iterator<Item = usize>| -> u64 { sizes.map(|bytes| bytes as u64 + 10).sum() };
    if sum(&mut written.iter().map(Vec::len)) <= max_bytes {
        return false;
    }
    let size = |records: &[JournalRecord]| -> u64 {
        let one = |record: &JournalRecord| serde_json::to_vec(record).map_or(0, |json| json.len());
        sum(&mut records.iter().map(one))
    };
    let steps: [fn(&mut Vec<JournalRecord>); 3] = [strip_contents, |all| strip_reads(all), |all| strip_bodies(all)];
    for step in steps {
        if size(records) <= max_bytes {
            break;
        }
        step(records);
    }
    true
}

fn each_stored(records: &mut [JournalRecord], change: impl Fn(&mut StoredDecision)) {
    for record in records {
        if let JournalRecord::Decision(stored) = record {
            stored.partial = true;
            change(stored);
        }
    }
}

fn strip_contents(records: &mut Vec<JournalRecord>) {
    records.retain(|record| !matches!(record, JournalRecord::Object(_)));
    each_stored(records, |_| ());
}

fn strip_reads(records: &mut [JournalRecord]) {
    each_stored(records, |stored| {
        stored.decision.gets.clear();
        stored.decision.lists.clear();
        stored.decision.rows = RecordedRowReads::default();
        stored.decision.external_queries.clear();
    });
}

fn strip_bodies(records: &mut [JournalRecord]) {
    each_stored(records, |stored| match &mut stored.decision.outcome {
        RunOutcome::Decided { writes, .. } => {
            writes.truncate(MAX_TRIMMED_WRITES);
            for write in writes {
                match &mut write.mutation.operation {
                    WriteOp::Create(body)
                    | WriteOp::Update(body)
                    | WriteOp::Apply { body, .. }
                    | WriteOp::Patch { body, .. } => {
                        *body = Value::Null;
                    }
                    WriteOp::Delete { .. } => {}
                }
            }
        }
        RunOutcome::Failed { message } => message.truncate(message.floor_char_boundary(MAX_TRIMMED_TEXT)),
        RunOutcome::NotCached { .. } => {}
    });
}

/// Maximum number of writes recorded for a decision that is too large.
const MAX_TRIMMED_WRITES: usize = 8;
/// Maximum bytes of a message recorded for a decision that is too large.
const MAX_TRIMMED_TEXT: usize = 1024;
