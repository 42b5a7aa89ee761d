//! Operators that a configuration file may name.

use super::ParentSection;
use super::report::{ConfigProblem, nearest};

/// Operators that a configuration file may name.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownOperators<'a> {
    /// Operators that are hosted if the file names them.
    pub operators: &'a [&'a str],
    /// Sample operators, which hints do not list.
    pub samples: &'a [&'a str],
    /// Operators that belong to a parent section: a file can only set their limits.
    pub parts: &'a [PartOperator<'a>],
}

/// Operators that belong to a parent section.
#[derive(Clone, Copy, Debug)]
pub struct PartOperator<'a> {
    /// Name of an operator; with an `@` at the end, prefix of all their names.
    pub name: &'a str,
    /// Section or operator they belong to.
    pub parent: ParentSection,
}

impl PartOperator<'_> {
    fn matches(&self, name: &str) -> bool {
        match name.strip_prefix(self.name) {
            Some(cluster) if self.name.ends_with('@') => !cluster.is_empty(),
            rest => rest == Some(""),
        }
    }
}

impl<'a> KnownOperators<'a> {
    /// Creates a list of operators without samples and parts.
    pub fn only(operators: &'a [&'a str]) -> Self {
        Self { operators, ..Self::default() }
    }

    /// Returns the parent of an operator.
    pub fn parent_of(&self, name: &str) -> Option<ParentSection> {
        self.parts.iter().find(|part| part.matches(name)).map(|part| part.parent)
    }

    pub(super) fn is_operator(&self, name: &str) -> bool {
        self.operators.contains(&name) || self.samples.contains(&name)
    }

    /// Returns the error for an unknown operator.
    pub(super) fn unknown_operator(&self, name: &str) -> ConfigProblem {
        let problem = ConfigProblem::new("unknown operator");
        match name {
            "integrations" | "gitops" => {
                problem.hint(format!("configure it in the section `{name}`, beside `operators`"))
            }
            _ => match nearest(name, &[self.operators, self.samples].concat()) {
                Some(near) => problem.suggest(name, &[near]),
                None => problem.suggest(name, self.operators),
            },
        }
    }
}
