//! A unit that writes again and again though nothing it reads from others changes.
//!
//! A write counts when it changes a field that the unit itself had set last, with the same inputs, and soon after: within
//! [`LOOP_WINDOW`] and the time the unit was slowed by. So these are no loops: an object built up field by field, a value
//! that others keep changing, a heartbeat that is written because time has passed.
//!
//! A slow loop gives itself away by going round: within [`FINDING_AGE`], a write also counts when it sets a field back to
//! a value that the unit itself had set it to before, with the same inputs. Time that passes makes new values.
//!
//! Somebody who looks outside may find a reason there that nobody here sees. It is believed to who was made to look by others;
//! who looks because of its own writes alone would find a new one each time, and goes on for ever.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use serde_json::Value;

use super::{FINDING_AGE, Inputs};
use crate::arbiter::changes::Change;
use crate::arbiter::recent::Recent;
use crate::decision::Write;
use crate::moment::Moment;
use crate::operator::UnitId;
use crate::plan::Act;
use crate::resource::ObjectKey;
use crate::state::Finding;

/// So many writes of one object with unchanged inputs are a loop. The write before them may be the first one that sees
/// the object as the unit left it, so a loop is found with its fifth write at the latest.
pub const LOOP_WRITES: u32 = 4;
/// Writes further apart than this, and than what the unit was slowed by, are no loop: a unit that asks to run again after
/// a longer time writes because time has passed.
pub const LOOP_WINDOW: Duration = Duration::from_secs(5);
/// How many units' writes are remembered; the one that wrote longest ago is forgotten.
pub const MAX_UNITS: usize = 20_000;
/// How many objects are remembered over all units.
pub const MAX_WRITTEN: usize = 50_000;
/// How long a unit that was found to loop is slowed at first.
pub const SLOW_FIRST: Duration = Duration::from_secs(1);
/// How long at most.
pub const SLOW_MAX: Duration = Duration::from_secs(60);

/// How many objects of one unit are remembered.
const MAX_OBJECTS: usize = 256;
/// How many of its own revisions of one object: as many as a stale view may be behind.
const MAX_REVISIONS: usize = 8;
/// How many changed fields of an object are compared.
const MAX_COMPARED: usize = 16;
/// How many values of a field are remembered: a loop that goes through more looks like values that are always new.
const MAX_VALUES: usize = 4;
/// How many writes of one moment are told apart.
const MAX_AT_ONCE: usize = 64;

#[derive(Debug, Default)]
pub struct Loops {
    units: Recent<UnitId, Recent<ObjectKey, Wrote>>,
    written: usize,
}

/// What a unit did to one object.
#[derive(Debug, Default)]
struct Wrote {
    revisions: VecDeque<u64>,
    /// It deleted the object last.
    gone: bool,
    /// What it applied last, and the revision that the object had then.
    applied: Option<(Applied, u64)>,
    run: Run,
}

/// An apply, told apart by the hash of all that is sent.
type Applied = [u8; 32];

/// Writes of one object in a row, with the same inputs.
#[derive(Debug, Default)]
struct Run {
    fingerprint: u64,
    /// The last values it left in the fields it changed, by hash; the newest last.
    fields: BTreeMap<String, VecDeque<u64>>,
    writes: u32,
    at: Moment,
    /// What was written at that moment: a run of a unit writes an object and its status once each.
    at_once: BTreeSet<(Arc<str>, Option<String>)>,
}

impl Loops {
    /// Remembers that the unit made that revision, or that it made the object go, at once or after a while.
    pub fn made(&mut self, unit: &UnitId, object: &ObjectKey, revision: Option<u64>, gone: bool) {
        let wrote = self.touch(unit, object);
        wrote.gone = gone;
        wrote.revisions.extend(revision);
        if wrote.revisions.len() > MAX_REVISIONS {
            wrote.revisions.pop_front();
        }
    }

    /// Whether that revision, or the absence, is the unit's own doing.
    pub fn has_made(&self, unit: &UnitId, object: &ObjectKey, revision: Option<u64>) -> bool {
        let wrote = self.units.get(unit).and_then(|objects| objects.get(object));
        wrote.is_some_and(|wrote| revision.map_or(wrote.gone, |revision| wrote.revisions.contains(&revision)))
    }

    pub fn applied(&mut self, unit: &UnitId, write: &Write, revision: u64) {
        if let Some(applied) = applied(write) {
            self.touch(unit, &write.object).applied = Some((applied, revision));
        }
    }

    /// Whether the same was applied last by the unit, and left the object at that revision.
    pub fn has_applied(&self, unit: &UnitId, write: &Write, revision: u64) -> bool {
        let wrote = self.units.get(unit).and_then(|objects| objects.get(&write.object));
        let last = wrote.and_then(|wrote| wrote.applied.as_ref()).filter(|(_, left)| *left == revision);
        last.is_some_and(|(last, _)| applied(write).as_ref() == Some(last))
    }

    pub fn written(
        &mut self,
        now: Moment,
        unit: &UnitId,
        write: &Write,
        changes: &[Change],
        inputs: Inputs<'_>,
    ) -> Option<Finding> {
        let generated = generated(write);
        let object = generated.as_ref().unwrap_or(&write.object);
        let part = (write.object.name.clone(), write.mutation.subresource.clone());
        let run = &mut self.touch(unit, object).run;
        let field = run.take_in(now, changes, generated.is_some(), part, inputs)?;
        let writes = run.writes;
        (writes >= LOOP_WRITES).then(|| Finding::Loop {
            object: write.object.clone(),
            field,
            unit: unit.clone(),
            writes,
            at: now,
        })
    }

    /// As long as its worst object says, while it goes on.
    pub fn slowed(&self, unit: &UnitId, now: Moment) -> Option<Duration> {
        let runs = self.units.get(unit)?.values().map(|wrote| &wrote.run);
        runs.filter(|run| run.goes_on(now)).map(Run::slow).max().filter(|slow| !slow.is_zero())
    }

    pub fn forget(&mut self, unit: &UnitId) {
        self.written -= self.units.remove(unit).map_or(0, |objects| objects.len());
    }

    #[cfg(test)]
    pub fn remembered(&self) -> (usize, usize) {
        let objects: usize = self.units.values().map(Recent::len).sum();
        assert_eq!(objects, self.written);
        (self.units.len(), objects)
    }

    fn touch(&mut self, unit: &UnitId, object: &ObjectKey) -> &mut Wrote {
        // The unit stays: it is the youngest by then, and there is room for more than one unit.
        let objects = self.units.touch(unit, Recent::default);
        let known = objects.len();
        objects.touch(object, Wrote::default);
        objects.shrink(MAX_OBJECTS);
        self.written += objects.len() - known;
        while let Some(forgotten) = self.units.shrink(if self.written > MAX_WRITTEN { 1 } else { MAX_UNITS }) {
            self.written -= forgotten.len();
        }
        self.units.touch(unit, Recent::default).touch(object, Wrote::default)
    }
}

impl Run {
    fn goes_on(&self, now: Moment) -> bool {
        now.since(self.at) <= LOOP_WINDOW.saturating_add(self.slow())
    }

    fn slow(&self) -> Duration {
        let Some(more) = self.writes.checked_sub(LOOP_WRITES) else { return Duration::ZERO };
        SLOW_FIRST.saturating_mul(1_u32.checked_shl(more).unwrap_or(u32::MAX)).min(SLOW_MAX)
    }

    /// Takes a write in; the field it set again, if it counts.
    fn take_in(
        &mut self,
        now: Moment,
        changes: &[Change],
        generated: bool,
        part: (Arc<str>, Option<String>),
        inputs: Inputs<'_>,
    ) -> Option<String> {
        if self.fingerprint != inputs.fingerprint || now.since(self.at) > FINDING_AGE {
            *self = Self { fingerprint: inputs.fingerprint, ..Self::default() };
        }
        let soon = self.goes_on(now);
        if self.at != now || self.at_once.contains(&part) {
            self.at_once.clear();
        }
        let same_run = !self.at_once.is_empty();
        if self.at_once.len() < MAX_AT_ONCE {
            self.at_once.insert(part);
        }
        self.at = now;
        // One more of a generated name comes from nothing each time.
        let own = |change: &&Change| {
            self.fields.get(&change.field).is_some_and(|left| {
                let last = left.back() == Some(&change.before) || generated && change.field == ".";
                last && (soon || !generated && left.contains(&change.after))
            })
        };
        // What it found outside may be the reason: it does not count, and clears nobody either.
        let again = changes.iter().find(own).filter(|_| !inputs.looked).map(|change| change.field.clone());
        changes.iter().take(MAX_COMPARED).for_each(|change| self.leave(change));
        match again {
            _ if self.writes == 0 => self.writes = 1,
            Some(_) if !same_run => self.writes = self.writes.saturating_add(1),
            // What it did long ago has nothing to do with what it does now.
            None if !soon && !same_run => self.writes = 1,
            _ => {}
        }
        again
    }

    fn leave(&mut self, change: &Change) {
        if self.fields.len() >= MAX_COMPARED && !self.fields.contains_key(&change.field) {
            return;
        }
        let left = self.fields.entry(change.field.clone()).or_insert_with(|| VecDeque::from([change.before]));
        left.push_back(change.after);
        if left.len() > MAX_VALUES {
            left.pop_front();
        }
    }
}

fn applied(write: &Write) -> Option<Applied> {
    let Act::Apply { body, force } = &write.mutation.act else { return None };
    let (manager, part) = (&write.mutation.field_manager, &write.mutation.subresource);
    let mut sent = format!("{manager:?} {part:?} {force} ").into_bytes();
    serde_json::to_writer(&mut sent, body).ok()?;
    digest(&SHA256, &sent).as_ref().try_into().ok()
}

/// What stands for all objects of one `generateName`: each has another name, but making one more is doing the same again.
fn generated(write: &Write) -> Option<ObjectKey> {
    let Act::Create(body) = &write.mutation.act else { return None };
    let prefix = body.pointer("/metadata/generateName").and_then(Value::as_str).filter(|prefix| !prefix.is_empty())?;
    Some(ObjectKey { name: format!("{prefix}*").into(), ..write.object.clone() })
}
