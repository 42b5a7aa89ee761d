//! Report of `plan`: writes that a run would make now.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::operator::UnitId;

use super::phrases;

/// Writes that the operators would make now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanReport {
    /// Writes in execution order.
    pub writes: Vec<PlannedWrite>,
    /// Units that could not decide, with the reason.
    #[serde(default)]
    pub undecided: Vec<(UnitId, String)>,
    /// Hosted operators that were not planned, and may have writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedItem>,
}

/// Item that was not planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedItem {
    /// Name of the item.
    pub name: String,
    /// Reason.
    pub reason: String,
    /// Whether planning it failed; otherwise it has no dry run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// Planned write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedWrite {
    /// Unit of the write.
    #[serde(flatten)]
    pub unit: UnitId,
    /// Write such as `apply configmaps/shop/web`.
    pub write: String,
    /// Redacted diff to the live object; empty if the write changes nothing.
    pub diff: Vec<String>,
    /// Reason why the server did not simulate the write; the diff is then estimated, without fields set by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
}

impl PlanReport {
    /// Whether any write would change something, which is exit code 2.
    pub fn has_changes(&self) -> bool {
        self.writes.iter().any(|write| !write.diff.is_empty())
    }

    /// Whether everything was planned. Only then an empty plan means that nothing would be written.
    pub fn is_complete(&self) -> bool {
        self.undecided.is_empty() && self.skipped.is_empty()
    }
}

impl fmt::Display for PlanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes: Vec<_> = self.writes.iter().filter(|write| !write.diff.is_empty()).collect();
        for planned in &changes {
            writeln!(f, "{} by {}", planned.write, planned.unit)?;
            for line in &planned.diff {
                writeln!(f, "{}", format!("  {line}").trim_end())?;
            }
        }
        let unchecked: Vec<_> = changes.iter().filter_map(|planned| planned.unchecked.as_deref()).collect();
        if let Some(first) = unchecked.first() {
            let some = phrases::count(unchecked.len(), "write");
            writeln!(f, "{some} could not be simulated by the server and is estimated: {first}")?;
        }
        for (unit, why) in &self.undecided {
            writeln!(f, "{unit} could not decide: {why}")?;
        }
        for SkippedItem { name: what, reason: why, .. } in &self.skipped {
            writeln!(f, "{what} was skipped: {why}")?;
        }
        match changes.len() {
            0 if self.is_complete() => writeln!(f, "nothing would be written"),
            0 => writeln!(f, "nothing else would be written"),
            some => writeln!(f, "{} would be sent", phrases::count(some, "write")),
        }
    }
}
