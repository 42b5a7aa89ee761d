//! Comparison of an operator's output with the expected output.
//!
//! Events, order, repetition and the prefixes of file names are ignored. The rest is compared by meaning, or byte by
//! byte as in multi-operator-manager.

mod canonical;
mod difference;

use std::collections::BTreeSet;

use crate::contract::{ControllerResult, ControllerResults};
use crate::dump::ReadProblem;
use crate::mutation::{Action, MutationDirectory, NO_MUTATION, OutputCluster};

use super::mask::Mask;
use canonical::CanonicalMutation;

pub use difference::Difference;

/// Rule for the equality of two mutations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Equal meaning: quoting, key order and fields without a value are ignored.
    #[default]
    Semantic,
    /// Equal bytes, as in multi-operator-manager.
    Bytes,
}

/// Options of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompareOptions<'a> {
    /// Rule for equality.
    pub strictness: Strictness,
    /// Fields that are not compared.
    pub masks: &'a [Mask],
}

/// Returns the differences by cluster, or none if the directories are equal.
///
/// # Guarantees
/// - A directory does not differ from itself. // test: guarantees_nothing_differs_from_itself
/// - Equal bytes imply equal meaning. // test: guarantees_bytes_are_stricter_than_meaning
pub fn compare(expected: &MutationDirectory, actual: &MutationDirectory, how: CompareOptions<'_>) -> Vec<Difference> {
    let mut found: Vec<Difference> = unreadable(expected, actual, how.strictness);
    found.extend(results(expected.results.as_ref(), actual.results.as_ref(), how.strictness));
    for place in OutputCluster::ALL {
        let of = |directory: &MutationDirectory| canonical_set(directory, place, how);
        found.extend(mutations(&of(expected), &of(actual)));
    }
    found
}

/// Returns the files that could not be read and may contain a mutation. With byte comparison, all other files at the
/// root count as well.
fn unreadable(expected: &MutationDirectory, actual: &MutationDirectory, strictness: Strictness) -> Vec<Difference> {
    let of = |side: &str, directory: &MutationDirectory| {
        let counts = directory.problems.iter().filter(|problem| matters(problem, strictness));
        let unreadable_file = |problem: &ReadProblem| Difference::Unreadable {
            file: format!("{side}/{}", problem.file),
            message: problem.message.clone(),
        };
        counts.map(unreadable_file).collect::<Vec<_>>()
    };
    [of("expected-output", expected), of("output", actual)].concat()
}

fn matters(problem: &ReadProblem, strictness: Strictness) -> bool {
    let mut parts = problem.file.split('/');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    let known = |part: Option<&str>| part.is_some_and(|name| Action::from_name(name).is_some());
    match OutputCluster::from_name(first) {
        None => first == "controller-results.yaml" || strictness == Strictness::Bytes,
        // A folder that is not an action is ignored, as in multi-operator-manager.
        Some(_) => known(second) && problem.message != NO_MUTATION,
    }
}

fn canonical_set(
    directory: &MutationDirectory,
    place: OutputCluster,
    how: CompareOptions<'_>,
) -> BTreeSet<CanonicalMutation> {
    let here = directory.mutations.iter().filter(|mutation| mutation.cluster == place && !mutation.is_event());
    here.map(|mutation| CanonicalMutation::of(mutation, how)).collect()
}

fn mutations(expected: &BTreeSet<CanonicalMutation>, actual: &BTreeSet<CanonicalMutation>) -> Vec<Difference> {
    let mut extra: Vec<&CanonicalMutation> = actual.difference(expected).collect();
    let mut found = Vec::new();
    for wanted in expected.difference(actual) {
        // Mutations with the same key are meant to be the same, so only their contents are reported.
        match extra.iter().position(|got| got.key == wanted.key) {
            Some(at) => found.push(Difference::changed(wanted, extra.remove(at))),
            None => found.push(Difference::Missing { mutation: wanted.name(), body: wanted.body.clone() }),
        }
    }
    let unexpected = extra.into_iter().map(|got| match got.key.place {
        OutputCluster::Unspecified => Difference::Undeclared { mutation: got.name() },
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
        // The order counts as well; `to_yaml` would sort it away.
        (Strictness::Bytes, _) if expected == actual => return None,
        (Strictness::Bytes, _) => (text(expected), text(actual)),
    };
    (strictness == Strictness::Bytes || wanted != got).then(|| Difference::results(&wanted, &got))
}

/// Reduces panic stacks to their first line, the panic message, because addresses in stacks differ between runs.
fn without_stacks(results: &ControllerResults) -> ControllerResults {
    let first_line = |result: &ControllerResult| ControllerResult {
        panic_stack: result.panic_stack.lines().next().unwrap_or_default().to_string(),
        ..result.clone()
    };
    ControllerResults { controller_results: results.controller_results.iter().map(first_line).collect() }
}

#[cfg(test)]
mod tests;
