//! Registration of operators: names, sections of the configuration file, and constructors.
//!
//! ```text
//!  crate of the operators                    composition root
//!  impl OperatorFamily ─────────────▶ Families(&[&GREETER, …]) ─┬─▶ Config::parse: names, sections
//!                                                               └─▶ operators to host and to replay
//! ```
//!
//! A new operator implements [`OperatorFamily`] in its own crate, or is a [`SingleOperator`]; the composition root lists
//! it in one line. The rest of the kernel knows no operator.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::config::{Config, ConfigProblem, ParentSection, SectionReader, nearest};
use crate::limits::Limits;
use crate::operator::{Operator, OperatorName};

/// Operators that belong together.
pub trait OperatorFamily: Send + Sync {
    /// Returns the names that a configuration file may list under `operators`.
    fn operators(&self) -> &[&'static str] {
        &[]
    }

    /// Returns the names of operators for tests, which hints and help do not list.
    fn samples(&self) -> &[&'static str] {
        &[]
    }

    /// Returns the operators that a section or another operator brings along: a file can only set their limits.
    fn parts(&self) -> &[PartOperator] {
        &[]
    }

    /// Returns the section of the configuration file.
    fn section(&self) -> Option<SectionReader> {
        None
    }

    /// Returns the limits of each operator, which a configuration overrides.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Returns the operator whose configuration entry includes another one.
    fn head_of(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Returns an operator by name, with default settings: for its declaration, tests and replays.
    fn operator(&self, name: &str) -> Option<Arc<dyn Operator>>;

    /// Returns the operators of a configuration entry; none if their host adds them.
    fn hosted(&self, name: &str, _settings: &Value) -> Vec<Arc<dyn Operator>> {
        self.operator(name).into_iter().collect()
    }

    /// Returns an operator that can repeat a recorded decision with its settings.
    fn replay<'a>(&'a self, name: &'a str, settings: &'a Value) -> BoxFuture<'a, Option<Arc<dyn Operator>>> {
        let head = self.head_of(name).unwrap_or(name);
        let with_settings = self.hosted(head, settings).into_iter().find(|one| one.name() == name);
        std::future::ready(with_settings.or_else(|| self.operator(name))).boxed()
    }

    /// Returns the CustomResourceDefinitions that an operator needs on an embedded cluster.
    fn definitions(&self, _name: &str) -> Vec<Value> {
        Vec::new()
    }
}

/// Family of one operator without settings.
pub struct SingleOperator {
    /// Name of the operator.
    pub name: &'static [&'static str; 1],
    /// Constructor of the operator.
    pub create: fn() -> Arc<dyn Operator>,
}

impl OperatorFamily for SingleOperator {
    fn operators(&self) -> &[&'static str] {
        self.name
    }

    fn operator(&self, name: &str) -> Option<Arc<dyn Operator>> {
        (name == self.name[0]).then(|| (self.create)())
    }
}

/// Operator that a section or another operator brings along.
#[derive(Clone, Copy, Debug)]
pub struct PartOperator {
    /// Name of an operator; with an `@` at the end, prefix of all their names.
    pub name: &'static str,
    /// Section or operator they belong to.
    pub parent: ParentSection,
}

impl PartOperator {
    fn matches(&self, name: &str) -> bool {
        match name.strip_prefix(self.name) {
            Some(cluster) if self.name.ends_with('@') => !cluster.is_empty(),
            rest => rest == Some(""),
        }
    }
}

/// Families that a process can host.
#[derive(Clone, Copy, Default)]
pub struct Families(pub &'static [&'static dyn OperatorFamily]);

impl fmt::Debug for Families {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Families({})", self.0.len())
    }
}

impl PartialEq for Families {
    fn eq(&self, other: &Self) -> bool {
        self.operators() == other.operators() && self.samples() == other.samples()
    }
}

impl Families {
    /// Returns the names that a configuration file may list, in order.
    pub fn operators(self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.0.iter().flat_map(|family| family.operators().to_vec()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the names of operators for tests, in order.
    pub fn samples(self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.0.iter().flat_map(|family| family.samples().to_vec()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the sections of the configuration file.
    pub fn sections(self) -> impl Iterator<Item = SectionReader> {
        self.0.iter().filter_map(|family| family.section())
    }

    /// Returns the parent of an operator that a section or another operator brings along.
    pub fn parent_of(self, name: &str) -> Option<ParentSection> {
        let mut parts = self.0.iter().flat_map(|family| family.parts());
        parts.find(|part| part.matches(name)).map(|part| part.parent)
    }

    /// Returns the family of an operator.
    pub fn family_of(self, name: &str) -> Option<&'static dyn OperatorFamily> {
        let has = |family: &dyn OperatorFamily| {
            let mut names = family.operators().iter().chain(family.samples());
            names.any(|one| *one == name) || family.parts().iter().any(|part| part.matches(name))
        };
        self.0.iter().copied().find(|family| has(*family))
    }

    /// Returns the operator whose configuration entry includes another one.
    pub fn head_of(self, name: &str) -> Option<&'static str> {
        self.family_of(name)?.head_of(name)
    }

    /// Returns an operator by name, with default settings.
    pub fn operator(self, name: &str) -> Option<Arc<dyn Operator>> {
        self.family_of(name)?.operator(name)
    }

    /// Returns the operators of a configuration entry.
    pub fn hosted(self, name: &str, settings: &Value) -> Vec<Arc<dyn Operator>> {
        self.family_of(name).map(|family| family.hosted(name, settings)).unwrap_or_default()
    }

    /// Returns an operator that can repeat a recorded decision with its settings.
    pub async fn replay(self, name: &str, settings: &Value) -> Option<Arc<dyn Operator>> {
        self.family_of(name)?.replay(name, settings).await
    }

    /// Returns the CustomResourceDefinitions that the enabled operators of a configuration need on an embedded cluster.
    pub fn definitions(self, config: &Config) -> Vec<Value> {
        let enabled = config.operators.iter().filter(|(_, entry)| entry.enabled).map(|(name, _)| &*name.0);
        let of = |name: &str| self.family_of(name).map(|family| family.definitions(name)).unwrap_or_default();
        enabled.flat_map(of).collect()
    }

    pub(crate) fn is_operator(self, name: &str) -> bool {
        self.operators().contains(&name) || self.samples().contains(&name)
    }

    /// Returns the error for an unknown operator.
    pub(crate) fn unknown_operator(self, name: &str) -> ConfigProblem {
        let problem = ConfigProblem::new("unknown operator");
        if self.sections().any(|section| section.name == name) {
            return problem.hint(format!("configure it in the section `{name}`, beside `operators`"));
        }
        let operators = self.operators();
        match nearest(name, &[operators.clone(), self.samples()].concat()) {
            Some(near) => problem.suggest(name, &[near]),
            None => problem.suggest(name, &operators),
        }
    }
}

impl Config {
    /// Returns the limits of an operator: for operators at the start, operators added later, and changed
    /// configurations.
    pub fn limits_of(&self, name: &str) -> Limits {
        let by_name = OperatorName::new(name);
        let own = self.families.family_of(name).map(|family| family.limits()).unwrap_or_default();
        if let Some(parent) = self.families.parent_of(name) {
            return self.limits_of_part(&by_name, parent, &own);
        }
        let head = || self.operators.get(&OperatorName::new(self.families.head_of(name)?));
        let entry = self.operators.get(&by_name).or_else(head);
        entry.map_or_else(|| own.clone(), |entry| entry.limits_over(&own))
    }
}
