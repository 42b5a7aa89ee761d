//! Report of `replay`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::decision::{Decision, DecisionId};
use crate::operator::UnitId;
use crate::replay::ReplayComparison;

/// Result of replaying a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    /// Number of the decision.
    pub decision: DecisionId,
    /// Unit of the decision, if it is still known.
    pub unit: Option<UnitId>,
    /// Comparison of both results.
    #[serde(flatten)]
    pub replayed: ReplayComparison,
}

impl ReplayReport {
    /// Creates the report of a decision.
    pub fn of(id: DecisionId, decision: Option<&Decision>, replayed: ReplayComparison) -> Self {
        Self { decision: id, unit: decision.map(|decision| decision.unit.clone()), replayed }
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = self.unit.as_ref().map(|unit| format!(" of {unit}")).unwrap_or_default();
        let decision = format!("decision {}{whose}", self.decision);
        match &self.replayed {
            ReplayComparison::Same => writeln!(f, "{decision}: the replay has the same result"),
            ReplayComparison::Gone => {
                writeln!(f, "could not replay {decision}: the decision or its reads are no longer recorded")
            }
            ReplayComparison::TooMuch { why } => writeln!(f, "could not replay {decision}: {why}"),
            ReplayComparison::Undecided { why } => {
                writeln!(f, "{decision}: the results could not be compared")?;
                writeln!(f, "  {why}")
            }
            ReplayComparison::Different { lines, .. } => {
                writeln!(f, "{decision}: the replay has another result")?;
                list(f, lines)
            }
            ReplayComparison::Redacted { objects, equal: alike, lines } => {
                let result = match alike {
                    true => "the replay has the same result, as far as known",
                    false => "it is unknown whether the replay has the same result",
                };
                writeln!(f, "{decision}: {result}")?;
                writeln!(f, "  it read redacted values of {}", objects.join(", "))?;
                if !alike {
                    writeln!(f, "  with the redacted values, these differ:")?;
                }
                list(f, lines)
            }
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, lines: &[String]) -> fmt::Result {
    lines.iter().try_for_each(|line| writeln!(f, "  {}", line.trim_end()))
}
