//! What stands on a line.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::{Cause, Decision, DecisionId, Outcome};
use crate::moment::Moment;
use crate::object::Object;
use crate::place::Topology;
use crate::plan::Act;
use crate::resource::ObjectKey;
use crate::state::Finding;

use super::JournalError;

/// The format that is written. A reader refuses later ones.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Record {
    /// The first of every segment.
    Head { format: u32, next: DecisionId },
    /// An object that a decision behind it read.
    Object(Kept),
    /// A decision.
    Decision(Box<Stored>),
    /// The last of some quiet runs.
    Repeat(Repeat),
    /// A finding.
    Finding { at: Moment, finding: Finding },
    /// Numbers before this one may be taken.
    Ids { next: DecisionId },
    /// So many entries could not be written before this one.
    Lost { at: Moment, entries: u64 },
}

/// An object at one revision, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Which.
    pub key: ObjectKey,
    /// At which revision.
    pub revision: u64,
    /// Whether something in it is masked.
    #[serde(default)]
    pub masked: bool,
    /// Its fields.
    pub value: Value,
}

impl Kept {
    /// As an operator reads it.
    pub fn object(&self) -> Object {
        let json: Arc<[u8]> = self.value.to_string().into_bytes().into();
        Object { key: self.key.clone(), revision: self.revision, json }
    }
}

/// What a decision read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// The objects; those that could not be kept are missing.
    pub objects: Vec<Kept>,
    /// Whether its own words or answers from outside are masked.
    pub masked: bool,
    /// Whether some of what it read is missing: it cannot be decided again.
    pub partial: bool,
    /// Whether that is because it takes more bytes than one entry may.
    pub trimmed: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stored {
    pub(super) decision: Decision,
    pub(super) at: Moment,
    pub(super) digest: String,
    #[serde(default)]
    pub(super) masked: bool,
    #[serde(default)]
    pub(super) partial: bool,
    /// Which clusters the places were; absent when all three were one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) topology: Option<Topology>,
}

/// A quiet run: like another but for its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Repeat {
    pub(super) id: DecisionId,
    pub(super) of: DecisionId,
    pub(super) causes: Vec<Cause>,
    pub(super) woken: Moment,
    pub(super) started: Moment,
    pub(super) decide_us: u64,
    pub(super) at: Moment,
}

impl Repeat {
    pub(super) fn over(&self, of: Decision) -> Decision {
        Decision {
            id: self.id,
            causes: self.causes.clone(),
            woken: self.woken,
            started: self.started,
            decide_us: self.decide_us,
            write_us: 0,
            ..of
        }
    }
}

impl Record {
    pub(super) fn at(&self) -> Option<Moment> {
        match self {
            Record::Decision(stored) => Some(stored.at),
            Record::Repeat(repeat) => Some(repeat.at),
            Record::Finding { at, .. } | Record::Lost { at, .. } => Some(*at),
            Record::Head { .. } | Record::Object(_) | Record::Ids { .. } => None,
        }
    }
}

/// Records as JSON, one for each.
pub(super) fn lines(records: &[Record]) -> Result<Vec<Vec<u8>>, JournalError> {
    records.iter().map(|record| serde_json::to_vec(record).map_err(JournalError::Encode)).collect()
}

/// Makes the records of one entry fit: first without what was read, then without lists, then without bodies. Says whether that was
/// needed; `written` is their JSON as they are.
pub(super) fn trim(records: &mut Vec<Record>, written: &[Vec<u8>], max_bytes: u64) -> bool {
    let sum = |sizes: &mut dyn Iterator<Item = usize>| -> u64 { sizes.map(|bytes| bytes as u64 + 10).sum() };
    if sum(&mut written.iter().map(Vec::len)) <= max_bytes {
        return false;
    }
    let size = |records: &[Record]| -> u64 {
        let one = |record: &Record| serde_json::to_vec(record).map_or(0, |json| json.len());
        sum(&mut records.iter().map(one))
    };
    let steps: [fn(&mut Vec<Record>); 3] = [strip_contents, |all| strip_reads(all), |all| strip_bodies(all)];
    for step in steps {
        if size(records) <= max_bytes {
            break;
        }
        step(records);
    }
    true
}

fn each_stored(records: &mut [Record], change: impl Fn(&mut Stored)) {
    for record in records {
        if let Record::Decision(stored) = record {
            stored.partial = true;
            change(stored);
        }
    }
}

fn strip_contents(records: &mut Vec<Record>) {
    records.retain(|record| !matches!(record, Record::Object(_)));
    each_stored(records, |_| ());
}

fn strip_reads(records: &mut [Record]) {
    each_stored(records, |stored| {
        stored.decision.gets.clear();
        stored.decision.lists.clear();
        stored.decision.asked.clear();
    });
}

fn strip_bodies(records: &mut [Record]) {
    each_stored(records, |stored| match &mut stored.decision.outcome {
        Outcome::Decided { writes, .. } => {
            writes.truncate(MAX_TRIMMED_WRITES);
            for write in writes {
                match &mut write.mutation.act {
                    Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } | Act::Patch { body, .. } => {
                        *body = Value::Null;
                    }
                    Act::Delete { .. } => {}
                }
            }
        }
        Outcome::Failed { message } => message.truncate(message.floor_char_boundary(MAX_TRIMMED_TEXT)),
        Outcome::Parked { .. } => {}
    });
}

/// Writes that are kept of a decision that is too large.
const MAX_TRIMMED_WRITES: usize = 8;
/// Bytes that are kept of a message that is too large.
const MAX_TRIMMED_TEXT: usize = 1024;
