//! Two units that set one field in turns.
//!
//! A turn is a flip when it sets the field back to a value it had. It is one as well, whatever the value, when nothing that
//! the unit reads from others than the two has changed since its turn before, and it comes as soon as one that is woken by
//! the other's write: within [`LOOP_WINDOW`] and the time that those who fight are slowed by. So these are no fights: a
//! field that both set because something outside has changed, and one that both set from time to time.

use std::collections::VecDeque;
use std::time::Duration;

use super::looping::{LOOP_WINDOW, SLOW_FIRST, SLOW_MAX};
use super::{FINDING_AGE, Others};
use crate::arbiter::changes::Change;
use crate::arbiter::recent::Recent;
use crate::moment::Moment;
use crate::operator::UnitId;
use crate::resource::ObjectKey;
use crate::state::Finding;

/// How many fields are remembered; the one that was written longest ago is forgotten.
pub const MAX_FIELDS: usize = 20_000;
/// So many flips are a fight.
pub const FLIPS: u32 = 3;
/// How many values of a field are remembered.
const MAX_VALUES: usize = 6;

#[derive(Debug, Default)]
pub struct Fights {
    fields: Recent<(ObjectKey, String), Field>,
}

#[derive(Debug)]
struct Field {
    /// The last values, by hash; the newest last.
    values: VecDeque<u64>,
    first: UnitId,
    last: UnitId,
    /// How often it was set back.
    backs: u32,
    /// How often it was set to something new since others gave a reason for it.
    anew: u32,
    /// What the last two units read from others at their last turns, by number; the newest last.
    inputs: VecDeque<(UnitId, u64)>,
    at: Moment,
}

/// How long those who fight wait for their next turn: ever longer.
pub fn turn_wait(flips: u32) -> Duration {
    SLOW_FIRST.saturating_mul(2u32.saturating_pow(flips / FLIPS)).min(SLOW_MAX)
}

impl Fights {
    /// `others` numbers what the unit has read from others than itself and the unit it is given.
    pub fn written(
        &mut self,
        now: Moment,
        unit: &UnitId,
        object: &ObjectKey,
        changes: &[Change],
        others: Others<'_>,
    ) -> Vec<Finding> {
        changes.iter().filter_map(|change| self.changed(now, unit, object, change, others)).collect()
    }

    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        self.fields.len()
    }

    fn changed(
        &mut self,
        now: Moment,
        unit: &UnitId,
        object: &ObjectKey,
        change: &Change,
        others: Others<'_>,
    ) -> Option<Finding> {
        let key = (object.clone(), change.field.clone());
        let field = self.fields.touch(&key, || Field::new(unit, change, now));
        let flipped = field.turn(now, unit, change, others);
        let found = (flipped && field.flips() >= FLIPS).then(|| Finding::Fight {
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

impl Field {
    fn new(unit: &UnitId, change: &Change, now: Moment) -> Self {
        let (values, inputs) = (VecDeque::from([change.before]), VecDeque::new());
        Self { values, first: unit.clone(), last: unit.clone(), backs: 0, anew: 0, inputs, at: now }
    }

    fn flips(&self) -> u32 {
        self.backs.saturating_add(self.anew)
    }

    /// Takes a change in; says whether it undoes what another unit did last. Was anybody else between, it begins anew.
    fn turn(&mut self, now: Moment, unit: &UnitId, change: &Change, others: Others<'_>) -> bool {
        let in_turn = self.values.back() == Some(&change.before) && now.since(self.at) <= FINDING_AGE;
        if !in_turn {
            *self = Self::new(unit, change, now);
        }
        let theirs = self.last != *unit;
        let back = theirs && self.values.contains(&change.after);
        if back {
            self.backs += 1;
        }
        let anew = theirs && !back && self.is_unprovoked(now, unit, others);
        if !back && !anew && self.flips() == 0 {
            // Nobody has undone anything yet: whose value it was until now is the first.
            self.first = self.last.clone();
        }
        self.at = now;
        self.values.push_back(change.after);
        if self.values.len() > MAX_VALUES {
            self.values.pop_front();
        }
        back || anew
    }

    /// Whether a new value follows from nothing but the other's turn.
    fn is_unprovoked(&mut self, now: Moment, unit: &UnitId, others: Others<'_>) -> bool {
        let read = others(&self.last);
        let before = self.inputs.iter().position(|(one, _)| one == unit).and_then(|at| self.inputs.remove(at));
        self.inputs.push_back((unit.clone(), read));
        if self.inputs.len() > 2 {
            self.inputs.pop_front();
        }
        let soon = now.since(self.at) <= LOOP_WINDOW.saturating_add(turn_wait(self.flips()));
        let same = before.is_some_and(|(_, before)| before == read);
        self.anew = if soon && same { self.anew.saturating_add(1) } else { 0 };
        soon && same
    }
}
