//! Sorted set of units with the same read.

use std::collections::{BTreeSet, btree_set};
use std::sync::Arc;

use crate::operator::UnitId;

/// Set of units. Most objects are read by one unit, so that case needs no allocation.
#[derive(Debug, Default)]
pub enum Readers {
    #[default]
    None,
    One(Arc<UnitId>),
    // Boxed, because a set is larger than the common case.
    #[expect(clippy::box_collection, reason = "the size of the enum is what counts here")]
    Many(Box<BTreeSet<Arc<UnitId>>>),
}

impl Readers {
    pub fn insert(&mut self, unit: &Arc<UnitId>) {
        *self = match std::mem::take(self) {
            Readers::None => Readers::One(unit.clone()),
            Readers::One(one) if one == *unit => Readers::One(one),
            Readers::One(one) => Readers::Many(Box::new(BTreeSet::from([one, unit.clone()]))),
            Readers::Many(mut many) => {
                many.insert(unit.clone());
                Readers::Many(many)
            }
        };
    }

    pub fn remove(&mut self, unit: &UnitId) {
        *self = match std::mem::take(self) {
            Readers::One(one) if *one == *unit => Readers::None,
            Readers::Many(mut many) => {
                many.remove(unit);
                if many.is_empty() { Readers::None } else { Readers::Many(many) }
            }
            other => other,
        };
    }

    pub fn is_empty(&self) -> bool {
        matches!(self, Readers::None)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<UnitId>> {
        let (one, many): (_, Option<btree_set::Iter<'_, _>>) = match self {
            Readers::None => (None, None),
            Readers::One(one) => (Some(one), None),
            Readers::Many(many) => (None, Some(many.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}
