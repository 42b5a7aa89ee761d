//! Runs that wrote nothing and read what the run before them read.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::decision::{Decision, DecisionId, Outcome, WriteResult};
use crate::moment::Moment;
use crate::operator::UnitId;

use super::record::Repeat;

/// How often the quiet runs of one unit are written at most.
pub const QUIET_EVERY: Duration = Duration::from_secs(3600);
/// Units whose last run is remembered; of those beyond it every run is written.
const MAX_UNITS: usize = 100_000;

#[derive(Default)]
pub(super) struct Quiet {
    units: BTreeMap<UnitId, Last>,
    /// Which unit a remembered repeat belongs to.
    repeats: BTreeMap<DecisionId, UnitId>,
}

struct Last {
    id: DecisionId,
    likeness: u64,
    written: Moment,
    repeat: Option<Repeat>,
    /// Whether the repeat is on the disk already.
    kept: bool,
}

impl Quiet {
    pub(super) fn is_repeat(&self, decision: &Decision) -> bool {
        is_quiet(decision)
            && self.units.get(&decision.unit).is_some_and(|last| Some(last.likeness) == likeness(decision))
    }

    /// Takes a repeat; given back when it is time to write it.
    pub(super) fn repeat(&mut self, decision: &Decision, now: Moment) -> Option<Repeat> {
        let last = self.units.get_mut(&decision.unit)?;
        let repeat = Repeat {
            id: decision.id,
            of: last.id,
            causes: decision.causes.clone(),
            woken: decision.woken,
            started: decision.started,
            decide_us: decision.decide_us,
            at: now,
        };
        if let Some(before) = last.repeat.replace(repeat.clone()) {
            self.repeats.remove(&before.id);
        }
        self.repeats.insert(repeat.id, decision.unit.clone());
        last.kept = now.since(last.written) >= QUIET_EVERY;
        if last.kept {
            last.written = now;
        }
        last.kept.then_some(repeat)
    }

    /// Forgets a unit; gives back what of it was not written.
    pub(super) fn settle(&mut self, unit: &UnitId) -> Option<Repeat> {
        let last = self.units.remove(unit)?;
        let repeat = last.repeat?;
        self.repeats.remove(&repeat.id);
        (!last.kept).then_some(repeat)
    }

    pub(super) fn remember(&mut self, decision: &Decision) {
        if self.units.len() >= MAX_UNITS {
            return;
        }
        // Quiet runs behind a run that wrote are not like it: the first of them is written in full.
        let Some(likeness) = is_quiet(decision).then(|| likeness(decision)).flatten() else { return };
        let last = Last { id: decision.id, likeness, written: decision.started, repeat: None, kept: true };
        self.units.insert(decision.unit.clone(), last);
    }

    pub(super) fn find(&self, id: DecisionId) -> Option<&Repeat> {
        self.units.get(self.repeats.get(&id)?)?.repeat.as_ref()
    }

    /// Those of the remembered repeats that are not written.
    pub(super) fn unwritten(&self, ids: &[DecisionId]) -> Vec<Repeat> {
        let last = ids.iter().filter_map(|id| self.units.get(self.repeats.get(id)?));
        last.filter(|last| !last.kept).filter_map(|last| last.repeat.clone()).collect()
    }

    /// These have been written, each when it ran.
    pub(super) fn written(&mut self, ids: &[DecisionId]) {
        for id in ids {
            let last = self.repeats.get(id).and_then(|unit| self.units.get_mut(unit));
            if let Some(last) = last {
                last.kept = true;
                last.written = last.repeat.as_ref().map_or(last.written, |repeat| repeat.at);
            }
        }
    }

    /// Forgets those whose first run is not kept any more, so that the next one is written in full.
    pub(super) fn forget_before(&mut self, oldest: Option<DecisionId>) {
        if let Some(oldest) = oldest {
            self.units.retain(|_, last| last.id >= oldest);
            self.repeats.retain(|_, unit| self.units.contains_key(unit));
        }
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Repeat> + use<> {
        self.repeats.clear();
        std::mem::take(&mut self.units).into_values().filter(|last| !last.kept).filter_map(|last| last.repeat)
    }
}

fn is_quiet(decision: &Decision) -> bool {
    match &decision.outcome {
        Outcome::Decided { writes, .. } => writes.iter().all(|write| write.result == WriteResult::Unchanged),
        Outcome::Failed { .. } | Outcome::Parked { .. } => false,
    }
}

fn likeness(decision: &Decision) -> Option<u64> {
    // What follows from the reads says nothing of its own; the time and what it cost stand in it, and are new each time.
    // The same holds of a look outside, but for what it says of the outside.
    let asked = decision.asked.iter().filter(|asked| !asked.follows);
    let asked: Vec<_> = asked.map(|asked| (asked.gist, asked.gist.is_none().then_some(asked))).collect();
    let parts = (&decision.gets, &decision.lists, asked, &decision.outcome);
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(&parts).ok()?.hash(&mut hasher);
    Some(hasher.finish())
}
