//! Which integration and shard an object of a namespace is, when the chart made all of them at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Divided, Kept};
use crate::desired::{Object, Target};

/// Integrations and shards by the end of their objects' names.
pub struct Attribution(BTreeMap<String, (usize, usize)>);

impl Attribution {
    pub fn of(entries: &[Divided]) -> Self {
        let mut ends = BTreeMap::new();
        for (entry, one) in entries.iter().enumerate() {
            let name = &one.entry.integration;
            for (shard, of) in one.shards.iter().enumerate() {
                ends.entry(format!("{name}{}", of.suffix)).or_insert((entry, shard));
            }
            // What runs at times has one object, whatever its shards are.
            ends.entry(name.to_string()).or_insert((entry, 0));
        }
        Self(ends)
    }

    fn owner(&self, name: &str) -> Option<(usize, usize)> {
        let ends = name.match_indices('-').map(|(at, _)| &name[at + 1..]);
        std::iter::once(name).chain(ends).find_map(|end| self.0.get(end).copied())
    }

    /// Divides what was made among those it was made for; the rest is shared.
    pub fn divide(&self, kept: &Kept, entries: &[Divided], target: &mut Target) {
        let mut of_entries: Vec<Vec<Object>> = entries.iter().map(|_| Vec::new()).collect();
        let mut shared = Vec::new();
        for object in kept.objects.iter() {
            match self.owner(&object.name) {
                Some((entry, shard)) => {
                    let shard = entries[entry].shards.get(shard).cloned();
                    of_entries[entry].push(Object { shard, ..object.clone() });
                }
                None => shared.push(object.clone()),
            }
        }
        for (one, objects) in entries.iter().zip(of_entries) {
            target.integrations.push(one.installed(&Arc::new(objects), &kept.parameters));
        }
        (target.shared, target.shared_parameters) = (Arc::new(shared), kept.parameters.clone());
    }
}
