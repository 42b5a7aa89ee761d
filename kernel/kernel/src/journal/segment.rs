//! Segment of the journal, in a file or in memory, with the positions of its records.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use crate::decision::DecisionId;
use crate::resource::ObjectKey;
use crate::timestamp::Timestamp;

use super::record::JournalRecord;
use super::{JournalError, line};

pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) slots: Vec<RecordSlot>,
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    /// Number of entries that could not be written before those of this segment.
    pub(super) lost: u64,
    /// Objects that the segment contains already.
    pub(super) written_objects: HashSet<(ObjectKey, u64)>,
    store: SegmentStore,
}

pub(super) enum SegmentStore {
    Memory(Vec<u8>),
    File { file: File, path: PathBuf },
}

#[derive(Clone, Copy)]
pub(super) struct RecordSlot {
    offset: u64,
    length: usize,
    pub(super) kind: RecordKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    Decision(DecisionId),
    Repeat(DecisionId),
    Finding,
    Object,
    Other,
}

impl Segment {
    pub(super) fn new(number: u64, store: SegmentStore) -> Self {
        let (slots, kept) = (Vec::new(), HashSet::new());
        Self { number, bytes: 0, slots, first: None, last: None, lost: 0, written_objects: kept, store }
    }

    /// Adds a record at the end.
    pub(super) fn add_record(&mut self, record: &JournalRecord, offset: u64, length: usize) {
        let what = match record {
            JournalRecord::Decision(stored) => RecordKind::Decision(stored.decision.id),
            JournalRecord::Repeat(repeat) => RecordKind::Repeat(repeat.id),
            JournalRecord::Finding { .. } => RecordKind::Finding,
            JournalRecord::Object(kept) => {
                self.written_objects.insert((kept.key.clone(), kept.revision));
                RecordKind::Object
            }
            JournalRecord::Head { .. } | JournalRecord::Ids { .. } | JournalRecord::Lost { .. } => RecordKind::Other,
        };
        self.slots.push(RecordSlot { offset, length, kind: what });
        self.first = self.first.or(record.at());
        self.last = record.at().or(self.last);
    }

    /// Appends lines, all or none.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        match &mut self.store {
            SegmentStore::Memory(all) => all.extend_from_slice(bytes),
            SegmentStore::File { file, path } => {
                if let Err(source) = file.write_all_at(bytes, self.bytes) {
                    // The next write replaces a partial one; a crash before that leaves a torn line.
                    drop(file.set_len(self.bytes));
                    return Err(JournalError::File { operation: "write", path: path.clone(), source });
                }
            }
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn record(&self, slot: &RecordSlot) -> Option<JournalRecord> {
        let read = |bytes: &[u8]| serde_json::from_slice(line::json(bytes.strip_suffix(b"\n")?)?).ok();
        match &self.store {
            SegmentStore::Memory(all) => {
                let from = usize::try_from(slot.offset).ok()?;
                read(all.get(from..from + slot.length)?)
            }
            SegmentStore::File { file, .. } => {
                let mut bytes = vec![0; slot.length];
                file.read_exact_at(&mut bytes, slot.offset).ok()?;
                read(&bytes)
            }
        }
    }

    /// Syncs the file to the disk, and checks that it still has its name.
    pub(super) fn sync(&self) -> Result<(), JournalError> {
        match &self.store {
            SegmentStore::Memory(_) => Ok(()),
            SegmentStore::File { file, path } => {
                let same = |other: &Metadata| file.metadata().is_ok_and(|own| own.ino() == other.ino());
                if !std::fs::metadata(path).is_ok_and(|named| same(&named)) {
                    return Err(JournalError::Removed(path.clone()));
                }
                file.sync_data().map_err(|source| JournalError::File { operation: "sync", path: path.clone(), source })
            }
        }
    }

    /// Truncates the file after the last complete line.
    pub(super) fn truncate(&self) -> Result<(), JournalError> {
        match &self.store {
            SegmentStore::Memory(_) => Ok(()),
            SegmentStore::File { file, path } => file.set_len(self.bytes).map_err(|source| JournalError::File {
                operation: "truncate",
                path: path.clone(),
                source,
            }),
        }
    }

    pub(super) fn remove(self) -> Result<(), JournalError> {
        match self.store {
            SegmentStore::Memory(_) => Ok(()),
            SegmentStore::File { path, .. } => {
                std::fs::remove_file(&path).map_err(|source| JournalError::File { operation: "remove", path, source })
            }
        }
    }
}
