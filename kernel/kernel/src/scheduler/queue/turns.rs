//! Order of due units: namespaces or flows take turns, so that one with many units does not delay others.
//!
//! When a unit becomes due it gets a number: the one after the last number of its flow, or after the number that ran
//! last if that is higher. The unit with the lowest number runs first, so each flow has one unit in a round, however
//! many are queued.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::operator::Unit;
use crate::timestamp::Timestamp;

/// Due units in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// Time up to which all due units have a turn.
    pub(super) until: Option<Timestamp>,
    // Units by round, then by arrival.
    line: BTreeMap<(u64, u64), Unit>,
    positions: BTreeMap<Unit, (u64, u64)>,
    // Last round in which each namespace or flow has a unit.
    last: BTreeMap<Arc<str>, u64>,
    round: u64,
    arrivals: u64,
}

impl Turns {
    /// Returns the position in the queue after which units have no turn yet.
    pub(super) fn after(&self) -> Bound<(Timestamp, u64, Unit)> {
        match self.until {
            // No arrival number is that high, so this follows all units due at that time.
            Some(until) => Bound::Excluded((until, u64::MAX, Unit::Whole)),
            None => Bound::Unbounded,
        }
    }

    /// Appends a unit after all others of its flow, which defaults to its namespace.
    pub(super) fn push(&mut self, unit: &Unit, flow: Option<Arc<str>>) {
        self.remove(unit);
        let last = self.last.entry(flow.unwrap_or_else(|| Arc::from(unit.namespace()))).or_default();
        *last = self.round.max(*last) + 1;
        self.arrivals += 1;
        let position = (*last, self.arrivals);
        self.line.insert(position, unit.clone());
        self.positions.insert(unit.clone(), position);
    }

    /// Whether a unit has a turn.
    pub(super) fn has(&self, unit: &Unit) -> bool {
        self.positions.contains_key(unit)
    }

    /// Removes and returns the unit whose turn it is.
    pub(super) fn pop(&mut self) -> Option<Unit> {
        let (position, unit) = self.line.pop_first()?;
        self.positions.remove(&unit);
        self.round = position.0;
        self.forget();
        Some(unit)
    }

    /// Removes a unit.
    pub(super) fn remove(&mut self, unit: &Unit) {
        if let Some(position) = self.positions.remove(unit) {
            self.line.remove(&position);
            self.forget();
        }
    }

    // Flows are forgotten when no unit is due.
    fn forget(&mut self) {
        if self.line.is_empty() {
            self.last.clear();
        }
    }
}
