//! Check that an output directory is complete.

use switchboard_gather::contract::{ControllerStatus, is_cut_short_by_panic};
use switchboard_gather::mutation::{MutationDirectory, OutputCluster};

use super::warn;

/// The operator did not finish the output directory.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not apply the directory: it has no controller-results.yaml, which an operator writes last; nothing was written\n\
     hint: run the operator again with a new directory; --partial applies the incomplete directory"
)]
pub struct IncompleteOutput;

/// Removes the mutations of panicked controllers from a directory.
///
/// # Errors
/// Fails if the operator stopped before it wrote the results of its controllers.
pub fn check(mut directory: MutationDirectory) -> Result<MutationDirectory, IncompleteOutput> {
    let Some(results) = &directory.results else {
        // A recording has no controllers. Its index lists all mutations, like the index of a native operator.
        let by_operator = directory.mutations.iter().any(|mutation| mutation.cluster != OutputCluster::Unspecified);
        return if by_operator && !directory.ordered { Err(IncompleteOutput) } else { Ok(directory) };
    };
    let results = results.controller_results.clone();
    warn(results.iter().filter(|result| result.status == ControllerStatus::Panicked).map(|result| {
        format!("controller {} panicked; its mutations are skipped without --partial", result.controller_name)
    }));
    let half = |m: &switchboard_gather::mutation::Mutation| {
        is_cut_short_by_panic(&results, &m.controller_instance_name, m.is_event())
    };
    let (left, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut directory.mutations).into_iter().partition(half);
    warn(left.iter().map(|mutation| format!("{mutation} is skipped")));
    Ok(MutationDirectory { mutations: kept, ..directory })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use serde_json::json;
    use switchboard_gather::contract::{ControllerResults, ResourceType};
    use switchboard_gather::mutation::{Action, Mutation};

    use super::*;

    fn wrote(controller: &str, resource: &str, name: &str) -> Mutation {
        let body = json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": name, "namespace": "shop"}});
        let of = ResourceType::new("", "v1", resource);
        Mutation::object(OutputCluster::Management, Action::Create, &of, &body).with_controller(controller)
    }

    fn directory(results: Option<&str>) -> MutationDirectory {
        let mutations = vec![
            wrote("Good", "configmaps", "a"),
            wrote("Bad", "configmaps", "b"),
            wrote("", "configmaps", "c"),
            wrote("", "events", "d"),
        ];
        let results = results.map(|text| ControllerResults::read(text).unwrap());
        MutationDirectory { mutations, results, ..switchboard_gather::mutation::read_files(&BTreeMap::new(), None) }
    }

    fn names(directory: &MutationDirectory) -> Vec<&str> {
        directory.mutations.iter().map(|mutation| mutation.name.as_str()).collect()
    }

    #[test]
    fn output_of_a_panic_is_not_applied() {
        let results_with = |status: &str| {
            format!(
                "controllerResults:\n- {{controllerName: Good, status: Succeeded}}\n- {{controllerName: Bad, status: {status}}}\n"
            )
        };
        assert_eq!(names(&check(directory(Some(&results_with("Panicked")))).unwrap()), ["a", "d"]);
        assert_eq!(names(&check(directory(Some(&results_with("Failed")))).unwrap()), ["a", "b", "c", "d"]);
    }

    #[test]
    fn incomplete_output_is_refused_and_a_recording_is_not() {
        assert!(check(directory(None)).unwrap_err().to_string().contains("--partial"));
        assert_eq!(names(&check(MutationDirectory { ordered: true, ..directory(None) }).unwrap()).len(), 4);
        let mut recorded = directory(None);
        recorded.mutations.iter_mut().for_each(|mutation| mutation.cluster = OutputCluster::Unspecified);
        assert_eq!(names(&check(recorded).unwrap()).len(), 4);
    }
}
