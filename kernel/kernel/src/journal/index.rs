//! Index of the journal: segments by age, decisions by number, and the last write of each object.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::decision::{Decision, DecisionId, RunOutcome, WriteResult};
use crate::resource::ObjectKey;
use crate::timestamp::Timestamp;

use super::directory::JournalDirectory;
use super::record::{self, FORMAT, JournalRecord, RecordedReads, RepeatedRun, StoredDecision};
use super::segment::{RecordKind, RecordSlot, Segment, SegmentStore};
use super::{Damage, JournalEntry, JournalError, JournalLimits, SEGMENTS, line};

/// Number of decision numbers reserved at once for quiet runs.
const ID_BLOCK: u64 = 256;

#[derive(Default)]
pub(super) struct JournalIndex {
    pub(super) segments: VecDeque<Segment>,
    pub(super) next: DecisionId,
    pub(super) damage: Vec<Damage>,
    pub(super) writes: HashMap<ObjectKey, DecisionId>,
    /// Segment and slot of each decision.
    ids: BTreeMap<DecisionId, (u64, usize)>,
    /// First number that is not recorded on the disk as used.
    reserved: u64,
}

impl JournalIndex {
    /// Adds a record at the end of the last segment.
    pub(super) fn add_record(&mut self, record: &JournalRecord, offset: u64, length: usize) {
        let Some(segment) = self.segments.back_mut() else { return };
        let location = (segment.number, segment.slots.len());
        segment.add_record(record, offset, length);
        match record {
            JournalRecord::Decision(stored) => {
                self.ids.insert(stored.decision.id, location);
                self.mark_used(stored.decision.id);
                for object in written_objects(&stored.decision) {
                    self.writes.insert(object.clone(), stored.decision.id);
                }
            }
            JournalRecord::Repeat(repeat) => {
                self.ids.insert(repeat.id, location);
                self.mark_used(repeat.id);
            }
            // The last record counts: a clean shutdown returns unused numbers of a block.
            JournalRecord::Ids { next } | JournalRecord::Head { next, .. } => self.reserved = next.0,
            JournalRecord::Lost { entries, .. } => segment.lost += entries,
            JournalRecord::Object(_) | JournalRecord::Finding { .. } => {}
        }
    }

    /// Finishes loading: the next number follows the used and reserved ones.
    pub(super) fn finish_load(&mut self) {
        self.next = self.next.max(DecisionId(self.reserved)).max(DecisionId(1));
    }

    pub(super) fn mark_used(&mut self, id: DecisionId) {
        self.next = self.next.max(DecisionId(id.0 + 1));
    }

    /// Returns the block to record if the disk does not know that the last number is used.
    pub(super) fn reservation(&self) -> Option<DecisionId> {
        (self.next.0 > self.reserved).then_some(DecisionId(self.next.0 + ID_BLOCK))
    }

    /// Starts a segment if there is none, or the last one is full.
    pub(super) fn make_room(
        &mut self,
        disk: Option<&JournalDirectory>,
        bounds: JournalLimits,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        let full = self.segments.back().is_none_or(|last| {
            let old = last.first.is_some_and(|first| now.since(first) >= bounds.max_age / SEGMENTS);
            last.bytes >= bounds.segment_bytes() || old
        });
        if !full {
            return Ok(());
        }
        let number = self.segments.back().map_or(1, |last| last.number + 1);
        if let Some(last) = self.segments.back_mut() {
            last.sync()?;
            last.written_objects = HashSet::new();
        }
        let store = disk.map_or(Ok(SegmentStore::Memory(Vec::new())), |disk| disk.begin(number))?;
        self.segments.push_back(Segment::new(number, store));
        let next = DecisionId(self.next.0.max(self.reserved).max(1));
        self.next = self.next.max(DecisionId(1));
        self.append(&[JournalRecord::Head { format: FORMAT, next }])
    }

    /// Writes records to the last segment, except objects that it contains already.
    pub(super) fn append(&mut self, records: &[JournalRecord]) -> Result<(), JournalError> {
        self.append_lines(records, &record::encode(records)?)
    }

    /// Writes records with their JSON, one line each.
    pub(super) fn append_lines(&mut self, records: &[JournalRecord], lines: &[Vec<u8>]) -> Result<(), JournalError> {
        let Some(segment) = self.segments.back_mut() else { return Ok(()) };
        let (mut bytes, mut noted) = (Vec::new(), Vec::new());
        for (record, json) in records.iter().zip(lines) {
            let known = |key: &ObjectKey, revision| segment.written_objects.contains(&(key.clone(), revision));
            if matches!(record, JournalRecord::Object(kept) if known(&kept.key, kept.revision)) {
                continue;
            }
            let from = bytes.len();
            line::push(&mut bytes, json);
            noted.push((record, segment.bytes + from as u64, bytes.len() - from));
        }
        segment.append(&bytes)?;
        for (record, offset, length) in noted {
            self.add_record(record, offset, length);
        }
        Ok(())
    }

    /// Whether the whole oldest segment has expired.
    pub(super) fn is_overdue(&self, bounds: JournalLimits, now: Timestamp) -> bool {
        let last = self.segments.front().and_then(|oldest| oldest.last);
        last.is_some_and(|last| now.since(last) > bounds.max_age)
    }

    /// Removes the oldest segments until both limits hold. Returns the first remaining number if any were removed.
    pub(super) fn prune(&mut self, bounds: JournalLimits, now: Timestamp) -> Result<Option<DecisionId>, JournalError> {
        let mut removed = false;
        while self.segments.len() > 1 {
            let Some(oldest) = self.segments.front() else { break };
            let old = oldest.last.is_none_or(|last| now.since(last) > bounds.max_age);
            // The last segment may still grow by its share and one more entry.
            let room = bounds.max_bytes.saturating_sub(2 * bounds.segment_bytes());
            if !old && self.bytes() <= room {
                break;
            }
            if let Some(oldest) = self.segments.pop_front() {
                oldest.remove()?;
                removed = true;
            }
        }
        if !removed {
            return Ok(None);
        }
        let first = self.segments.front().map_or(0, |segment| segment.number);
        self.ids.retain(|_, (segment, _)| *segment >= first);
        let ids = &self.ids;
        self.writes.retain(|_, id| ids.contains_key(id));
        Ok(Some(self.ids.keys().next().copied().unwrap_or(self.next)))
    }

    pub(super) fn stored(&self, id: DecisionId) -> Option<StoredDecision> {
        match self.record(id)? {
            JournalRecord::Decision(stored) => Some(*stored),
            JournalRecord::Repeat(repeat) => self.stored_of(&repeat),
            _ => None,
        }
    }

    fn stored_of(&self, repeat: &RepeatedRun) -> Option<StoredDecision> {
        match self.record(repeat.of)? {
            JournalRecord::Decision(stored) => {
                Some(StoredDecision { decision: repeat.apply_to(stored.decision), ..*stored })
            }
            _ => None,
        }
    }

    pub(super) fn decision(&self, id: DecisionId) -> Option<Decision> {
        self.stored(id).map(|stored| stored.decision)
    }

    pub(super) fn contents(&self, id: DecisionId) -> Option<RecordedReads> {
        let of = match self.record(id)? {
            JournalRecord::Repeat(repeat) => repeat.of,
            _ => id,
        };
        let stored = self.stored(of)?;
        let (segment, end) = self.locate(of)?;
        let mut wanted = objects_read(&stored.decision);
        let mut objects = Vec::new();
        for slot in segment.slots[..end].iter().rev().filter(|slot| slot.kind == RecordKind::Object) {
            if wanted.is_empty() {
                break;
            }
            if let Some(JournalRecord::Object(kept)) = segment.record(slot)
                && wanted.remove(&(kept.key.clone(), kept.revision))
            {
                objects.push(kept);
            }
        }
        let (trimmed, partial) = (stored.partial, stored.partial || !wanted.is_empty());
        Some(RecordedReads { objects, redacted: stored.redacted, partial, trimmed })
    }

    pub(super) fn newest(&self) -> NewestEntries<'_> {
        let all = self.segments.iter().rev().flat_map(|s| s.slots.iter().rev().map(move |slot| (s, slot)));
        NewestEntries { index: self, slots: Box::new(all) }
    }

    pub(super) fn since(&self) -> Option<Timestamp> {
        self.segments.iter().find_map(|segment| segment.first)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Returns the number of entries known to be missing.
    pub(super) fn lost(&self) -> u64 {
        let first = self.segments.front().map_or(0, |segment| segment.number);
        let damaged = self.damage.iter().filter(|damage| damage.segment >= first && !damage.torn).count();
        self.segments.iter().map(|segment| segment.lost).sum::<u64>() + damaged as u64
    }

    pub(super) fn sync(&self) -> Result<(), JournalError> {
        self.segments.back().map_or(Ok(()), Segment::sync)
    }

    fn locate(&self, id: DecisionId) -> Option<(&Segment, usize)> {
        let (number, slot) = self.ids.get(&id)?;
        let at = self.segments.binary_search_by_key(number, |segment| segment.number).ok()?;
        Some((&self.segments[at], *slot))
    }

    fn record(&self, id: DecisionId) -> Option<JournalRecord> {
        let (segment, slot) = self.locate(id)?;
        segment.record(segment.slots.get(slot)?)
    }
}

/// Iterator over the entries of a journal, newest first. Unreadable entries are skipped.
pub struct NewestEntries<'a> {
    index: &'a JournalIndex,
    slots: Box<dyn Iterator<Item = (&'a Segment, &'a RecordSlot)> + 'a>,
}

impl Iterator for NewestEntries<'_> {
    type Item = JournalEntry;

    fn next(&mut self) -> Option<JournalEntry> {
        loop {
            let (segment, slot) = self.slots.next()?;
            let entry = match slot.kind {
                RecordKind::Decision(id) | RecordKind::Repeat(id) => {
                    self.index.decision(id).map(|decision| JournalEntry::Decision(Box::new(decision)))
                }
                RecordKind::Finding => segment.record(slot).and_then(|record| match record {
                    JournalRecord::Finding { finding, .. } => Some(JournalEntry::Finding(finding)),
                    _ => None,
                }),
                RecordKind::Object | RecordKind::Other => None,
            };
            if entry.is_some() {
                return entry;
            }
        }
    }
}

/// Returns the objects a decision changed.
pub(super) fn written_objects(decision: &Decision) -> impl Iterator<Item = &ObjectKey> {
    let writes = match &decision.outcome {
        RunOutcome::Decided { writes, .. } => writes.as_slice(),
        RunOutcome::Failed { .. } | RunOutcome::NotCached { .. } => &[],
    };
    writes.iter().filter(|w| matches!(w.result, WriteResult::Written { .. })).map(|w| &w.object)
}

/// Returns the objects a decision read, with their revisions.
fn objects_read(decision: &Decision) -> HashSet<(ObjectKey, u64)> {
    let gets = decision.gets.iter().filter_map(|(key, revision)| Some((key.clone(), (*revision)?)));
    let listed = decision.lists.iter().flat_map(|(query, listed)| {
        listed.iter().map(|one| {
            let (namespace, name) = (one.namespace.clone(), one.name.clone());
            (ObjectKey { table: query.table.clone(), namespace, name }, one.revision)
        })
    });
    gets.chain(listed).collect()
}
