//! Assignment of objects to integrations and shards if the chart rendered a whole namespace.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{CachedRender, ShardedEntry};
use crate::desired::{DesiredNamespace, DesiredObject};

/// Indexes of entry and shard by the suffix of object names.
pub struct Attribution(BTreeMap<String, (usize, usize)>);

impl Attribution {
    pub fn from_entries(entries: &[ShardedEntry]) -> Self {
        let mut ends = BTreeMap::new();
        for (entry, one) in entries.iter().enumerate() {
            let name = &one.entry.integration;
            for (shard, of) in one.shards.iter().enumerate() {
                ends.entry(format!("{name}{}", of.suffix)).or_insert((entry, shard));
            }
            // A CronJob is one object for all shards.
            ends.entry(name.to_string()).or_insert((entry, 0));
        }
        Self(ends)
    }

    fn owner(&self, name: &str) -> Option<(usize, usize)> {
        let ends = name.match_indices('-').map(|(at, _)| &name[at + 1..]);
        std::iter::once(name).chain(ends).find_map(|end| self.0.get(end).copied())
    }

    /// Distributes the rendered objects to their integrations. The rest is shared.
    pub fn divide(&self, kept: &CachedRender, entries: &[ShardedEntry], target: &mut DesiredNamespace) {
        let mut of_entries: Vec<Vec<DesiredObject>> = entries.iter().map(|_| Vec::new()).collect();
        let mut shared = Vec::new();
        for object in kept.objects.iter() {
            match self.owner(&object.name) {
                Some((entry, shard)) => {
                    let shard = entries[entry].shards.get(shard).cloned();
                    of_entries[entry].push(DesiredObject { shard, ..object.clone() });
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
