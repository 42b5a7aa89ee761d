//! Compares what an operator wants written with what was expected of it.
//!
//! Events are left aside, as are order, repetition and the prefixes of file names. What remains is compared by meaning, or byte
//! by byte as the original does.

mod canonical;
mod difference;

use std::collections::BTreeSet;

use crate::contract::{ControllerResult, ControllerResults};
use crate::dump::Problem;
use crate::mutation::{Action, Directory, NO_MUTATION, Place};

use super::mask::Mask;
use canonical::Canonical;

pub use difference::Difference;

/// When two mutations are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// When they mean the same: quoting, key order and fields without a value do not matter.
    #[default]
    Semantic,
    /// When they are the same bytes: the original's rule.
    Bytes,
}

/// How directories are compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Comparison<'a> {
    /// By meaning or by bytes.
    pub strictness: Strictness,
    /// Fields that are not compared.
    pub masks: &'a [Mask],
}

/// What differs, by cluster; empty when nothing does.
///
/// # Guarantees
/// - A directory does not differ from itself. // test: guarantees_nothing_differs_from_itself
/// - What is the same byte by byte means the same. // test: guarantees_bytes_are_stricter_than_meaning
pub fn compare(expected: &Directory, actual: &Directory, how: Comparison<'_>) -> Vec<Difference> {
    let mut found: Vec<Difference> = unreadable(expected, actual, how.strictness);
    found.extend(results(expected.results.as_ref(), actual.results.as_ref(), how.strictness));
    for place in Place::ALL {
        let of = |directory: &Directory| canonical_set(directory, place, how);
        found.extend(mutations(&of(expected), &of(actual)));
    }
    found
}

/// What could not be read and may have been a mutation. By bytes, nothing else may lie at the root either.
fn unreadable(expected: &Directory, actual: &Directory, strictness: Strictness) -> Vec<Difference> {
    let of = |side: &str, directory: &Directory| {
        let counts = directory.problems.iter().filter(|problem| matters(problem, strictness));
        let told = |problem: &Problem| Difference::Unreadable {
            file: format!("{side}/{}", problem.file),
            message: problem.message.clone(),
        };
        counts.map(told).collect::<Vec<_>>()
    };
    [of("expected-output", expected), of("output", actual)].concat()
}

fn matters(problem: &Problem, strictness: Strictness) -> bool {
    let mut parts = problem.file.split('/');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    let known = |part: Option<&str>| part.is_some_and(|name| Action::named(name).is_some());
    match Place::named(first) {
        None => first == "controller-results.yaml" || strictness == Strictness::Bytes,
        // A folder that is no action is nobody's, as in the original.
        Some(_) => known(second) && problem.message != NO_MUTATION,
    }
}

fn canonical_set(directory: &Directory, place: Place, how: Comparison<'_>) -> BTreeSet<Canonical> {
    let here = directory.mutations.iter().filter(|mutation| mutation.place == place && !mutation.is_event());
    here.map(|mutation| Canonical::of(mutation, how)).collect()
}

fn mutations(expected: &BTreeSet<Canonical>, actual: &BTreeSet<Canonical>) -> Vec<Difference> {
    let mut extra: Vec<&Canonical> = actual.difference(expected).collect();
    let mut found = Vec::new();
    for wanted in expected.difference(actual) {
        // Who writes what to the same object in the same way is meant to be the same; only what it writes differs.
        match extra.iter().position(|got| got.key == wanted.key) {
            Some(at) => found.push(Difference::changed(wanted, extra.remove(at))),
            None => found.push(Difference::Missing { mutation: wanted.name(), body: wanted.body.clone() }),
        }
    }
    let unexpected = extra.into_iter().map(|got| match got.key.place {
        Place::Unspecified => Difference::Undeclared { mutation: got.name() },
        _ => Difference::Unexpected { mutation: got.name(), body: got.body.clone() },
    });
    found.extend(unexpected);
    found
}

fn results(
    expected: Option<&ControllerResults>,
    actual: Option<&ControllerResults>,
    strictness: Strictness,
) -> Option<Difference> {
    let text = |results: Option<&ControllerResults>| results.map(ControllerResults::to_yaml).unwrap_or_default();
    let (wanted, got) = match (strictness, expected) {
        (Strictness::Semantic, None) => return None,
        (Strictness::Semantic, Some(expected)) => {
            let actual = actual.map(without_stacks);
            (without_stacks(expected).to_yaml(), text(actual.as_ref()))
        }
        // The order counts as well: `to_yaml` would sort it away.
        (Strictness::Bytes, _) if expected == actual => return None,
        (Strictness::Bytes, _) => (text(expected), text(actual)),
    };
    (strictness == Strictness::Bytes || wanted != got).then(|| Difference::results(&wanted, &got))
}

/// Addresses in a stack are never the same twice; what was said when it happened is.
fn without_stacks(results: &ControllerResults) -> ControllerResults {
    let first_line = |result: &ControllerResult| ControllerResult {
        panic_stack: result.panic_stack.lines().next().unwrap_or_default().to_string(),
        ..result.clone()
    };
    ControllerResults { controller_results: results.controller_results.iter().map(first_line).collect() }
}

#[cfg(test)]
mod tests;
