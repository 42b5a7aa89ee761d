//! One request for two places that are one: it is carried out once.
//!
//! An operator that declares an object for two places asks twice, and need not know that both are the same cluster.

use std::collections::BTreeMap;

use crate::decision::Write;
use crate::place::Topology;
use crate::plan::Mutation;
use crate::resource::ObjectKey;

/// The index that a write is named by: of one that leaves its name to the server and was asked for at another place, that of
/// the first, so that both are one object.
pub(super) fn index(mutations: &[Mutation], index: usize, topology: &Topology) -> usize {
    let wanted = &mutations[index];
    if !wanted.name.is_empty() {
        return index;
    }
    let is_twin = |first: &Mutation| {
        first.place != wanted.place && topology.is_one(first.place, wanted.place) && first.is_same_elsewhere(wanted)
    };
    mutations[..index].iter().position(is_twin).unwrap_or(index)
}

/// The writes that are allowed so far, by real object.
pub(super) struct Asked {
    writes: BTreeMap<ObjectKey, Vec<usize>>,
    /// Whether there can be any twice: most plans are for one place.
    several: bool,
}

impl Asked {
    pub fn of(mutations: &[Mutation]) -> Self {
        let first = mutations.first().map(|mutation| mutation.place);
        let several = mutations.iter().any(|mutation| Some(mutation.place) != first);
        Self { writes: BTreeMap::new(), several }
    }

    /// Whether the same was asked for already, at another place. At the same place it was meant twice.
    pub fn twice(&mut self, write: &Write, allowed: &[Write]) -> bool {
        if !self.several {
            return false;
        }
        let is_twin =
            |first: &Mutation| first.place != write.mutation.place && first.is_same_elsewhere(&write.mutation);
        let before = self.writes.entry(write.object.clone()).or_default();
        let twice = before.iter().any(|index| is_twin(&allowed[*index].mutation));
        if !twice {
            // It is put there next.
            before.push(allowed.len());
        }
        twice
    }
}
