//! Kinds that a run needs next.

use super::View;
use crate::operator::DecideError;
use crate::resource::Resource;
use crate::topology::ClusterType;

impl View {
    /// Makes a run that waits for a kind wait for these kinds of the configuration cluster as well, so that their
    /// watches start together instead of one after the other. Call it after a read has failed with
    /// [`DecideError::NotCached`], with all kinds that the unit is about to read.
    ///
    /// Cached kinds, undeclared kinds and runs that wait for nothing are not affected.
    ///
    /// [`DecideError::NotCached`]: crate::operator::DecideError::NotCached
    pub fn open_together<'r>(&self, resources: impl IntoIterator<Item = &'r Resource>) {
        let cluster_type = ClusterType::default();
        let mut reads = self.reads.borrow_mut();
        if reads.missing.is_empty() {
            return;
        }
        let declared = |resource: &Resource| {
            self.inputs.iter().any(|input| input.cluster_type == cluster_type && input.covers_kind(resource))
        };
        let tables = resources.into_iter().filter(|resource| declared(resource));
        let tables = tables.map(|resource| self.topology.table(cluster_type, resource));
        reads.missing.extend(tables.filter(|table| !self.reader.is_cached(table)));
    }

    /// Returns the error if a kind was read that is not cached yet.
    pub(crate) fn not_cached(&self) -> Option<DecideError> {
        self.reads.borrow().missing.first().map(|table| DecideError::NotCached(table.resource.to_string()))
    }
}
