//! Linter for integrations and everything they refer to, for use before a merge.
//!
//! Errors prevent a part of the data from being used; they are found by reading the data like a run. Warnings are
//! accepted by a run but may be unintended. The linter needs no cluster.

mod fields;
mod names;
mod references;
mod spec;
mod suggestion;

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use crate::data_field::DataField;
use crate::meta::IntegrationMeta;
use crate::model::{DataScope, INTEGRATION, IntegrationModel, ManagedEntry};
use crate::problem::DataProblem;
use crate::render::check_names;
use crate::sharding::{Shard, ShardBuilder, ShardingContext};
use crate::source::Bundle;
use crate::values::is_cron;

/// Maximum number of findings, in case one broken file affects all others.
pub const MAX_FINDINGS: usize = 10_000;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A part of the data is not used.
    Error,
    /// All data is used, but possibly not as intended.
    Warning,
}

/// Rule of the linter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LintRule {
    /// File that is not a datafile.
    Unreadable,
    /// Field that is missing, has the wrong type, or has an unresolvable reference.
    Unusable,
    /// Invalid sharding strategy, or an override that matches no shard.
    Sharding,
    /// Name that is not unique.
    DuplicateName,
    /// Field with an outdated name.
    RenamedField,
    /// Field that is not used.
    UnknownField,
    /// Field that app-interface's schema requires.
    MissingField,
    /// Unresolvable reference in a field that integrations do not need.
    BrokenReference,
    /// Circular references.
    Cycle,
    /// Value that Kubernetes or the integration rejects.
    BadValue,
    /// Field without effect in combination with the others.
    NoEffect,
}

impl fmt::Display for LintRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = serde_json::to_value(self).unwrap_or_default();
        f.write_str(name.as_str().unwrap_or_default())
    }
}

/// Finding of the linter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LintFinding {
    /// Severity.
    pub severity: Severity,
    /// Rule.
    pub rule: LintRule,
    /// Position, message and hint.
    #[serde(flatten)]
    pub problem: DataProblem,
}

/// Formats as `error: /integrations/a.yml:12: managed[0].sharding: …`, with the hint on its own line.
impl fmt::Display for LintFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {} ({})", self.problem, self.rule)?;
        match &self.problem.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Checks a bundle. Findings are sorted by file and line, without duplicates.
pub fn lint(bundle: &Bundle, meta: &IntegrationMeta) -> Vec<LintFinding> {
    let mut found = LintFindings::default();
    check_model(bundle, meta, &mut found);
    for file in bundle.of_schema(INTEGRATION) {
        let file = DataField::root(bundle, file);
        fields::integration(&file, &mut found);
        spec::integration(&file, &mut found);
    }
    names::duplicates(bundle, &mut found);
    references::all(bundle, &mut found);
    found.finish()
}

/// Reports problems that a run has with the data.
fn check_model(bundle: &Bundle, meta: &IntegrationMeta, found: &mut LintFindings) {
    for problem in bundle.problems() {
        found.error(LintRule::Unreadable, problem.clone());
    }
    let model = IntegrationModel::read(bundle, &DataScope::default());
    for disabled in &model.disabled {
        found.error(LintRule::Unusable, disabled.problem.clone());
    }
    let mut divider = ShardBuilder::new(ShardingContext { bundle, meta, compat: false });
    for entry in &model.entries {
        match divider.shards(entry) {
            Ok(divided) => {
                check_object_names(entry, &divided.shards, found);
                divided.problems.into_iter().for_each(|problem| found.error(LintRule::Sharding, problem));
            }
            Err(problem) => found.error(LintRule::Sharding, problem),
        }
    }
}

/// Checks the object names of an entry, and reports the first invalid one.
fn check_object_names(entry: &ManagedEntry, shards: &[Shard], found: &mut LintFindings) {
    let kind = match entry.spec.get("cache") {
        _ if is_cron(&entry.spec) => "CronJob",
        Some(Value::Bool(true)) => "StatefulSet",
        _ => "Deployment",
    };
    let app = format!("qontract-reconcile-{}", entry.integration);
    let wrong = shards.iter().find_map(|shard| {
        let metadata = json!({"name": format!("{app}{}", shard.suffix), "labels": {"app": app}});
        check_names(&json!({"kind": kind, "metadata": metadata}), true).err()
    });
    if let Some(why) = wrong {
        found.error(LintRule::BadValue, entry.problem(why));
    }
}

/// Collected findings.
#[derive(Default)]
pub(crate) struct LintFindings(BTreeSet<(String, usize, LintFinding)>);

impl LintFindings {
    fn error(&mut self, rule: LintRule, problem: DataProblem) {
        self.add(Severity::Error, rule, problem);
    }

    fn warn(&mut self, rule: LintRule, problem: DataProblem) {
        self.add(Severity::Warning, rule, problem);
    }

    fn add(&mut self, severity: Severity, rule: LintRule, problem: DataProblem) {
        if self.0.len() < MAX_FINDINGS {
            let at = (problem.file.to_string(), problem.line.unwrap_or(0), LintFinding { severity, rule, problem });
            self.0.insert(at);
        }
    }

    /// Returns the findings in order. A warning that repeats an error is omitted.
    fn finish(self) -> Vec<LintFinding> {
        let all: Vec<LintFinding> = self.0.into_iter().map(|(_, _, finding)| finding).collect();
        let errors = all.iter().filter(|finding| finding.severity == Severity::Error);
        let errors: BTreeSet<DataProblem> = errors.map(|finding| finding.problem.clone()).collect();
        let kept = |finding: &LintFinding| finding.severity == Severity::Error || !errors.contains(&finding.problem);
        all.into_iter().filter(kept).collect()
    }
}

#[cfg(test)]
mod tests;
