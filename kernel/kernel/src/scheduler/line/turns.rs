//! Whose turn it is among units that may run: namespaces go round, so that one with many units delays no other.
//!
//! A unit gets a number when it may run: the one after its namespace's last, or after the one that ran last if that is later. The
//! lowest runs first. So each namespace has one unit in a round, however many it has in line.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::moment::Moment;
use crate::operator::Unit;

/// Units that may run, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// Everything that was due by then has a turn.
    pub(super) until: Option<Moment>,
    // By round, then by who came first.
    line: BTreeMap<(u64, u64), Unit>,
    places: BTreeMap<Unit, (u64, u64)>,
    // The last round in which each namespace, or party, has a unit.
    last: BTreeMap<Arc<str>, u64>,
    round: u64,
    arrivals: u64,
}

impl Turns {
    /// From where on units in line have no turn yet.
    pub(super) fn after(&self) -> Bound<(Moment, u64, Unit)> {
        match self.until {
            // No number is as high, so that this is behind all of that moment.
            Some(until) => Bound::Excluded((until, u64::MAX, Unit::Whole)),
            None => Bound::Unbounded,
        }
    }

    /// Puts a unit behind all others of its party, which is its namespace if it has no other.
    pub(super) fn push(&mut self, unit: &Unit, party: Option<Arc<str>>) {
        self.remove(unit);
        let last = self.last.entry(party.unwrap_or_else(|| Arc::from(unit.namespace()))).or_default();
        *last = self.round.max(*last) + 1;
        self.arrivals += 1;
        let place = (*last, self.arrivals);
        self.line.insert(place, unit.clone());
        self.places.insert(unit.clone(), place);
    }

    /// Whether it has a turn.
    pub(super) fn has(&self, unit: &Unit) -> bool {
        self.places.contains_key(unit)
    }

    /// Takes the one whose turn it is.
    pub(super) fn pop(&mut self) -> Option<Unit> {
        let (place, unit) = self.line.pop_first()?;
        self.places.remove(&unit);
        self.round = place.0;
        self.forget();
        Some(unit)
    }

    /// It is in line no longer.
    pub(super) fn remove(&mut self, unit: &Unit) {
        if let Some(place) = self.places.remove(unit) {
            self.line.remove(&place);
            self.forget();
        }
    }

    // Namespaces are remembered only while somebody waits.
    fn forget(&mut self) {
        if self.line.is_empty() {
            self.last.clear();
        }
    }
}
