//! The operators that a file may name.

use super::Whole;
use super::report::{Problem, nearest};

/// The operators that a file may name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Those that are hosted when they are named.
    pub operators: &'a [&'a str],
    /// Further ones, which no hint lists: they are there to be watched, not to be used.
    pub samples: &'a [&'a str],
    /// Those that are hosted with something else: a file can only set their limits.
    pub parts: &'a [Part<'a>],
}

/// Operators that are parts of something.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The name of one; with an `@` at the end, all whose names begin so.
    pub name: &'a str,
    /// What they are parts of.
    pub of: Whole,
}

impl Part<'_> {
    fn is(&self, name: &str) -> bool {
        match name.strip_prefix(self.name) {
            Some(cluster) if self.name.ends_with('@') => !cluster.is_empty(),
            rest => rest == Some(""),
        }
    }
}

impl<'a> Known<'a> {
    /// These alone.
    pub fn only(operators: &'a [&'a str]) -> Self {
        Self { operators, ..Self::default() }
    }

    /// What an operator is a part of.
    pub fn whole(&self, name: &str) -> Option<Whole> {
        self.parts.iter().find(|part| part.is(name)).map(|part| part.of)
    }

    pub(super) fn is_operator(&self, name: &str) -> bool {
        self.operators.contains(&name) || self.samples.contains(&name)
    }

    /// An operator that nobody knows.
    pub(super) fn unknown(&self, name: &str) -> Problem {
        let problem = Problem::new("unknown operator");
        match name {
            "integrations" | "gitops" => {
                problem.hint(format!("it is hosted by the section `{name}`, beside `operators`"))
            }
            _ => match nearest(name, &[self.operators, self.samples].concat()) {
                Some(near) => problem.meant(name, &[near]),
                None => problem.meant(name, self.operators),
            },
        }
    }
}
