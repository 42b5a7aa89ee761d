//! What is wrong, and what is questionable, in integrations and all they refer to: before it is merged.
//!
//! Errors are what keeps a part of the data from being used: they are found by reading it as a run does. Warnings are
//! what a run takes and somebody may not have meant. Nothing is asked of a cluster.

mod fields;
mod names;
mod near;
mod references;
mod spec;

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use crate::field::Field;
use crate::meta::Meta;
use crate::model::{Entry, INTEGRATION, Model, Scope};
use crate::problem::Problem;
use crate::render::check;
use crate::sharding::{Context, Divider, Shard};
use crate::source::Bundle;
use crate::values::is_cron;

/// How many findings are told; a broken base would otherwise be told once for everything on it.
pub const MAX_FINDINGS: usize = 10_000;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A part of the data is not used.
    Error,
    /// All of it is used, perhaps not as it was meant.
    Warning,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A file that is no datafile.
    Unreadable,
    /// Something of the wrong type, absent, or that refers to nothing.
    Unusable,
    /// A strategy that cannot be carried out, or an override that matches no shard.
    Sharding,
    /// A name that stands twice where it must be one.
    DuplicateName,
    /// A field by its name of earlier years.
    RenamedField,
    /// A field that nobody reads.
    UnknownField,
    /// A field that the schema of app-interface asks for.
    MissingField,
    /// A reference that leads nowhere, in a field that integrations do not need.
    BrokenReference,
    /// References that lead in a circle.
    Cycle,
    /// A value that Kubernetes or the program will not take.
    BadValue,
    /// A field that does nothing beside the others.
    NoEffect,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = serde_json::to_value(self).unwrap_or_default();
        f.write_str(name.as_str().unwrap_or_default())
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What was looked for.
    pub rule: Rule,
    /// Where, what, and what helps.
    #[serde(flatten)]
    pub problem: Problem,
}

/// `error: /integrations/a.yml:12: managed[0].sharding: …`, with the hint on a line of its own.
impl fmt::Display for Finding {
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

/// Looks at a bundle. Findings are in the order of files and lines, each told once.
pub fn lint(bundle: &Bundle, meta: &Meta) -> Vec<Finding> {
    let mut found = Found::default();
    used(bundle, meta, &mut found);
    for file in bundle.of_schema(INTEGRATION) {
        let file = Field::of(bundle, file);
        fields::integration(&file, &mut found);
        spec::integration(&file, &mut found);
    }
    names::duplicates(bundle, &mut found);
    references::all(bundle, &mut found);
    found.finish()
}

/// What a run finds: it is read as a run reads it.
fn used(bundle: &Bundle, meta: &Meta, found: &mut Found) {
    for problem in bundle.problems() {
        found.error(Rule::Unreadable, problem.clone());
    }
    let model = Model::read(bundle, &Scope::default());
    for disabled in &model.disabled {
        found.error(Rule::Unusable, disabled.problem.clone());
    }
    let mut divider = Divider::new(Context { bundle, meta, compat: false });
    for entry in &model.entries {
        match divider.shards(entry) {
            Ok(divided) => {
                named(entry, &divided.shards, found);
                divided.problems.into_iter().for_each(|problem| found.error(Rule::Sharding, problem));
            }
            Err(problem) => found.error(Rule::Sharding, problem),
        }
    }
}

/// Whether the objects of an entry can have their names; of many that cannot, the first is told.
fn named(entry: &Entry, shards: &[Shard], found: &mut Found) {
    let kind = match entry.spec.get("cache") {
        _ if is_cron(&entry.spec) => "CronJob",
        Some(Value::Bool(true)) => "StatefulSet",
        _ => "Deployment",
    };
    let app = format!("qontract-reconcile-{}", entry.integration);
    let wrong = shards.iter().find_map(|shard| {
        let metadata = json!({"name": format!("{app}{}", shard.suffix), "labels": {"app": app}});
        check(&json!({"kind": kind, "metadata": metadata}), true).err()
    });
    if let Some(why) = wrong {
        found.error(Rule::BadValue, entry.problem(why));
    }
}

/// Findings while they are made.
#[derive(Default)]
pub(crate) struct Found(BTreeSet<(String, usize, Finding)>);

impl Found {
    fn error(&mut self, rule: Rule, problem: Problem) {
        self.add(Severity::Error, rule, problem);
    }

    fn warn(&mut self, rule: Rule, problem: Problem) {
        self.add(Severity::Warning, rule, problem);
    }

    fn add(&mut self, severity: Severity, rule: Rule, problem: Problem) {
        if self.0.len() < MAX_FINDINGS {
            let at = (problem.file.to_string(), problem.line.unwrap_or(0), Finding { severity, rule, problem });
            self.0.insert(at);
        }
    }

    /// In order. What is an error already is not a warning as well.
    fn finish(self) -> Vec<Finding> {
        let all: Vec<Finding> = self.0.into_iter().map(|(_, _, finding)| finding).collect();
        let errors = all.iter().filter(|finding| finding.severity == Severity::Error);
        let errors: BTreeSet<Problem> = errors.map(|finding| finding.problem.clone()).collect();
        let kept = |finding: &Finding| finding.severity == Severity::Error || !errors.contains(&finding.problem);
        all.into_iter().filter(kept).collect()
    }
}

#[cfg(test)]
mod tests;
