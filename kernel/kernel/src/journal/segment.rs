//! One segment: lines in a file or in memory, and where its records stand.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use crate::decision::DecisionId;
use crate::moment::Moment;
use crate::resource::ObjectKey;

use super::record::Record;
use super::{JournalError, line};

pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) slots: Vec<Slot>,
    pub(super) first: Option<Moment>,
    pub(super) last: Option<Moment>,
    /// How many entries could not be written before one of these.
    pub(super) lost: u64,
    /// What need not be written again.
    pub(super) kept: HashSet<(ObjectKey, u64)>,
    store: Store,
}

pub(super) enum Store {
    Memory(Vec<u8>),
    File { file: File, path: PathBuf },
}

#[derive(Clone, Copy)]
pub(super) struct Slot {
    offset: u64,
    length: usize,
    pub(super) what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Decision(DecisionId),
    Repeat(DecisionId),
    Finding,
    Object,
    Other,
}

impl Segment {
    pub(super) fn new(number: u64, store: Store) -> Self {
        let (slots, kept) = (Vec::new(), HashSet::new());
        Self { number, bytes: 0, slots, first: None, last: None, lost: 0, kept, store }
    }

    /// Notes a record that stands at the end.
    pub(super) fn note(&mut self, record: &Record, offset: u64, length: usize) {
        let what = match record {
            Record::Decision(stored) => What::Decision(stored.decision.id),
            Record::Repeat(repeat) => What::Repeat(repeat.id),
            Record::Finding { .. } => What::Finding,
            Record::Object(kept) => {
                self.kept.insert((kept.key.clone(), kept.revision));
                What::Object
            }
            Record::Head { .. } | Record::Ids { .. } | Record::Lost { .. } => What::Other,
        };
        self.slots.push(Slot { offset, length, what });
        self.first = self.first.or(record.at());
        self.last = record.at().or(self.last);
    }

    /// Writes lines to the end, all or none.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        match &mut self.store {
            Store::Memory(all) => all.extend_from_slice(bytes),
            Store::File { file, path } => {
                if let Err(source) = file.write_all_at(bytes, self.bytes) {
                    // What was written of it is overwritten by the next; a crash before that leaves a torn end.
                    drop(file.set_len(self.bytes));
                    return Err(JournalError::File { act: "write", path: path.clone(), source });
                }
            }
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn record(&self, slot: &Slot) -> Option<Record> {
        let read = |bytes: &[u8]| serde_json::from_slice(line::json(bytes.strip_suffix(b"\n")?)?).ok();
        match &self.store {
            Store::Memory(all) => {
                let from = usize::try_from(slot.offset).ok()?;
                read(all.get(from..from + slot.length)?)
            }
            Store::File { file, .. } => {
                let mut bytes = vec![0; slot.length];
                file.read_exact_at(&mut bytes, slot.offset).ok()?;
                read(&bytes)
            }
        }
    }

    /// Brings it to the disk, under the name it was made with.
    pub(super) fn sync(&self) -> Result<(), JournalError> {
        match &self.store {
            Store::Memory(_) => Ok(()),
            Store::File { file, path } => {
                let same = |other: &Metadata| file.metadata().is_ok_and(|own| own.ino() == other.ino());
                if !std::fs::metadata(path).is_ok_and(|named| same(&named)) {
                    return Err(JournalError::Removed(path.clone()));
                }
                file.sync_data().map_err(|source| JournalError::File { act: "sync", path: path.clone(), source })
            }
        }
    }

    /// Cuts off what stands behind the last whole line, so that the next does not end in the middle of it.
    pub(super) fn cut(&self) -> Result<(), JournalError> {
        match &self.store {
            Store::Memory(_) => Ok(()),
            Store::File { file, path } => {
                file.set_len(self.bytes).map_err(|source| JournalError::File { act: "cut", path: path.clone(), source })
            }
        }
    }

    pub(super) fn remove(self) -> Result<(), JournalError> {
        match self.store {
            Store::Memory(_) => Ok(()),
            Store::File { path, .. } => {
                std::fs::remove_file(&path).map_err(|source| JournalError::File { act: "remove", path, source })
            }
        }
    }
}
