//! Runs that wrote nothing, with the same reads as the previous run.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::decision::{Decision, DecisionId, RunOutcome, WriteResult};
use crate::operator::UnitId;
use crate::timestamp::Timestamp;

use super::record::RepeatedRun;

/// Minimum time between two written quiet runs of a unit.
pub const QUIET_EVERY: Duration = Duration::from_secs(3600);
/// Maximum number of units whose last run is remembered; runs of further units are all written.
const MAX_UNITS: usize = 100_000;

#[derive(Default)]
pub(super) struct QuietRuns {
    units: BTreeMap<UnitId, LastRun>,
    /// Unit of each remembered repeat.
    repeats: BTreeMap<DecisionId, UnitId>,
}

struct LastRun {
    id: DecisionId,
    similarity: u64,
    written_at: Timestamp,
    repeat: Option<RepeatedRun>,
    /// Whether the repeat is written already.
    is_written: bool,
}

impl QuietRuns {
    pub(super) fn is_repeat(&self, decision: &Decision) -> bool {
        is_quiet(decision)
            && self.units.get(&decision.unit).is_some_and(|last| Some(last.similarity) == similarity_hash(decision))
    }

    /// Records a repeat, and returns it if it is due to be written.
    pub(super) fn repeat(&mut self, decision: &Decision, now: Timestamp) -> Option<RepeatedRun> {
        let last = self.units.get_mut(&decision.unit)?;
        let repeat = RepeatedRun {
            id: decision.id,
            of: last.id,
            causes: decision.causes.clone(),
            triggered_at: decision.triggered_at,
            started: decision.started,
            decide_us: decision.decide_us,
            at: now,
        };
        if let Some(before) = last.repeat.replace(repeat.clone()) {
            self.repeats.remove(&before.id);
        }
        self.repeats.insert(repeat.id, decision.unit.clone());
        last.is_written = now.since(last.written_at) >= QUIET_EVERY;
        if last.is_written {
            last.written_at = now;
        }
        last.is_written.then_some(repeat)
    }

    /// Forgets a unit, and returns its unwritten repeat.
    pub(super) fn take_unwritten(&mut self, unit: &UnitId) -> Option<RepeatedRun> {
        let last = self.units.remove(unit)?;
        let repeat = last.repeat?;
        self.repeats.remove(&repeat.id);
        (!last.is_written).then_some(repeat)
    }

    pub(super) fn remember(&mut self, decision: &Decision) {
        if self.units.len() >= MAX_UNITS {
            return;
        }
        // A quiet run after a run with writes differs from it, so it is written in full.
        let Some(similarity) = is_quiet(decision).then(|| similarity_hash(decision)).flatten() else { return };
        let (id, written_at) = (decision.id, decision.started);
        let last = LastRun { id, similarity, written_at, repeat: None, is_written: true };
        self.units.insert(decision.unit.clone(), last);
    }

    pub(super) fn find(&self, id: DecisionId) -> Option<&RepeatedRun> {
        self.units.get(self.repeats.get(&id)?)?.repeat.as_ref()
    }

    /// Returns the remembered repeats among `ids` that are not written.
    pub(super) fn unwritten(&self, ids: &[DecisionId]) -> Vec<RepeatedRun> {
        let last = ids.iter().filter_map(|id| self.units.get(self.repeats.get(id)?));
        last.filter(|last| !last.is_written).filter_map(|last| last.repeat.clone()).collect()
    }

    /// Marks repeats as written, each at its own time.
    pub(super) fn mark_written(&mut self, ids: &[DecisionId]) {
        for id in ids {
            let last = self.repeats.get(id).and_then(|unit| self.units.get_mut(unit));
            if let Some(last) = last {
                last.is_written = true;
                last.written_at = last.repeat.as_ref().map_or(last.written_at, |repeat| repeat.at);
            }
        }
    }

    /// Forgets units whose first run was removed, so that the next one is written in full.
    pub(super) fn forget_before(&mut self, oldest: Option<DecisionId>) {
        if let Some(oldest) = oldest {
            self.units.retain(|_, last| last.id >= oldest);
            self.repeats.retain(|_, unit| self.units.contains_key(unit));
        }
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = RepeatedRun> + use<> {
        self.repeats.clear();
        std::mem::take(&mut self.units).into_values().filter(|last| !last.is_written).filter_map(|last| last.repeat)
    }
}

fn is_quiet(decision: &Decision) -> bool {
    match &decision.outcome {
        RunOutcome::Decided { writes, .. } => writes.iter().all(|write| write.result == WriteResult::Unchanged),
        RunOutcome::Failed { .. } | RunOutcome::NotCached { .. } => false,
    }
}

fn similarity_hash(decision: &Decision) -> Option<u64> {
    // A deterministic answer adds nothing to the reads, but may contain the time and cost of the run. The same is true
    // for an answer with a digest, except for the digest.
    let queries = decision.external_queries.iter().filter(|query| !query.deterministic);
    let queries: Vec<_> = queries.map(|query| (query.digest, query.digest.is_none().then_some(query))).collect();
    let parts = (&decision.gets, &decision.lists, &decision.rows, queries, &decision.outcome);
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(&parts).ok()?.hash(&mut hasher);
    Some(hasher.finish())
}
