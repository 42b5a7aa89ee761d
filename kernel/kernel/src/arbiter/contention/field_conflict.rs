//! Detection of two units that set one field in turns.
//!
//! A turn is a flip when it sets the field back to an earlier value. A turn to a new value is a flip as well when
//! nothing that the unit reads from other writers than the two has changed since its previous turn, and when the turn
//! comes within [`LOOP_WINDOW`] plus the current slowdown, as a run triggered by the other's write does.
//!
//! So these are no conflicts: a field that both set because something else has changed, and a field that both set from
//! time to time.

use std::collections::VecDeque;
use std::time::Duration;

use super::hot_loop::{LOOP_WINDOW, SLOW_FIRST, SLOW_MAX};
use super::{FINDING_AGE, OtherInputs};
use crate::arbiter::changes::ChangedField;
use crate::arbiter::lru::LruMap;
use crate::operator::UnitId;
use crate::resource::ObjectKey;
use crate::state::Finding;
use crate::timestamp::Timestamp;

/// Maximum number of fields remembered; beyond it the least recently written is forgotten.
pub const MAX_FIELDS: usize = 20_000;
/// Number of flips that make a conflict.
pub const CONFLICT_FLIPS: u32 = 3;
/// Maximum number of values remembered for a field.
const MAX_VALUES: usize = 6;

#[derive(Debug, Default)]
pub struct FieldConflicts {
    fields: LruMap<(ObjectKey, String), FieldHistory>,
}

#[derive(Debug)]
struct FieldHistory {
    /// Hashes of the last values, newest last.
    values: VecDeque<u64>,
    first: UnitId,
    last: UnitId,
    /// Number of times the field was set back.
    reverts: u32,
    /// Number of times the field was set to a new value since another writer gave a reason.
    new_values: u32,
    /// Fingerprints of what the last two units read from others at their last turns, newest last.
    inputs: VecDeque<(UnitId, u64)>,
    at: Timestamp,
}

/// Returns the delay before the next turn of conflicting units; it grows with the number of flips.
pub fn turn_wait(flips: u32) -> Duration {
    SLOW_FIRST.saturating_mul(2u32.saturating_pow(flips / CONFLICT_FLIPS)).min(SLOW_MAX)
}

impl FieldConflicts {
    /// Records changed fields, and returns new conflicts.
    pub fn record_write(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        object: &ObjectKey,
        changes: &[ChangedField],
        others: OtherInputs<'_>,
    ) -> Vec<Finding> {
        changes.iter().filter_map(|change| self.record_change(now, unit, object, change, others)).collect()
    }

    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        self.fields.len()
    }

    fn record_change(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        object: &ObjectKey,
        change: &ChangedField,
        others: OtherInputs<'_>,
    ) -> Option<Finding> {
        let key = (object.clone(), change.field.clone());
        let field = self.fields.touch(&key, || FieldHistory::new(unit, change, now));
        let flipped = field.record_turn(now, unit, change, others);
        let found = (flipped && field.flips() >= CONFLICT_FLIPS).then(|| Finding::FieldConflict {
            object: object.clone(),
            field: change.field.clone(),
            units: [field.first.clone(), if field.first == *unit { field.last.clone() } else { unit.clone() }],
            flips: field.flips(),
            at: now,
        });
        field.last = unit.clone();
        self.fields.shrink(MAX_FIELDS);
        found
    }
}

impl FieldHistory {
    fn new(unit: &UnitId, change: &ChangedField, now: Timestamp) -> Self {
        let (values, inputs) = (VecDeque::from([change.before]), VecDeque::new());
        Self { values, first: unit.clone(), last: unit.clone(), reverts: 0, new_values: 0, inputs, at: now }
    }

    fn flips(&self) -> u32 {
        self.reverts.saturating_add(self.new_values)
    }

    /// Records a change, and returns whether it is a flip. A change by a third writer restarts the count.
    fn record_turn(&mut self, now: Timestamp, unit: &UnitId, change: &ChangedField, others: OtherInputs<'_>) -> bool {
        let in_turn = self.values.back() == Some(&change.before) && now.since(self.at) <= FINDING_AGE;
        if !in_turn {
            *self = Self::new(unit, change, now);
        }
        let other_unit = self.last != *unit;
        let reverted = other_unit && self.values.contains(&change.after);
        if reverted {
            self.reverts += 1;
        }
        let new_value = other_unit && !reverted && self.is_unprovoked(now, unit, others);
        if !reverted && !new_value && self.flips() == 0 {
            // Nothing was set back yet, so the previous writer is the first.
            self.first = self.last.clone();
        }
        self.at = now;
        self.values.push_back(change.after);
        if self.values.len() > MAX_VALUES {
            self.values.pop_front();
        }
        reverted || new_value
    }

    /// Whether a new value has no other reason than the other unit's turn.
    fn is_unprovoked(&mut self, now: Timestamp, unit: &UnitId, others: OtherInputs<'_>) -> bool {
        let read = others(&self.last);
        let before = self.inputs.iter().position(|(one, _)| one == unit).and_then(|at| self.inputs.remove(at));
        self.inputs.push_back((unit.clone(), read));
        if self.inputs.len() > 2 {
            self.inputs.pop_front();
        }
        let soon = now.since(self.at) <= LOOP_WINDOW.saturating_add(turn_wait(self.flips()));
        let same = before.is_some_and(|(_, before)| before == read);
        self.new_values = if soon && same { self.new_values.saturating_add(1) } else { 0 };
        soon && same
    }
}
