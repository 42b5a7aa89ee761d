//! Checks and orders the writes of all plans before they are sent.
//!
//! ```text
//! plan ─▶ declared? ─▶ named ─▶ squashed ─▶ preconditions ─▶ ordered ─▶ applier
//!            └─▶ refused                                                  │
//!           field conflicts, hot loops ◀── every executed write ──────────┘
//! ```
//!
//! The arbiter uses no cluster and no clock: its results follow from the plan, from the reads, and from the earlier
//! writes that were recorded with it.

mod changes;
mod contention;
mod dedup;
mod lru;
mod order;
mod preconditions;
mod rows;
mod squash;

use std::time::Duration;

use serde_json::Value;

use crate::decision::{Cause, DecisionId, Write, WriteResult};
use crate::operator::{Declaration, UnitId};
use crate::plan::Mutation;
use crate::resource::{ObjectKey, TableKey};
use crate::state::Finding;
use crate::timestamp::Timestamp;
use crate::topology::Topology;
use crate::validation::validate;
use crate::view::{Reader, Reads};

use contention::Contention;
pub use contention::{
    CONFLICT_FLIPS, FINDING_AGE, LOOP_WINDOW, LOOP_WRITES, MAX_FIELDS, MAX_FINDINGS, MAX_UNITS, MAX_WRITTEN, RunInputs,
    SLOW_FIRST, SLOW_MAX, turn_wait,
};
pub use rows::{check_rows, rows_or_refuse_all};

/// Plan with everything the arbiter needs to check it.
pub struct ArbiterInput<'a> {
    /// Unit that made the plan.
    pub unit: &'a UnitId,
    /// Declaration of the unit's operator, with its outputs.
    pub declaration: &'a Declaration,
    /// Real cluster of each cluster type.
    pub topology: &'a Topology,
    /// Decision the plan belongs to.
    pub decision: DecisionId,
    /// Mutations of the plan.
    pub mutations: Vec<Mutation>,
    /// Whether the mutations are executed in the given order.
    pub ordered: bool,
    /// Reads of the run.
    pub reads: &'a Reads,
    /// Reader the run used.
    pub reader: &'a dyn Reader,
}

/// Checked plan: the writes to execute and the refused ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArbiterResult {
    /// Writes in execution order: `Skipped` until sent, or `Unchanged` when there is nothing to send.
    pub writes: Vec<Write>,
    /// Writes that are not allowed, with the reason.
    pub refused: Vec<Write>,
}

/// Checks plans, and keeps a history of writes to detect conflicts and loops.
#[derive(Debug, Default)]
pub struct Arbiter {
    contention: Contention,
}

impl Arbiter {
    /// Refuses undeclared outputs and invalid writes, assigns names, removes duplicates for two cluster types that are
    /// one cluster, squashes, resolves preconditions, and orders.
    pub fn arbitrate(&self, mut input: ArbiterInput<'_>) -> ArbiterResult {
        let (mut allowed, mut refused) = (Vec::new(), Vec::new());
        let mutations = std::mem::take(&mut input.mutations);
        let mut asked = dedup::DedupIndex::of(&mutations);
        // In an ordered plan the same mutation may occur twice on purpose.
        let index = |index| if input.ordered { index } else { dedup::naming_index(&mutations, index, input.topology) };
        let named_by: Vec<usize> = (0..mutations.len()).map(index).collect();
        for (mutation, index) in mutations.into_iter().zip(named_by) {
            let mut write = write(mutation, input.topology);
            let named = preconditions::assign_name(&mut write, &input, index);
            let allowed_to = named.and_then(|()| check_declared(&write, input.declaration));
            // Outputs are declared with the operator's namespaces, writes are made with those of the cluster.
            let carried_over = allowed_to.and_then(|()| input.topology.resolve_write(&mut write));
            match carried_over.and_then(|()| {
                validate(&write).map_err(|invalid| format!("invalid write of {}: {invalid}", write.object))
            }) {
                Ok(()) if !input.ordered && asked.is_duplicate(&write, &allowed) => {}
                Ok(()) => allowed.push(write),
                Err(reason) => {
                    write.result = WriteResult::Refused { reason };
                    refused.push(write);
                }
            }
        }
        let mut groups = match input.ordered {
            true => allowed.into_iter().map(|write| vec![write]).collect(),
            false => squash::squash(allowed, &|object| preconditions::was_absent(object, input.reads)),
        };
        let applied = |write: &Write, revision: u64| self.contention.has_applied(input.unit, write, revision);
        preconditions::resolve(&mut groups, input.reads, input.reader, &applied);
        let writes = if input.ordered { groups.into_iter().flatten().collect() } else { order::order(groups) };
        ArbiterResult { writes, refused }
    }

    /// Records an executed write with the object before and after it, and returns new field conflicts and hot loops.
    pub fn record_write(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        write: &Write,
        before: Option<&Value>,
        after: Option<&Value>,
        inputs: RunInputs<'_>,
    ) -> Vec<Finding> {
        self.contention.record_write(now, unit, write, (before, after), inputs)
    }

    /// Records an apply that the server accepted, with the object's revision after it. As long as nothing else writes
    /// the object, the same apply is known to change nothing.
    pub fn record_apply(&mut self, unit: &UnitId, write: &Write, revision: u64) {
        self.contention.record_apply(unit, write, revision);
    }

    /// Returns the active field conflicts and hot loops: those seen within [`FINDING_AGE`].
    pub fn findings(&self, now: Timestamp) -> Vec<Finding> {
        self.contention.findings(now)
    }

    /// Returns the delay before the next run of a looping unit. It grows with every write, up to [`SLOW_MAX`].
    pub fn slowdown(&self, unit: &UnitId, now: Timestamp) -> Option<Duration> {
        self.contention.slowdown(unit, now)
    }

    /// Returns the reads of a run with a fingerprint that changes only when another writer changes something the unit
    /// reads. Revisions and deletions made by the unit itself do not count, so that an operator that triggers itself is
    /// found to loop. Call it before [`Arbiter::record_write`] for the writes decided from these reads.
    pub fn inputs<'a>(&self, unit: &UnitId, reads: &'a Reads, causes: &'a [Cause]) -> RunInputs<'a> {
        let own = |key: &ObjectKey, revision: Option<u64>| self.contention.is_own_revision(unit, key, revision);
        let fingerprint = contention::fingerprint(&own, reads);
        RunInputs {
            reads,
            causes,
            fingerprint,
            saw_external_change: contention::saw_external_change(&own, reads, causes),
            saw_rejection: false,
        }
    }

    /// Whether the unit itself made this change of an object, or deleted the object.
    pub fn is_own_change(&self, unit: &UnitId, object: &ObjectKey, revision: u64) -> bool {
        self.contention.is_own_revision(unit, object, Some(revision))
            || self.contention.is_own_revision(unit, object, None)
    }

    /// Forgets a unit that no longer exists.
    pub fn forget(&mut self, unit: &UnitId) {
        self.contention.forget(unit);
    }
}

fn write(mutation: Mutation, topology: &Topology) -> Write {
    let cluster = topology.cluster(mutation.cluster_type).clone();
    let table = TableKey { cluster, resource: mutation.resource.clone().into() };
    let object =
        ObjectKey { table, namespace: mutation.namespace.as_str().into(), name: mutation.name.as_str().into() };
    Write { mutation, object, result: WriteResult::Skipped }
}

fn check_declared(write: &Write, declaration: &Declaration) -> Result<(), String> {
    let wanted = &write.mutation;
    let covered = declaration.outputs.iter().any(|output| {
        output.cluster_type == wanted.cluster_type
            && output.covers_kind(&wanted.resource)
            && output.covers_object(Some(&wanted.namespace), Some(&wanted.name))
    });
    if covered {
        return Ok(());
    }
    Err(format!("{} of the {} cluster is not among the operator's declared outputs", write.object, wanted.cluster_type))
}

#[cfg(test)]
mod tests;
