//! Two units that set one field in turns.

use std::collections::VecDeque;

use super::FINDING_AGE;
use crate::arbiter::changes::Change;
use crate::arbiter::recent::Recent;
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
    fields: Recent<(ObjectKey, String), Field>,
}

#[derive(Debug)]
struct Field {
    /// The last values, by hash; the newest last.
    values: VecDeque<u64>,
    first: UnitId,
    last: UnitId,
    flips: u32,
    at: Moment,
}

impl Fights {
    pub fn written(&mut self, now: Moment, unit: &UnitId, object: &ObjectKey, changes: &[Change]) -> Vec<Finding> {
        changes.iter().filter_map(|change| self.changed(now, unit, object, change)).collect()
    }

    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        self.fields.len()
    }

    fn changed(&mut self, now: Moment, unit: &UnitId, object: &ObjectKey, change: &Change) -> Option<Finding> {
        let key = (object.clone(), change.field.clone());
        let field = self.fields.touch(&key, || Field::new(unit, change, now));
        let flipped = field.turn(now, unit, change);
        let found = (flipped && field.flips >= FLIPS).then(|| Finding::Fight {
            object: object.clone(),
            field: change.field.clone(),
            units: [field.first.clone(), if field.first == *unit { field.last.clone() } else { unit.clone() }],
            flips: field.flips,
            at: now,
        });
        field.last = unit.clone();
        self.fields.shrink(MAX_FIELDS);
        found
    }
}

impl Field {
    fn new(unit: &UnitId, change: &Change, now: Moment) -> Self {
        let values = VecDeque::from([change.before]);
        Self { values, first: unit.clone(), last: unit.clone(), flips: 0, at: now }
    }

    /// Takes a change in; says whether it sets back what another unit did last. Was anybody else between, it begins anew.
    fn turn(&mut self, now: Moment, unit: &UnitId, change: &Change) -> bool {
        let in_turn = self.values.back() == Some(&change.before) && now.since(self.at) <= FINDING_AGE;
        if !in_turn {
            *self = Self::new(unit, change, now);
        }
        let flipped = self.last != *unit && self.values.contains(&change.after);
        if flipped {
            self.flips += 1;
        } else if self.flips == 0 {
            // Nobody has set anything back yet: whose value it was until now is the first.
            self.first = self.last.clone();
        }
        self.at = now;
        self.values.push_back(change.after);
        if self.values.len() > MAX_VALUES {
            self.values.pop_front();
        }
        flipped
    }
}
