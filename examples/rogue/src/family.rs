//! Registration of the operators that misbehave, one for each kind of misbehavior.

use std::sync::Arc;

use switchboard_kernel::family::OperatorFamily;
use switchboard_kernel::operator::Operator;

use crate::{Misbehavior, Rogue};

const NAMES: [(&str, Misbehavior); 7] = [
    ("rogue-blue", Misbehavior::Fights("blue")),
    ("rogue-floods", Misbehavior::Floods),
    ("rogue-hangs", Misbehavior::Hangs),
    ("rogue-loops", Misbehavior::Loops),
    ("rogue-panics", Misbehavior::Panics),
    ("rogue-red", Misbehavior::Fights("red")),
    ("rogue-remembers", Misbehavior::Remembers),
];

/// Operators that misbehave on purpose.
pub struct RogueFamily;

impl OperatorFamily for RogueFamily {
    fn samples(&self) -> &[&'static str] {
        const { &[NAMES[0].0, NAMES[1].0, NAMES[2].0, NAMES[3].0, NAMES[4].0, NAMES[5].0, NAMES[6].0] }
    }

    fn operator(&self, name: &str) -> Option<Arc<dyn Operator>> {
        let (name, misbehavior) = NAMES.into_iter().find(|(known, _)| *known == name)?;
        Some(Arc::new(Rogue::new(name, misbehavior)))
    }
}
