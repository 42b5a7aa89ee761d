//! Where everything stands: segments by age, decisions by number, the last write of each object.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::decision::{Decision, DecisionId, Outcome, WriteResult};
use crate::moment::Moment;
use crate::resource::ObjectKey;

use super::disk::Disk;
use super::record::{self, Contents, FORMAT, Record, Repeat, Stored};
use super::segment::{Segment, Slot, Store, What};
use super::{Bounds, Damage, Entry, JournalError, SEGMENTS, line};

/// How many numbers are taken at once for runs that are not written.
const ID_BLOCK: u64 = 256;

#[derive(Default)]
pub(super) struct Index {
    pub(super) segments: VecDeque<Segment>,
    pub(super) next: DecisionId,
    pub(super) damage: Vec<Damage>,
    pub(super) writes: HashMap<ObjectKey, DecisionId>,
    /// Decisions by number: segment and place in it.
    ids: BTreeMap<DecisionId, (u64, usize)>,
    /// Numbers before this one are known to the disk as taken.
    reserved: u64,
}

impl Index {
    /// Takes over a record that stands at the end of the last segment.
    pub(super) fn note(&mut self, record: &Record, offset: u64, length: usize) {
        let Some(segment) = self.segments.back_mut() else { return };
        let place = (segment.number, segment.slots.len());
        segment.note(record, offset, length);
        match record {
            Record::Decision(stored) => {
                self.ids.insert(stored.decision.id, place);
                self.take(stored.decision.id);
                for object in written(&stored.decision) {
                    self.writes.insert(object.clone(), stored.decision.id);
                }
            }
            Record::Repeat(repeat) => {
                self.ids.insert(repeat.id, place);
                self.take(repeat.id);
            }
            // The last one counts: a clean end takes back what a block reserved too much.
            Record::Ids { next } | Record::Head { next, .. } => self.reserved = next.0,
            Record::Lost { entries, .. } => segment.lost += entries,
            Record::Object(_) | Record::Finding { .. } => {}
        }
    }

    /// Once everything is read: numbers go on behind what was taken.
    pub(super) fn settle(&mut self) {
        self.next = self.next.max(DecisionId(self.reserved)).max(DecisionId(1));
    }

    pub(super) fn take(&mut self, id: DecisionId) {
        self.next = self.next.max(DecisionId(id.0 + 1));
    }

    /// The block to write down when the disk does not know that the last number is taken.
    pub(super) fn reservation(&self) -> Option<DecisionId> {
        (self.next.0 > self.reserved).then_some(DecisionId(self.next.0 + ID_BLOCK))
    }

    /// Begins a segment when there is none, or the last has its share.
    pub(super) fn make_room(&mut self, disk: Option<&Disk>, bounds: Bounds, now: Moment) -> Result<(), JournalError> {
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
            last.kept = HashSet::new();
        }
        let store = disk.map_or(Ok(Store::Memory(Vec::new())), |disk| disk.begin(number))?;
        self.segments.push_back(Segment::new(number, store));
        let next = DecisionId(self.next.0.max(self.reserved).max(1));
        self.next = self.next.max(DecisionId(1));
        self.append(&[Record::Head { format: FORMAT, next }])
    }

    /// Writes records to the last segment, without objects it holds already.
    pub(super) fn append(&mut self, records: &[Record]) -> Result<(), JournalError> {
        self.append_lines(records, &record::lines(records)?)
    }

    /// The same with their JSON, one for each.
    pub(super) fn append_lines(&mut self, records: &[Record], lines: &[Vec<u8>]) -> Result<(), JournalError> {
        let Some(segment) = self.segments.back_mut() else { return Ok(()) };
        let (mut bytes, mut noted) = (Vec::new(), Vec::new());
        for (record, json) in records.iter().zip(lines) {
            let known = |key: &ObjectKey, revision| segment.kept.contains(&(key.clone(), revision));
            if matches!(record, Record::Object(kept) if known(&kept.key, kept.revision)) {
                continue;
            }
            let from = bytes.len();
            line::push(&mut bytes, json);
            noted.push((record, segment.bytes + from as u64, bytes.len() - from));
        }
        segment.append(&bytes)?;
        for (record, offset, length) in noted {
            self.note(record, offset, length);
        }
        Ok(())
    }

    /// Whether all of the oldest segment is too old.
    pub(super) fn is_overdue(&self, bounds: Bounds, now: Moment) -> bool {
        let last = self.segments.front().and_then(|oldest| oldest.last);
        last.is_some_and(|last| now.since(last) > bounds.max_age)
    }

    /// Removes the oldest segments until both bounds hold; says which number is the oldest then, if any went.
    pub(super) fn prune(&mut self, bounds: Bounds, now: Moment) -> Result<Option<DecisionId>, JournalError> {
        let mut removed = false;
        while self.segments.len() > 1 {
            let Some(oldest) = self.segments.front() else { break };
            let old = oldest.last.is_none_or(|last| now.since(last) > bounds.max_age);
            // The last segment may still grow by its own share and one entry more.
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

    pub(super) fn stored(&self, id: DecisionId) -> Option<Stored> {
        match self.record(id)? {
            Record::Decision(stored) => Some(*stored),
            Record::Repeat(repeat) => self.stored_of(&repeat),
            _ => None,
        }
    }

    fn stored_of(&self, repeat: &Repeat) -> Option<Stored> {
        match self.record(repeat.of)? {
            Record::Decision(stored) => Some(Stored { decision: repeat.over(stored.decision), ..*stored }),
            _ => None,
        }
    }

    pub(super) fn decision(&self, id: DecisionId) -> Option<Decision> {
        self.stored(id).map(|stored| stored.decision)
    }

    pub(super) fn contents(&self, id: DecisionId) -> Option<Contents> {
        let of = match self.record(id)? {
            Record::Repeat(repeat) => repeat.of,
            _ => id,
        };
        let stored = self.stored(of)?;
        let (segment, end) = self.place(of)?;
        let mut wanted = read_by(&stored.decision);
        let mut objects = Vec::new();
        for slot in segment.slots[..end].iter().rev().filter(|slot| slot.what == What::Object) {
            if wanted.is_empty() {
                break;
            }
            if let Some(Record::Object(kept)) = segment.record(slot)
                && wanted.remove(&(kept.key.clone(), kept.revision))
            {
                objects.push(kept);
            }
        }
        let (trimmed, partial) = (stored.partial, stored.partial || !wanted.is_empty());
        Some(Contents { objects, masked: stored.masked, partial, trimmed })
    }

    pub(super) fn newest(&self) -> Newest<'_> {
        let all = self.segments.iter().rev().flat_map(|s| s.slots.iter().rev().map(move |slot| (s, slot)));
        Newest { index: self, slots: Box::new(all) }
    }

    pub(super) fn since(&self) -> Option<Moment> {
        self.segments.iter().find_map(|segment| segment.first)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// How many entries are known to be missing from what is kept.
    pub(super) fn lost(&self) -> u64 {
        let first = self.segments.front().map_or(0, |segment| segment.number);
        let damaged = self.damage.iter().filter(|damage| damage.segment >= first && !damage.torn).count();
        self.segments.iter().map(|segment| segment.lost).sum::<u64>() + damaged as u64
    }

    pub(super) fn sync(&self) -> Result<(), JournalError> {
        self.segments.back().map_or(Ok(()), Segment::sync)
    }

    fn place(&self, id: DecisionId) -> Option<(&Segment, usize)> {
        let (number, slot) = self.ids.get(&id)?;
        let at = self.segments.binary_search_by_key(number, |segment| segment.number).ok()?;
        Some((&self.segments[at], *slot))
    }

    fn record(&self, id: DecisionId) -> Option<Record> {
        let (segment, slot) = self.place(id)?;
        segment.record(segment.slots.get(slot)?)
    }
}

/// The entries of a journal, newest first. One that cannot be read any more is left out.
pub struct Newest<'a> {
    index: &'a Index,
    slots: Box<dyn Iterator<Item = (&'a Segment, &'a Slot)> + 'a>,
}

impl Iterator for Newest<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let (segment, slot) = self.slots.next()?;
            let entry = match slot.what {
                What::Decision(id) | What::Repeat(id) => {
                    self.index.decision(id).map(|decision| Entry::Decision(Box::new(decision)))
                }
                What::Finding => segment.record(slot).and_then(|record| match record {
                    Record::Finding { finding, .. } => Some(Entry::Finding(finding)),
                    _ => None,
                }),
                What::Object | What::Other => None,
            };
            if entry.is_some() {
                return entry;
            }
        }
    }
}

/// The objects a decision changed.
pub(super) fn written(decision: &Decision) -> impl Iterator<Item = &ObjectKey> {
    let writes = match &decision.outcome {
        Outcome::Decided { writes, .. } => writes.as_slice(),
        Outcome::Failed { .. } | Outcome::Parked { .. } => &[],
    };
    writes.iter().filter(|w| matches!(w.result, WriteResult::Written { .. })).map(|w| &w.object)
}

/// The objects a decision read, at their revisions.
fn read_by(decision: &Decision) -> HashSet<(ObjectKey, u64)> {
    let gets = decision.gets.iter().filter_map(|(key, revision)| Some((key.clone(), (*revision)?)));
    let listed = decision.lists.iter().flat_map(|(query, listed)| {
        listed.iter().map(|one| {
            let (namespace, name) = (one.namespace.clone(), one.name.clone());
            (ObjectKey { table: query.table.clone(), namespace, name }, one.revision)
        })
    });
    gets.chain(listed).collect()
}
