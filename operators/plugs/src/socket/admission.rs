//! Admission of plugs to a socket with a limit.

use serde_json::{Value, json};
use switchboard_kernel::plan::{Mutation, PatchType, Plan};

use crate::coupling::{ADMITTED_LABEL, COUPLED_LABEL, SECRETS};

/// Admits plugs up to the limit in order of creation. Admitted plugs stay admitted.
pub(super) fn admit(plan: &mut Plan, records: &[Value], limit: u32) {
    let label = |record: &Value, name: &str| record["metadata"]["labels"][name].as_str().map(str::to_string);
    let has_place = |record: &&Value| {
        label(record, ADMITTED_LABEL).as_deref() == Some("true") || label(record, COUPLED_LABEL).is_some()
    };
    let (placed, mut asking): (Vec<&Value>, Vec<&Value>) = records.iter().partition(has_place);
    let text = |record: &Value, name: &str| record["metadata"][name].as_str().unwrap_or_default().to_string();
    asking.sort_by_key(|record| (text(record, "creationTimestamp"), text(record, "namespace"), text(record, "name")));
    let free = (limit as usize).saturating_sub(placed.len());
    for (number, record) in asking.into_iter().enumerate() {
        let answer = if number < free { "true" } else { "false" };
        if label(record, ADMITTED_LABEL).as_deref() != Some(answer) {
            let body = json!({"metadata": {"labels": {ADMITTED_LABEL: answer}}});
            let (namespace, name) = (text(record, "namespace"), text(record, "name"));
            plan.push(Mutation::patch(&SECRETS, &namespace, &name, PatchType::Merge, body));
        }
    }
}
