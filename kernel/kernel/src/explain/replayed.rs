//! `replay` for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::decision::{Decision, DecisionId};
use crate::operator::UnitId;
use crate::replay::Replayed;

/// What came of deciding again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    /// Which decision.
    pub decision: DecisionId,
    /// Whose, when it is still known.
    pub unit: Option<UnitId>,
    /// What came of it.
    #[serde(flatten)]
    pub replayed: Replayed,
}

impl ReplayReport {
    /// The report of a decision, when it is still known.
    pub fn of(id: DecisionId, decision: Option<&Decision>, replayed: Replayed) -> Self {
        Self { decision: id, unit: decision.map(|decision| decision.unit.clone()), replayed }
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = self.unit.as_ref().map(|unit| format!(" of {unit}")).unwrap_or_default();
        let decision = format!("decision {}{whose}", self.decision);
        match &self.replayed {
            Replayed::Same => writeln!(f, "{decision}: the same is decided again"),
            Replayed::Gone => {
                writeln!(f, "{decision} cannot be replayed: it, or what it read, is not kept")
            }
            Replayed::TooMuch { why } => writeln!(f, "{decision} cannot be replayed: {why}"),
            Replayed::Undecided { why } => {
                writeln!(f, "{decision}: it cannot be told whether the same is decided again")?;
                writeln!(f, "  {why}")
            }
            Replayed::Different { lines, .. } => {
                writeln!(f, "{decision}: something else is decided now")?;
                list(f, lines)
            }
            Replayed::Redacted { objects, alike, lines } => {
                let came = match alike {
                    true => "the same is decided again, as far as can be told",
                    false => "it cannot be told whether the same is decided again",
                };
                writeln!(f, "{decision}: {came}")?;
                writeln!(f, "  masked values were read from {}", objects.join(", "))?;
                if !alike {
                    writeln!(f, "  with the masks in their place, this is another:")?;
                }
                list(f, lines)
            }
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, lines: &[String]) -> fmt::Result {
    lines.iter().try_for_each(|line| writeln!(f, "  {}", line.trim_end()))
}
