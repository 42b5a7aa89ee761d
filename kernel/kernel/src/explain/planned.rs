//! `plan`: what would be written now.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::operator::UnitId;

use super::words;

/// What would be written now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanReport {
    /// In the order it would be.
    pub writes: Vec<Planned>,
    /// Units that could not decide, and why.
    #[serde(default)]
    pub undecided: Vec<(UnitId, String)>,
    /// What is hosted and was not planned: of that it is not known whether it would write something.
    #[serde(default, rename = "leftOut", skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// Something that was not planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Whose.
    #[serde(flatten)]
    pub unit: UnitId,
    /// As `apply configmaps/shop/web`.
    pub write: String,
    /// Against the cluster, masked; empty when it would change nothing.
    pub diff: Vec<String>,
    /// Why the server was not asked what would come of it: the difference is reckoned here, without what the server fills in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
}

impl PlanReport {
    /// Whether something would be written: exit code 2.
    pub fn changes(&self) -> bool {
        self.writes.iter().any(|write| !write.diff.is_empty())
    }

    /// Whether everything could be planned: only then that nothing is planned means that nothing would be written.
    pub fn is_whole(&self) -> bool {
        self.undecided.is_empty() && self.left_out.is_empty()
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
            let some = words::count(unchecked.len(), "write");
            writeln!(f, "{some} could not be tried on the server and is reckoned here: {first}")?;
        }
        for (unit, why) in &self.undecided {
            writeln!(f, "{unit} could not decide: {why}")?;
        }
        for LeftOut { what, why } in &self.left_out {
            writeln!(f, "{what} was left out: {why}")?;
        }
        match changes.len() {
            0 if self.is_whole() => writeln!(f, "nothing would be written"),
            0 => writeln!(f, "nothing else would be written"),
            some => writeln!(f, "{} would be made", words::count(some, "write")),
        }
    }
}
