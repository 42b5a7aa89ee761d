//! Where the plans of all operators meet before they are written.
//!
//! ```text
//! plan ─▶ declared? ─▶ named ─▶ squashed ─▶ expectations ─▶ ordered ─▶ applier
//!            └─▶ refused                                                 │
//!                        fights, loops ◀── every write carried out ──────┘
//! ```
//!
//! It touches no cluster and no clock: what it says follows from the plan, from what was read, and from what it was told
//! of earlier writes.

mod changes;
mod contention;
mod order;
mod recent;
mod settle;
mod squash;
mod twins;

use std::time::Duration;

use serde_json::Value;

use crate::decision::{Cause, DecisionId, Write, WriteResult};
use crate::fit::fit;
use crate::moment::Moment;
use crate::operator::{Declaration, UnitId};
use crate::place::Topology;
use crate::plan::Mutation;
use crate::resource::{ObjectKey, TableKey};
use crate::state::Finding;
use crate::view::{Picture, Reads};

use contention::Contention;
pub use contention::{
    FINDING_AGE, FLIPS, Inputs, LOOP_WINDOW, LOOP_WRITES, MAX_FIELDS, MAX_FINDINGS, MAX_UNITS, MAX_WRITTEN, SLOW_FIRST,
    SLOW_MAX, turn_wait,
};

/// What a plan is judged by.
pub struct Judging<'a> {
    /// Whose plan it is.
    pub unit: &'a UnitId,
    /// What its operator may write.
    pub declaration: &'a Declaration,
    /// Which clusters the places are.
    pub topology: &'a Topology,
    /// The decision the plan belongs to.
    pub decision: DecisionId,
    /// What the plan wants written.
    pub mutations: Vec<Mutation>,
    /// It wants them carried out in the order given.
    pub ordered: bool,
    /// What was read for it.
    pub reads: &'a Reads,
    /// What it was read from.
    pub picture: &'a dyn Picture,
}

/// A plan that leaves no choice to whoever carries it out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// In the order to carry them out: `Skipped` until tried, or `Unchanged` when there is nothing to send.
    pub writes: Vec<Write>,
    /// Those that may not be carried out, with the reason.
    pub refused: Vec<Write>,
}

/// Judges plans, and remembers who writes what.
#[derive(Debug, Default)]
pub struct Arbiter {
    contention: Contention,
}

impl Arbiter {
    /// Refuses undeclared outputs and what cannot be sent, chooses names, takes what is wanted for two places that are one
    /// once, squashes, settles what must still hold, and orders.
    pub fn judge(&self, mut judging: Judging<'_>) -> Judged {
        let (mut allowed, mut refused) = (Vec::new(), Vec::new());
        let mutations = std::mem::take(&mut judging.mutations);
        let mut asked = twins::Asked::of(&mutations);
        // Where steps follow from each other the same may well be wanted again.
        let index = |index| if judging.ordered { index } else { twins::index(&mutations, index, judging.topology) };
        let named_by: Vec<usize> = (0..mutations.len()).map(index).collect();
        for (mutation, index) in mutations.into_iter().zip(named_by) {
            let mut write = write(mutation, judging.topology);
            let named = settle::name(&mut write, &judging, index);
            let allowed_to = named.and_then(|()| declared(&write, judging.declaration));
            // What was declared is in the operator's words, what is carried out in the clusters'.
            let carried_over = allowed_to.and_then(|()| judging.topology.carry_over(&mut write));
            match carried_over
                .and_then(|()| fit(&write).map_err(|unfit| format!("{} cannot be written: {unfit}", write.object)))
            {
                Ok(()) if !judging.ordered && asked.twice(&write, &allowed) => {}
                Ok(()) => allowed.push(write),
                Err(reason) => {
                    write.result = WriteResult::Refused { reason };
                    refused.push(write);
                }
            }
        }
        let mut groups = match judging.ordered {
            true => allowed.into_iter().map(|write| vec![write]).collect(),
            false => squash::squash(allowed, &|object| settle::absent(object, judging.reads)),
        };
        let applied = |write: &Write, revision: u64| self.contention.has_applied(judging.unit, write, revision);
        settle::expectations(&mut groups, judging.reads, judging.picture, &applied);
        let writes = if judging.ordered { groups.into_iter().flatten().collect() } else { order::order(groups) };
        Judged { writes, refused }
    }

    /// Told of every write carried out, with the object before and after; says whether somebody fights or loops.
    pub fn written(
        &mut self,
        now: Moment,
        unit: &UnitId,
        write: &Write,
        before: Option<&Value>,
        after: Option<&Value>,
        inputs: Inputs<'_>,
    ) -> Vec<Finding> {
        self.contention.written(now, unit, write, (before, after), inputs)
    }

    /// Told of every apply that the server took, with the revision the object has since: the same once more, while nobody
    /// else has written the object, is known to change nothing.
    pub fn applied(&mut self, unit: &UnitId, write: &Write, revision: u64) {
        self.contention.applied(unit, write, revision);
    }

    /// Fights and loops that go on: seen within [`FINDING_AGE`].
    pub fn findings(&self, now: Moment) -> Vec<Finding> {
        self.contention.findings(now)
    }

    /// How long a looping unit is to be slowed before its next run: longer with every write, up to [`SLOW_MAX`].
    pub fn slowed(&self, unit: &UnitId, now: Moment) -> Option<Duration> {
        self.contention.slowed(unit, now)
    }

    /// What the unit read, with a number that stays the same while what it reads from others stays the same. Revisions that
    /// the unit itself made do not count, nor what it deleted, so that an operator which wakes itself by its own writes is
    /// seen to loop. To be asked before [`Arbiter::written`] is told of what was decided from these reads.
    pub fn inputs<'a>(&self, unit: &UnitId, reads: &'a Reads, causes: &'a [Cause]) -> Inputs<'a> {
        let own = |key: &ObjectKey, revision: Option<u64>| self.contention.made(unit, key, revision);
        let fingerprint = contention::fingerprint(&own, reads);
        Inputs { reads, causes, fingerprint, looked: contention::looked(&own, reads, causes) }
    }

    /// Forgets a unit that is no more.
    pub fn forget(&mut self, unit: &UnitId) {
        self.contention.forget(unit);
    }
}

fn write(mutation: Mutation, topology: &Topology) -> Write {
    let cluster = topology.cluster(mutation.place).clone();
    let table = TableKey { cluster, resource: mutation.resource.clone().into() };
    let object =
        ObjectKey { table, namespace: mutation.namespace.as_str().into(), name: mutation.name.as_str().into() };
    Write { mutation, object, result: WriteResult::Skipped }
}

fn declared(write: &Write, declaration: &Declaration) -> Result<(), String> {
    let wanted = &write.mutation;
    let covered = declaration.outputs.iter().any(|output| {
        output.place == wanted.place
            && output.is_of(&wanted.resource)
            && output.means(Some(&wanted.namespace), Some(&wanted.name))
    });
    if covered {
        return Ok(());
    }
    Err(format!("{} of the {} cluster is not among the operator's declared outputs", write.object, wanted.place))
}

#[cfg(test)]
mod tests;
