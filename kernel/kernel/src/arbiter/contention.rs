//! Who fights, who loops.
//!
//! A fight: one unit sets a field and another sets it again, in turns, with nobody else between them: back to a value it had,
//! or to a new one though nothing but the other's turn gave a reason for it. A loop: a unit changes what it has set itself, again and again, though what it reads from others stays the same.

mod fight;
mod looping;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::changes::{changes, hash, is_going};
use crate::decision::{Cause, Write, WriteResult};
use crate::moment::Moment;
use crate::operator::UnitId;
use crate::resource::ObjectKey;
use crate::state::Finding;
use crate::view::Reads;

pub use fight::{FLIPS, MAX_FIELDS, turn_wait};
pub use looping::{LOOP_WINDOW, LOOP_WRITES, MAX_UNITS, MAX_WRITTEN, SLOW_FIRST, SLOW_MAX};

/// How long after it was last seen a finding goes on; turns that are further apart are no fight.
pub const FINDING_AGE: Duration = Duration::from_secs(600);
/// How many findings are kept; the oldest goes.
pub const MAX_FINDINGS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Contention {
    pub(super) fights: fight::Fights,
    pub(super) loops: looping::Loops,
    findings: BTreeMap<Subject, Finding>,
}

/// What a unit has read, for telling whether others gave it a reason to write.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    pub(super) reads: &'a Reads,
    /// Why it ran.
    pub(super) causes: &'a [Cause],
    /// The same as long as what it reads from others is the same.
    pub(super) fingerprint: u64,
    /// It looked outside, where it may have found a reason, for somebody else had it look.
    pub(super) looked: bool,
}

/// A number for what a unit has read from others than itself and the unit named; the same as long as that is the same.
type Others<'a> = &'a dyn Fn(&UnitId) -> u64;

/// What a finding is about: one is kept of each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Fight(ObjectKey, String),
    Loop(UnitId, ObjectKey),
}

impl Contention {
    pub fn written(
        &mut self,
        now: Moment,
        unit: &UnitId,
        write: &Write,
        (before, after): (Option<&Value>, Option<&Value>),
        inputs: Inputs<'_>,
    ) -> Vec<Finding> {
        let WriteResult::Written { revision } = write.result else { return Vec::new() };
        self.loops.made(unit, &write.object, after.map(|_| revision), after.is_none_or(is_going));
        let changes = changes(before, after);
        if changes.is_empty() {
            return Vec::new();
        }
        let loops = &self.loops;
        let others = |other: &UnitId| {
            let own =
                |key: &ObjectKey, at: Option<u64>| loops.has_made(unit, key, at) || loops.has_made(other, key, at);
            let looked = looked(&own, inputs.reads, inputs.causes);
            hash((fingerprint(&own, inputs.reads), looked.then(|| gists(inputs.reads).collect::<Vec<_>>())))
        };
        let mut found = self.fights.written(now, unit, &write.object, &changes, &others);
        found.extend(self.loops.written(now, unit, write, &changes, inputs));
        for finding in &found {
            self.keep(finding.clone());
        }
        found
    }

    pub fn findings(&self, now: Moment) -> Vec<Finding> {
        self.findings.values().filter(|finding| now.since(at(finding)) <= FINDING_AGE).cloned().collect()
    }

    pub fn slowed(&self, unit: &UnitId, now: Moment) -> Option<Duration> {
        self.loops.slowed(unit, now)
    }

    /// Whether the unit itself made that revision of the object, or made it go.
    pub fn made(&self, unit: &UnitId, key: &ObjectKey, revision: Option<u64>) -> bool {
        self.loops.has_made(unit, key, revision)
    }

    pub fn applied(&mut self, unit: &UnitId, write: &Write, revision: u64) {
        self.loops.applied(unit, write, revision);
    }

    pub fn has_applied(&self, unit: &UnitId, write: &Write, revision: u64) -> bool {
        self.loops.has_applied(unit, write, revision)
    }

    pub fn forget(&mut self, unit: &UnitId) {
        self.loops.forget(unit);
        self.findings.retain(|_, finding| match finding {
            Finding::Fight { units, .. } => !units.contains(unit),
            Finding::Loop { unit: looping, .. } => looping != unit,
        });
    }

    fn keep(&mut self, finding: Finding) {
        let subject = match &finding {
            Finding::Fight { object, field, .. } => Subject::Fight(object.clone(), field.clone()),
            Finding::Loop { object, unit, .. } => Subject::Loop(unit.clone(), object.clone()),
        };
        self.findings.insert(subject, finding);
        if self.findings.len() > MAX_FINDINGS
            && let Some(oldest) = self.findings.iter().min_by_key(|(_, f)| at(f)).map(|(subject, _)| subject.clone())
        {
            self.findings.remove(&oldest);
        }
    }
}

fn at(finding: &Finding) -> Moment {
    match finding {
        Finding::Fight { at, .. } | Finding::Loop { at, .. } => *at,
    }
}

/// Whether a run looked outside because of something else than what `own` says the unit made itself, and what comes of its own
/// runs: to be tried again, to go on. Else the look is part of what it does over and over, as its plan is.
pub(super) fn looked(own: &dyn Fn(&ObjectKey, Option<u64>) -> bool, reads: &Reads, causes: &[Cause]) -> bool {
    let had_it_look = |cause: &Cause| match cause {
        Cause::Changed { object, revision } | Cause::Matched { object, revision, .. } => {
            !own(object, Some(*revision)) && !own(object, None)
        }
        Cause::Again | Cause::Retry { .. } | Cause::Unfinished => false,
        Cause::Started | Cause::Known { .. } | Cause::Resync | Cause::Asked | Cause::Outside => true,
    };
    gists(reads).next().is_some() && causes.iter().any(had_it_look)
}

/// What looks outside said.
fn gists(reads: &Reads) -> impl Iterator<Item = u64> {
    reads.asked.iter().filter_map(|asked| asked.gist)
}

/// Of what was read, except revisions and absences that `own` says the unit made itself, and of what was asked outside, except
/// for looks: those count by [`looked`].
pub(super) fn fingerprint(own: &dyn Fn(&ObjectKey, Option<u64>) -> bool, reads: &Reads) -> u64 {
    let gets: Vec<_> = reads.gets.iter().filter(|(key, revision)| !own(key, **revision)).collect();
    let mut lists = Vec::new();
    for (query, listed) in &reads.lists {
        let key = |namespace: &std::sync::Arc<str>, name: &std::sync::Arc<str>| ObjectKey {
            table: query.table.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
        };
        let others = listed.iter().filter(|l| !own(&key(&l.namespace, &l.name), Some(l.revision)));
        lists.push((query, others.map(|l| (&l.namespace, &l.name, l.revision)).collect::<Vec<_>>()));
    }
    let asked = reads.asked.iter().filter(|asked| !asked.follows && asked.gist.is_none());
    let asked: Vec<_> = asked.map(|asked| (&asked.request, &asked.answer)).collect();
    hash((gets, lists, asked))
}
