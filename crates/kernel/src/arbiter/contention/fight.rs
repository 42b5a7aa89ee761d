//! Two units that set one field in turns.

use std::collections::{BTreeMap, VecDeque};

use super::FINDING_AGE;
use crate::arbiter::changes::Change;
use crate::moment::Moment;
use crate::operator::UnitId;
use crate::resource::ObjectKey;
use crate::state::Finding;

/// How many fields are remembered; the one that was written longest ago is forgotten.
pub const MAX_FIELDS: usize = 20_000;
/// So many times set back is a fight.
pub const FLIPS: u32 = 3;
/// How many values of a field are remembered.
const MAX_VALUES: usize = 6;

#[derive(Debug, Default)]
pub struct Fights {
    fields: BTreeMap<(ObjectKey, String), Field>,
    /// By when they were written last: a counter, because several are written at one moment.
    ages: BTreeMap<u64, (ObjectKey, String)>,
    writes: u64,
}

#[derive(Debug)]
struct Field {
    /// The last values, by hash; the newest last.
    values: VecDeque<u64>,
    first: UnitId,
    last: UnitId,
    flips: u32,
    at: Moment,
    age: u64,
}

impl Fights {
    pub fn written(&mut self, now: Moment, unit: &UnitId, object: &ObjectKey, changes: &[Change]) -> Vec<Finding> {
        changes.iter().filter_map(|change| self.changed(now, unit, object, change)).collect()
    }

    fn changed(&mut self, now: Moment, unit: &UnitId, object: &ObjectKey, change: &Change) -> Option<Finding> {
        self.writes += 1;
        let (key, age) = ((object.clone(), change.field.clone()), self.writes);
        let field = self.fields.entry(key.clone()).or_insert_with(|| Field::new(unit, change, now));
        self.ages.remove(&field.age);
        field.age = age;
        field.turn(now, unit, change);
        let found = (field.flips >= FLIPS).then(|| Finding::Fight {
            object: object.clone(),
            field: change.field.clone(),
            units: [field.first.clone(), if field.first == *unit { field.other(unit) } else { unit.clone() }],
            flips: field.flips,
            at: now,
        });
        field.last = unit.clone();
        self.ages.insert(age, key);
        self.shrink();
        found
    }

    fn shrink(&mut self) {
        while self.fields.len() > MAX_FIELDS
            && let Some((_, oldest)) = self.ages.pop_first()
        {
            self.fields.remove(&oldest);
        }
    }
}

impl Field {
    fn new(unit: &UnitId, change: &Change, now: Moment) -> Self {
        let values = VecDeque::from([change.before]);
        Self { values, first: unit.clone(), last: unit.clone(), flips: 0, at: now, age: 0 }
    }

    /// Takes a change in: a flip when it undoes what another unit did last, a new beginning when anybody else was between.
    fn turn(&mut self, now: Moment, unit: &UnitId, change: &Change) {
        let in_turn = self.values.back() == Some(&change.before) && now.since(self.at) <= FINDING_AGE;
        if !in_turn {
            *self = Self { age: self.age, ..Self::new(unit, change, now) };
        } else if self.last != *unit && self.values.contains(&change.after) {
            self.flips += 1;
        } else if self.flips == 0 {
            // Nobody has set anything back yet: who set it now is the first.
            self.first = if self.last == *unit { unit.clone() } else { self.last.clone() };
        }
        self.at = now;
        self.values.push_back(change.after);
        if self.values.len() > MAX_VALUES {
            self.values.pop_front();
        }
    }

    fn other(&self, unit: &UnitId) -> UnitId {
        if self.last == *unit { self.first.clone() } else { self.last.clone() }
    }
}
