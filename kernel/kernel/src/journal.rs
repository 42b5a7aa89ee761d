//! Journal of all decisions and findings: durable, bounded, and without secrets.
//!
//! ```text
//! <dir>/lock           held by the only process that writes
//! <dir>/key            of the digests; random, created once
//! <dir>/00000007.seg   lines of `crc json`: a head, then objects, decisions, findings
//! ```
//!
//! Each object a decision read is written once per revision and segment, before the first decision that read it. So a
//! segment is self-contained, and the oldest one is removed as a whole when a limit is exceeded. A line that does not
//! match its checksum is counted as
//! [`Damage`] and skipped; the lines around it are kept.
//!
//! A run is *quiet* if it wrote nothing, and its reads and answers equal those of the unit's previous run. The journal
//! keeps the last quiet run of each unit in memory and writes it at most every [`QUIET_EVERY`], so that an idle cluster
//! does not displace older entries. It also writes a quiet run before its number is returned to a client
//! ([`Journal::flush`]), which may ask for it. After a crash the unwritten quiet runs are unknown, but their numbers
//! are not reused.
//!
//! # Caveats
//! A value is treated as secret if the same decision read it from or wrote it to a Secret, or if it looks like one: a
//! login in a URL, or a value after a name such as `password`. A ConfigMap with a copy of a secret value is written
//! unchanged if the decision did not read the Secret.

mod directory;
mod index;
mod line;
mod quiet;
mod record;
mod redaction;
mod retention;
mod segment;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::decision::{Decision, DecisionId};
use crate::object::Object;
use crate::redact::Redactor;
use crate::replay::ReplayResult;
use crate::resource::ObjectKey;
use crate::state::Finding;
use crate::timestamp::Timestamp;
use crate::topology::Topology;

use index::JournalIndex;
use record::{JournalRecord, StoredDecision};

pub use index::NewestEntries;
pub use line::{Damage, DamagedSegment};
pub use quiet::QUIET_EVERY;
pub use record::{FORMAT, RecordedReads, StoredObject};

/// Default maximum size in bytes.
pub const DEFAULT_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Default maximum age of entries.
pub const DEFAULT_MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Lower bound for the maximum size: a smaller journal holds too little to explain anything.
pub const MIN_MAX_BYTES: u64 = 64 * 1024;
/// Number of segments that share both limits; one of them is removed at a time.
pub const SEGMENTS: u32 = 16;

/// Maximum number of objects recorded for one decision; a decision that read more cannot be replayed.
pub const MAX_CONTENTS: usize = 2000;

/// Limits of a journal. The size is never exceeded; an entry is removed at the latest one [`SEGMENTS`]th after its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLimits {
    /// Maximum size of all segments in bytes.
    pub max_bytes: u64,
    /// Maximum age of an entry.
    pub max_age: Duration,
}

impl Default for JournalLimits {
    fn default() -> Self {
        Self { max_bytes: DEFAULT_MAX_BYTES, max_age: DEFAULT_MAX_AGE }
    }
}

impl JournalLimits {
    fn segment_bytes(self) -> u64 {
        self.max_bytes / u64::from(SEGMENTS)
    }
}

/// Error while reading or writing the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// File operation failed.
    #[error("could not {operation} {}", path.display())]
    File {
        /// Operation.
        operation: &'static str,
        /// File.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// Another process writes the journal.
    #[error("another process writes the journal {}", .0.display())]
    Busy(PathBuf),
    /// Another version of this program has written the journal.
    #[error("could not read the journal {}: it has format {found}, and this version reads format {FORMAT}", path.display())]
    Format {
        /// Segment.
        path: PathBuf,
        /// Format of the segment.
        found: u32,
    },
    /// The files were removed while the journal was open.
    #[error("{} was removed, so later decisions will be lost; restart to create a new journal", .0.display())]
    Removed(PathBuf),
    /// The journal was opened for reading.
    #[error("the journal was opened for reading only")]
    ReadOnly,
    /// The key file of the digests is invalid.
    #[error("{} is not a valid key; remove the journal to create a new one", .0.display())]
    Key(PathBuf),
    /// An entry could not be serialized.
    #[error("could not serialize a journal entry")]
    Encode(#[source] serde_json::Error),
}

/// Journal entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JournalEntry {
    /// Decision.
    Decision(Box<Decision>),
    /// Field conflict or hot loop.
    Finding(Finding),
}

/// Period that a journal covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalRange {
    /// Start of the period; `None` if the journal is empty.
    pub since: Option<Timestamp>,
    /// Number of entries in the period known to be lost: damaged, or never written.
    #[serde(default)]
    pub lost: u64,
}

/// Decision with everything needed to replay it.
#[derive(Clone, Debug)]
pub struct RecordedDecision {
    /// Redacted decision.
    pub decision: Decision,
    /// Redacted objects it read.
    pub reads: RecordedReads,
    /// Keyed digest of the unredacted result; see [`Journal::digest`].
    pub digest: String,
    /// Real cluster of each cluster type; absent if all three were one cluster.
    pub topology: Option<Topology>,
}

/// Journal of decisions and findings.
///
/// # Guarantees
/// - Appended entries are read back in order, also after a restart. // test: guarantees_appended_entries_are_read_back
/// - The segments never exceed the maximum size. // test: guarantees_bytes_are_bounded
/// - A torn or damaged line does not affect other lines. // test: guarantees_a_cut_at_any_byte_keeps_earlier_lines
/// - No value of a Secret that was read or written reaches the disk. // test: guarantees_no_secret_reaches_the_disk
/// - Only one process writes. // test: guarantees_one_writer
pub struct Journal {
    index: JournalIndex,
    bounds: JournalLimits,
    key: ring::hmac::Key,
    quiet: quiet::QuietRuns,
    disk: Option<directory::JournalDirectory>,
    read_only: bool,
    /// Real cluster of each cluster type, if there are several.
    topology: Option<Topology>,
}

impl Journal {
    /// Opens the journal of a directory for writing, and creates it if it does not exist.
    ///
    /// # Errors
    /// When the directory cannot be used, another process writes to it, or another version has written it.
    pub fn open(dir: &Path, bounds: JournalLimits) -> Result<Journal, JournalError> {
        let disk = directory::JournalDirectory::lock(dir)?;
        let key = directory::key(dir, true)?;
        let mut index = JournalIndex::default();
        directory::load(dir, &mut index, true)?;
        Ok(Self::of(index, bounds, key, Some(disk), false))
    }

    /// Reads the current journal of a directory, also while another process writes to it.
    ///
    /// # Errors
    /// When the directory cannot be read, or another version has written it.
    pub fn read(dir: &Path) -> Result<Journal, JournalError> {
        let key = directory::key(dir, false)?;
        let mut index = JournalIndex::default();
        directory::load(dir, &mut index, false)?;
        Ok(Self::of(index, JournalLimits::default(), key, None, true))
    }

    /// Creates a journal in memory.
    pub fn in_memory(bounds: JournalLimits) -> Journal {
        Self::of(JournalIndex::default(), bounds, [0; directory::KEY_BYTES], None, false)
    }

    fn of(
        index: JournalIndex,
        bounds: JournalLimits,
        key: directory::KeyBytes,
        disk: Option<directory::JournalDirectory>,
        read_only: bool,
    ) -> Self {
        let bounds = JournalLimits { max_bytes: bounds.max_bytes.max(MIN_MAX_BYTES), ..bounds };
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key);
        let mut index = index;
        index.finish_load();
        Self { index, bounds, key, quiet: quiet::QuietRuns::default(), disk, read_only, topology: None }
    }

    /// Appends a decision. `read` holds the objects it read; a decision with missing objects cannot be replayed.
    ///
    /// # Errors
    /// When the decision cannot be written; later ones can still be appended.
    pub fn append(&mut self, decision: &Decision, read: &[Object], now: Timestamp) -> Result<(), JournalError> {
        self.append_with_secrets(decision, read, Redactor::default(), now)
    }

    /// Appends a decision that read more objects than are recorded. `secrets` holds the values of the Secrets among the
    /// others.
    ///
    /// # Errors
    /// Errors of [`Journal::append`].
    pub fn append_with_secrets(
        &mut self,
        decision: &Decision,
        read: &[Object],
        secrets: Redactor,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        if self.quiet.is_repeat(decision) {
            self.index.mark_used(decision.id);
            let due = self.quiet.repeat(decision, now);
            return match due {
                Some(repeat) => self.write(vec![JournalRecord::Repeat(repeat)], now),
                None => self.reserve(now),
            };
        }
        // Writes the pending quiet run of the unit first.
        let pending = self.quiet.take_unwritten(&decision.unit).map(JournalRecord::Repeat);
        let digest = self.digest(&ReplayResult::of(&decision.unit.operator, &decision.outcome));
        let masked = redaction::redact(decision, read, secrets);
        let objects = masked.objects.into_iter().map(JournalRecord::Object);
        let topology = self.topology.clone();
        let stored = StoredDecision {
            decision: masked.decision,
            at: now,
            digest,
            redacted: masked.touched,
            partial: false,
            topology,
        };
        let records = pending.into_iter().chain(objects).chain([JournalRecord::Decision(Box::new(stored))]);
        self.write(records.collect(), now)?;
        self.quiet.remember(decision);
        Ok(())
    }

    /// Sets the topology that is recorded with later decisions.
    pub fn set_topology(&mut self, topology: &Topology) {
        self.topology = Some(topology.clone()).filter(|topology| !topology.is_standalone());
    }

    /// Returns the topology of a decision; `None` if all cluster types were one cluster.
    pub fn topology(&self, id: DecisionId) -> Option<Topology> {
        self.index.stored(self.quiet.find(id).map_or(id, |repeat| repeat.of))?.topology
    }

    /// Records the number of entries that could not be written.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn record_lost(&mut self, entries: u64, now: Timestamp) -> Result<(), JournalError> {
        self.write(vec![JournalRecord::Lost { at: now, entries }], now)
    }

    /// Returns the period that the journal covers.
    pub fn range(&self) -> JournalRange {
        JournalRange { since: self.since(), lost: self.index.lost() }
    }

    /// Appends a finding.
    ///
    /// # Errors
    /// When the finding cannot be written.
    pub fn record_finding(&mut self, finding: &Finding, now: Timestamp) -> Result<(), JournalError> {
        self.write(vec![JournalRecord::Finding { at: now, finding: finding.clone() }], now)
    }

    /// Syncs everything to the disk. Unsynced entries survive the end of the process, but may not survive a crash of
    /// the machine.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.index.sync()?;
        self.disk.as_ref().map_or(Ok(()), directory::JournalDirectory::sync)
    }

    /// Returns the number of the next decision; numbers continue after a restart.
    pub fn next_id(&self) -> DecisionId {
        self.index.next
    }

    /// Returns all entries, newest first.
    pub fn newest(&self) -> NewestEntries<'_> {
        self.index.newest()
    }

    /// Returns a decision by number; `None` if it was removed.
    pub fn get(&self, id: DecisionId) -> Option<Decision> {
        if let Some(repeat) = self.quiet.find(id) {
            return Some(repeat.apply_to(self.index.stored(repeat.of)?.decision));
        }
        self.index.decision(id)
    }

    /// Returns the last decision that changed an object.
    pub fn last_write_of(&self, object: &ObjectKey) -> Option<Decision> {
        self.get(*self.index.writes.get(object)?)
    }

    /// Returns the objects a decision read.
    pub fn reads(&self, id: DecisionId) -> Option<RecordedReads> {
        self.index.contents(self.quiet.find(id).map_or(id, |repeat| repeat.of))
    }

    /// Returns a decision with the objects it read.
    pub fn recorded(&self, id: DecisionId) -> Option<RecordedDecision> {
        let decision = self.get(id)?;
        let of = self.quiet.find(id).map_or(id, |repeat| repeat.of);
        let stored = self.index.stored(of)?;
        let (digest, topology) = (stored.digest, stored.topology);
        Some(RecordedDecision { decision, reads: self.index.contents(of)?, digest, topology })
    }

    /// Returns the damaged places.
    pub fn damage(&self) -> &[Damage] {
        &self.index.damage
    }

    /// Returns the time of the oldest entry; `None` if the journal is empty.
    pub fn since(&self) -> Option<Timestamp> {
        self.index.since()
    }

    /// Returns the size of the segments in bytes.
    pub fn bytes(&self) -> u64 {
        self.index.bytes()
    }

    /// Returns the keyed digest of a result. Digests allow comparing two results without storing them, and without the
    /// key they cannot be searched for a value.
    pub fn digest(&self, result: &ReplayResult) -> String {
        let tag = ring::hmac::sign(&self.key, &result.bytes());
        tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests;
