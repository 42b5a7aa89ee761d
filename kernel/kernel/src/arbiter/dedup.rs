//! Removes duplicate writes for two cluster types that are one cluster.
//!
//! An operator that declares an object for two cluster types requests it twice, and need not know that both are the
//! same cluster.

use std::collections::BTreeMap;

use crate::decision::Write;
use crate::plan::Mutation;
use crate::resource::ObjectKey;
use crate::topology::Topology;

/// Returns the index used to generate a write's name. If the same write with `generateName` was requested for another
/// cluster type before, returns the index of that one, so that both are one object.
pub(super) fn naming_index(mutations: &[Mutation], index: usize, topology: &Topology) -> usize {
    let wanted = &mutations[index];
    if !wanted.name.is_empty() {
        return index;
    }
    let is_twin = |first: &Mutation| {
        first.cluster_type != wanted.cluster_type
            && topology.is_same(first.cluster_type, wanted.cluster_type)
            && first.equals_except_cluster_type(wanted)
    };
    mutations[..index].iter().position(is_twin).unwrap_or(index)
}

/// Accepted writes by real object.
pub(super) struct DedupIndex {
    writes: BTreeMap<ObjectKey, Vec<usize>>,
    /// Whether the plan has several cluster types; most plans have one.
    spans_cluster_types: bool,
}

impl DedupIndex {
    pub fn of(mutations: &[Mutation]) -> Self {
        let first = mutations.first().map(|mutation| mutation.cluster_type);
        let several = mutations.iter().any(|mutation| Some(mutation.cluster_type) != first);
        Self { writes: BTreeMap::new(), spans_cluster_types: several }
    }

    /// Whether the same write was accepted before for another cluster type. Within one cluster type a repeated write is
    /// intended.
    pub fn is_duplicate(&mut self, write: &Write, allowed: &[Write]) -> bool {
        if !self.spans_cluster_types {
            return false;
        }
        let is_twin = |first: &Mutation| {
            first.cluster_type != write.mutation.cluster_type && first.equals_except_cluster_type(&write.mutation)
        };
        let before = self.writes.entry(write.object.clone()).or_default();
        let twice = before.iter().any(|index| is_twin(&allowed[*index].mutation));
        if !twice {
            // The caller adds it to `allowed` next.
            before.push(allowed.len());
        }
        twice
    }
}
