//! The journal: every decision and finding, durable, bounded, without secrets.
//!
//! ```text
//! <dir>/lock           held by the one process that writes
//! <dir>/key            of the digests; random, made once
//! <dir>/00000007.seg   lines of `crc json`: a head, then objects, decisions, findings
//! ```
//!
//! What a decision read is kept once per object, revision and segment, before the first decision that read it; so a segment
//! stands on its own, and the oldest goes as a whole when a bound is passed. A line that does not match its checksum is
//! counted as [`Damage`] and left out; what stands before and after it is kept.
//!
//! A run that wrote nothing, and read and was told exactly what the unit's run before it was, is *quiet*: the last one of a unit is
//! remembered, and written at most every [`QUIET_EVERY`], so that an idle cluster does not push out what happened; or when
//! somebody was told its number ([`Journal::keep`]), who may ask for it.
//! After a crash the quiet runs of that time are not known; their numbers are not used again all the same.
//!
//! # Caveats
//! A value is known to be secret when it was read from, or written to, a Secret by the same decision, or when it looks so:
//! a login in a URL, what stands behind a telling name such as `password`. A ConfigMap that holds another copy is written as
//! it is when the decision did not read the Secret.

mod disk;
mod index;
mod line;
mod mask;
mod quiet;
mod record;
mod segment;
mod upkeep;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::decision::{Decision, DecisionId};
use crate::moment::Moment;
use crate::object::Object;
use crate::place::Topology;
use crate::redact::Secrets;
use crate::replay::Came;
use crate::resource::ObjectKey;
use crate::state::Finding;

use index::Index;
use record::{Record, Stored};

pub use index::Newest;
pub use line::{Damage, DamagedSegment};
pub use quiet::QUIET_EVERY;
pub use record::{Contents, FORMAT, Kept};

/// The bytes a journal may use when nothing else is said.
pub const DEFAULT_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How far a journal reaches back when nothing else is said.
pub const DEFAULT_MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Smaller journals hold too little to explain anything; smaller bounds are taken as this.
pub const MIN_MAX_BYTES: u64 = 64 * 1024;
/// A segment has this share of both bounds, so one part in so many goes at once.
pub const SEGMENTS: u32 = 16;

/// How many objects that one decision read are kept; one that read more cannot be replayed.
pub const MAX_CONTENTS: usize = 2000;

/// How much a journal keeps. It never uses more bytes; an entry goes at the latest one part in [`SEGMENTS`] after its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of all segments together.
    pub max_bytes: u64,
    /// Age of the oldest entry.
    pub max_age: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_bytes: DEFAULT_MAX_BYTES, max_age: DEFAULT_MAX_AGE }
    }
}

impl Bounds {
    fn segment_bytes(self) -> u64 {
        self.max_bytes / u64::from(SEGMENTS)
    }
}

/// Why the journal could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file could not be worked with.
    #[error("could not {act} {}", path.display())]
    File {
        /// What was tried.
        act: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Another process writes.
    #[error("another process writes the journal {}", .0.display())]
    Busy(PathBuf),
    /// A later version of this program wrote it.
    #[error("the journal {} has format {found}; this program reads up to {FORMAT}: use the newer program, or another directory", path.display())]
    Newer {
        /// Which segment.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Somebody removed its files while it was written.
    #[error("{} was removed; what is decided from here on is lost with the process: restart to begin a new journal", .0.display())]
    Removed(PathBuf),
    /// It was opened for reading.
    #[error("the journal was opened for reading only")]
    ReadOnly,
    /// The key of the digests is not one.
    #[error("{} holds no key; remove the journal to begin anew", .0.display())]
    Key(PathBuf),
    /// An entry could not be made into bytes.
    #[error("could not encode an entry of the journal")]
    Encode(#[source] serde_json::Error),
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// A decision.
    Decision(Box<Decision>),
    /// Two operators that fight, or one that loops.
    Finding(Finding),
}

/// What a journal can tell of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// Since when; `None` when it is empty.
    pub since: Option<Moment>,
    /// How many entries since then are known to be lost: damaged, or never written.
    #[serde(default)]
    pub lost: u64,
}

/// A decision with all that is needed to decide it again.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The decision, masked.
    pub decision: Decision,
    /// What it read, masked.
    pub contents: Contents,
    /// The keyed digest of what it came to, unmasked; see [`Journal::digest`].
    pub digest: String,
    /// Which clusters the places were; absent when all three were one.
    pub topology: Option<Topology>,
}

/// The record of what was decided.
///
/// # Guarantees
/// - What was appended is read back, in order, also after a restart. // test: guarantees_what_was_appended_is_read_back
/// - The segments never take more than the bytes allowed. // test: guarantees_bytes_are_bounded
/// - A torn or damaged line costs that line only. // test: guarantees_a_cut_at_any_byte_keeps_what_stands_before
/// - No value of a Secret read or written reaches the disk. // test: guarantees_no_secret_reaches_the_disk
/// - One process writes. // test: guarantees_one_writer
pub struct Journal {
    index: Index,
    bounds: Bounds,
    key: ring::hmac::Key,
    quiet: quiet::Quiet,
    disk: Option<disk::Disk>,
    read_only: bool,
    /// Which clusters the places are, when they are several.
    topology: Option<Topology>,
}

impl Journal {
    /// Opens the journal of a directory for writing, and makes it when there is none.
    ///
    /// # Errors
    /// When the directory cannot be used, another process writes to it, or a later program has written it.
    pub fn open(dir: &Path, bounds: Bounds) -> Result<Journal, JournalError> {
        let disk = disk::Disk::lock(dir)?;
        let key = disk::key(dir, true)?;
        let mut index = Index::default();
        disk::load(dir, &mut index, true)?;
        Ok(Self::of(index, bounds, key, Some(disk), false))
    }

    /// Reads the journal of a directory as it is now, whether a process writes to it or not.
    ///
    /// # Errors
    /// When it cannot be read, or a later program has written it.
    pub fn read(dir: &Path) -> Result<Journal, JournalError> {
        let key = disk::key(dir, false)?;
        let mut index = Index::default();
        disk::load(dir, &mut index, false)?;
        Ok(Self::of(index, Bounds::default(), key, None, true))
    }

    /// A journal that lives as long as the process.
    pub fn in_memory(bounds: Bounds) -> Journal {
        Self::of(Index::default(), bounds, [0; disk::KEY_BYTES], None, false)
    }

    fn of(index: Index, bounds: Bounds, key: disk::KeyBytes, disk: Option<disk::Disk>, read_only: bool) -> Self {
        let bounds = Bounds { max_bytes: bounds.max_bytes.max(MIN_MAX_BYTES), ..bounds };
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key);
        let mut index = index;
        index.settle();
        Self { index, bounds, key, quiet: quiet::Quiet::default(), disk, read_only, topology: None }
    }

    /// Adds a decision. `read` holds the contents of what it read; those that are missing make it one that cannot be
    /// replayed.
    ///
    /// # Errors
    /// When it cannot be written; the journal goes on with the next.
    pub fn append(&mut self, decision: &Decision, read: &[Object], now: Moment) -> Result<(), JournalError> {
        self.append_knowing(decision, read, Secrets::default(), now)
    }

    /// The same for a decision that read more than is to be kept: `secrets` holds the values of the Secrets among that.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append_knowing(
        &mut self,
        decision: &Decision,
        read: &[Object],
        secrets: Secrets,
        now: Moment,
    ) -> Result<(), JournalError> {
        if self.quiet.is_repeat(decision) {
            self.index.take(decision.id);
            let due = self.quiet.repeat(decision, now);
            return match due {
                Some(repeat) => self.write(vec![Record::Repeat(repeat)], now),
                None => self.reserve(now),
            };
        }
        // A quiet run that stands between two others of its unit is not lost with it.
        let pending = self.quiet.settle(&decision.unit).map(Record::Repeat);
        let digest = self.digest(&Came::of(&decision.unit.operator, &decision.outcome));
        let masked = mask::mask(decision, read, secrets);
        let objects = masked.objects.into_iter().map(Record::Object);
        let topology = self.topology.clone();
        let stored =
            Stored { decision: masked.decision, at: now, digest, masked: masked.touched, partial: false, topology };
        let records = pending.into_iter().chain(objects).chain([Record::Decision(Box::new(stored))]);
        self.write(records.collect(), now)?;
        self.quiet.remember(decision);
        Ok(())
    }

    /// What is appended from here on was decided with these clusters.
    pub fn decided_over(&mut self, topology: &Topology) {
        self.topology = Some(topology.clone()).filter(|topology| !topology.is_standalone());
    }

    /// Which clusters the places were for a decision; `None` when all three were one.
    pub fn topology(&self, id: DecisionId) -> Option<Topology> {
        self.index.stored(self.quiet.find(id).map_or(id, |repeat| repeat.of))?.topology
    }

    /// Notes that so many entries could not be written.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn lost(&mut self, entries: u64, now: Moment) -> Result<(), JournalError> {
        self.write(vec![Record::Lost { at: now, entries }], now)
    }

    /// What it can tell of.
    pub fn reach(&self) -> Reach {
        Reach { since: self.since(), lost: self.index.lost() }
    }

    /// Adds a finding.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(&mut self, finding: &Finding, now: Moment) -> Result<(), JournalError> {
        self.write(vec![Record::Finding { at: now, finding: finding.clone() }], now)
    }

    /// Brings everything to the disk. Until then the operating system has it: the end of the process loses nothing, that
    /// of the machine may.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.index.sync()?;
        self.disk.as_ref().map_or(Ok(()), disk::Disk::sync)
    }

    /// The number of the next decision; numbers go on after a restart.
    pub fn next_id(&self) -> DecisionId {
        self.index.next
    }

    /// Every entry, newest first.
    pub fn newest(&self) -> Newest<'_> {
        self.index.newest()
    }

    /// A decision by number; `None` when it is not kept any more.
    pub fn get(&self, id: DecisionId) -> Option<Decision> {
        if let Some(repeat) = self.quiet.find(id) {
            return Some(repeat.over(self.index.stored(repeat.of)?.decision));
        }
        self.index.decision(id)
    }

    /// The last decision that changed an object.
    pub fn last_write_of(&self, object: &ObjectKey) -> Option<Decision> {
        self.get(*self.index.writes.get(object)?)
    }

    /// What a decision read.
    pub fn contents(&self, id: DecisionId) -> Option<Contents> {
        self.index.contents(self.quiet.find(id).map_or(id, |repeat| repeat.of))
    }

    /// A decision with what it read.
    pub fn recorded(&self, id: DecisionId) -> Option<Recorded> {
        let decision = self.get(id)?;
        let of = self.quiet.find(id).map_or(id, |repeat| repeat.of);
        let stored = self.index.stored(of)?;
        let (digest, topology) = (stored.digest, stored.topology);
        Some(Recorded { decision, contents: self.index.contents(of)?, digest, topology })
    }

    /// Where it was damaged.
    pub fn damage(&self) -> &[Damage] {
        &self.index.damage
    }

    /// Since when it reaches back; `None` when it is empty.
    pub fn since(&self) -> Option<Moment> {
        self.index.since()
    }

    /// The bytes of its segments.
    pub fn bytes(&self) -> u64 {
        self.index.bytes()
    }

    /// The digest of what a decision came to, under the journal's key: tells whether two are the same without keeping
    /// either, and cannot be searched for a value without the key.
    pub fn digest(&self, came: &Came) -> String {
        let tag = ring::hmac::sign(&self.key, &came.bytes());
        tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests;
