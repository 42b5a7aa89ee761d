//! Whether an output directory holds all that its operator meant.

use switchboard_gather::contract::{ControllerStatus, is_left_of_panic};
use switchboard_gather::mutation::{Directory, Place};

use super::warn;

/// A directory whose operator did not come to its end.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not carry the directory out: it has no controller-results.yaml, which an operator writes last; nothing was written\n\
     hint: run the operator again, into a fresh directory; --partial carries out what is there"
)]
pub struct CutShort;

/// The directory without what panicked controllers left behind.
///
/// # Errors
/// When an operator was cut short before it wrote how its controllers did.
pub fn of(mut directory: Directory) -> Result<Directory, CutShort> {
    let Some(results) = &directory.results else {
        // A recording knows of no controllers; its index lists what there is, as that of an operator of ours does.
        let by_operator = directory.mutations.iter().any(|mutation| mutation.place != Place::Unspecified);
        return if by_operator && !directory.ordered { Err(CutShort) } else { Ok(directory) };
    };
    let results = results.controller_results.clone();
    warn(results.iter().filter(|result| result.status == ControllerStatus::Panicked).map(|result| {
        format!("controller {} panicked; what it wrote is left out unless --partial is given", result.controller_name)
    }));
    let half = |m: &switchboard_gather::mutation::Mutation| {
        is_left_of_panic(&results, &m.controller_instance_name, m.is_event())
    };
    let (left, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut directory.mutations).into_iter().partition(half);
    warn(left.iter().map(|mutation| format!("{mutation} is left out")));
    Ok(Directory { mutations: kept, ..directory })
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
        Mutation::object(Place::Management, Action::Create, &of, &body).by(controller)
    }

    fn directory(results: Option<&str>) -> Directory {
        let mutations = vec![
            wrote("Good", "configmaps", "a"),
            wrote("Bad", "configmaps", "b"),
            wrote("", "configmaps", "c"),
            wrote("", "events", "d"),
        ];
        let results = results.map(|text| ControllerResults::read(text).unwrap());
        Directory { mutations, results, ..switchboard_gather::mutation::read_files(&BTreeMap::new(), None) }
    }

    fn names(directory: &Directory) -> Vec<&str> {
        directory.mutations.iter().map(|mutation| mutation.name.as_str()).collect()
    }

    #[test]
    fn what_a_panic_left_is_not_carried_out() {
        let said = |status: &str| {
            format!(
                "controllerResults:\n- {{controllerName: Good, status: Succeeded}}\n- {{controllerName: Bad, status: {status}}}\n"
            )
        };
        assert_eq!(names(&of(directory(Some(&said("Panicked")))).unwrap()), ["a", "d"]);
        assert_eq!(names(&of(directory(Some(&said("Failed")))).unwrap()), ["a", "b", "c", "d"]);
    }

    #[test]
    fn output_that_was_cut_short_is_refused_and_a_recording_is_not() {
        assert!(of(directory(None)).unwrap_err().to_string().contains("--partial"));
        assert_eq!(names(&of(Directory { ordered: true, ..directory(None) }).unwrap()).len(), 4);
        let mut recorded = directory(None);
        recorded.mutations.iter_mut().for_each(|mutation| mutation.place = Place::Unspecified);
        assert_eq!(names(&of(recorded).unwrap()).len(), 4);
    }
}
