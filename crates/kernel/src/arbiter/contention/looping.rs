//! A unit that writes again and again though nothing it reads from others changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::FINDING_AGE;
use crate::arbiter::changes::Change;
use crate::decision::Write;
use crate::moment::Moment;
use crate::operator::UnitId;
use crate::resource::ObjectKey;
use crate::state::Finding;

/// So many writes of one object with unchanged inputs are a loop.
pub const LOOP_WRITES: u32 = 3;
/// How many units' writes are remembered; the one that wrote longest ago is forgotten.
pub const MAX_UNITS: usize = 20_000;
/// How long a unit that was found to loop is slowed at first.
pub const SLOW_FIRST: Duration = Duration::from_secs(1);
/// How long at most.
pub const SLOW_MAX: Duration = Duration::from_secs(60);

/// How many objects of one unit are remembered.
const MAX_OBJECTS: usize = 256;
/// How many of its own revisions of one object: as many as a stale view may be behind.
const MAX_REVISIONS: usize = 8;
/// How many changed fields are compared with the next write's.
const MAX_COMPARED: usize = 16;

#[derive(Debug, Default)]
pub struct Loops {
    units: BTreeMap<UnitId, Wrote>,
}

#[derive(Debug, Default)]
struct Wrote {
    revisions: BTreeMap<ObjectKey, VecDeque<u64>>,
    runs: BTreeMap<(ObjectKey, Option<String>), Run>,
    at: Moment,
}

/// Writes of one object in a row.
#[derive(Debug)]
struct Run {
    fingerprint: u64,
    fields: BTreeSet<String>,
    writes: u32,
    at: Moment,
}

impl Loops {
    /// Remembers that the unit made that revision.
    pub fn made(&mut self, unit: &UnitId, object: &ObjectKey, revision: u64) {
        let wrote = self.units.entry(unit.clone()).or_default();
        let revisions = wrote.revisions.entry(object.clone()).or_default();
        revisions.push_back(revision);
        if revisions.len() > MAX_REVISIONS {
            revisions.pop_front();
        }
        if wrote.revisions.len() > MAX_OBJECTS
            && let Some(oldest) =
                wrote.revisions.iter().min_by_key(|(_, made)| made.back().copied()).map(|(key, _)| key.clone())
        {
            wrote.revisions.remove(&oldest);
        }
    }

    pub fn has_made(&self, unit: &UnitId, object: &ObjectKey, revision: u64) -> bool {
        self.units.get(unit).and_then(|w| w.revisions.get(object)).is_some_and(|made| made.contains(&revision))
    }

    pub fn written(
        &mut self,
        now: Moment,
        unit: &UnitId,
        write: &Write,
        changes: &[Change],
        fingerprint: u64,
    ) -> Option<Finding> {
        let wrote = self.units.entry(unit.clone()).or_default();
        wrote.at = now;
        let key = (write.object.clone(), write.mutation.subresource.clone());
        let fields: BTreeSet<String> = changes.iter().take(MAX_COMPARED).map(|c| c.field.clone()).collect();
        let run =
            wrote.runs.entry(key).or_insert_with(|| Run { fingerprint, fields: fields.clone(), writes: 0, at: now });
        // Other fields are progress: an object that is built up in steps is no loop.
        let again =
            run.fingerprint == fingerprint && now.since(run.at) <= FINDING_AGE && !run.fields.is_disjoint(&fields);
        run.writes = if again { run.writes.saturating_add(1) } else { 1 };
        let field = changes.iter().find(|c| run.fields.contains(&c.field)).map(|c| c.field.clone());
        (run.fingerprint, run.fields, run.at) = (fingerprint, fields, now);
        let writes = run.writes;
        wrote.shrink();
        self.shrink();
        (writes >= LOOP_WRITES).then(|| Finding::Loop {
            object: write.object.clone(),
            field: field.unwrap_or_default(),
            unit: unit.clone(),
            writes,
            at: now,
        })
    }

    /// As long as its worst object says.
    pub fn slowed(&self, unit: &UnitId, now: Moment) -> Option<Duration> {
        let runs = self.units.get(unit)?.runs.values();
        let looping = runs.filter(|run| run.writes >= LOOP_WRITES && now.since(run.at) <= FINDING_AGE);
        let writes = looping.map(|run| run.writes).max()?;
        let doubled = 1_u32.checked_shl(writes - LOOP_WRITES).unwrap_or(u32::MAX);
        Some(SLOW_FIRST.saturating_mul(doubled).min(SLOW_MAX))
    }

    pub fn forget(&mut self, unit: &UnitId) {
        self.units.remove(unit);
    }

    fn shrink(&mut self) {
        if self.units.len() > MAX_UNITS
            && let Some(oldest) = self.units.iter().min_by_key(|(_, wrote)| wrote.at).map(|(unit, _)| unit.clone())
        {
            self.units.remove(&oldest);
        }
    }
}

impl Wrote {
    fn shrink(&mut self) {
        if self.runs.len() > MAX_OBJECTS
            && let Some(oldest) = self.runs.iter().min_by_key(|(_, run)| run.at).map(|(key, _)| key.clone())
        {
            self.runs.remove(&oldest);
        }
    }
}
