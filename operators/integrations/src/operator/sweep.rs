//! Deletion of orphans: found by their annotations, kept in case of doubt, and limited in number.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, Plan, UnitStatus, WriteOp};
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::View;

use super::question::{DesiredState, NamespaceAnswer};
use crate::annotations::QontractAnnotations;
use crate::desired::KINDS;

/// Default of [`DeletionGuard::share_percent`].
pub const DEFAULT_SHARE_PERCENT: u64 = 25;
/// Default of [`DeletionGuard::always`].
pub const DEFAULT_ALWAYS: u64 = 5;
/// Maximum number of objects in a message.
const MAX_NAMED: usize = 5;

/// Limits for deletions in a namespace without confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletionGuard {
    /// Maximum share of the managed objects.
    pub share_percent: u64,
    /// Number that is always allowed.
    pub always: u64,
    /// Number that the user has confirmed.
    pub allowed: u64,
}

impl Default for DeletionGuard {
    fn default() -> Self {
        Self { share_percent: DEFAULT_SHARE_PERCENT, always: DEFAULT_ALWAYS, allowed: 0 }
    }
}

impl DeletionGuard {
    /// Whether this number of deletions is allowed.
    pub fn allows(&self, gone: u64, all: u64) -> bool {
        gone <= self.always.max(self.allowed) || gone * 100 <= all * self.share_percent
    }
}

/// Adds the deletions of a namespace to the plan, or the reason why they are blocked.
pub(super) fn sweep(
    namespace: &str,
    answer: &NamespaceAnswer,
    view: &View,
    plan: &mut Plan,
) -> Result<(), DecideError> {
    let wanted: BTreeSet<(&str, &str)> = answer.names.iter().map(|(kind, name)| (&**kind, &**name)).collect();
    let mut all = 0;
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for kind in &KINDS {
        for object in view.list(kind, &Selection::namespace(namespace))? {
            let name = object.key.name.to_string();
            if wanted.contains(&(&*kind.kind, &*name)) {
                all += 1;
                continue;
            }
            let value = object.value();
            if !is_ours(&value, &answer.state) || value.pointer("/metadata/deletionTimestamp").is_some() {
                continue;
            }
            all += 1;
            if may_be_retained(&name, answer) { kept.push(name) } else { gone.push((kind, name)) }
        }
    }
    let message = match () {
        () if !gone.is_empty() && !answer.guard.allows(gone.len() as u64, all) => {
            let names = gone.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>();
            Some(format!(
                "would delete {} of {all} objects: {}; set `allowDeletes` to allow it",
                gone.len(),
                shortened_list(&names)
            ))
        }
        () => {
            for (kind, name) in gone {
                let mut delete = Mutation::delete(kind, namespace, &name);
                delete.operation = WriteOp::Delete { propagation: Some("Background".to_string()) };
                plan.push(delete);
            }
            let why = answer.keep_all.as_deref().unwrap_or("their integration has a problem");
            (!kept.is_empty()).then(|| format!("does not delete {}: {why}", shortened_list(&kept)))
        }
    };
    if let Some(message) = message {
        plan.status = match std::mem::take(&mut plan.status) {
            UnitStatus::Blocked(before) => UnitStatus::Blocked(format!("{before}; {message}")),
            _ => UnitStatus::Blocked(message),
        };
    }
    Ok(())
}

/// Whether the object has the manager's annotations and the same caller. In qontract-reconcile, a run without an
/// upstream deletes objects of all callers.
fn is_ours(object: &Value, state: &DesiredState) -> bool {
    let marks = QontractAnnotations::from_object(object);
    let same = marks.caller.as_ref().is_none_or(|caller| *caller == state.caller);
    marks.are_ours() && (same || state.unscoped)
}

/// Whether the object may belong to an integration that currently has a problem.
fn may_be_retained(name: &str, answer: &NamespaceAnswer) -> bool {
    answer.keep_all.is_some() || answer.keep.iter().any(|integration| name.contains(integration.as_str()))
}

fn shortened_list(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_allows_a_few_a_share_and_confirmed_deletions() {
        let guard = DeletionGuard::default();
        assert!(guard.allows(5, 5) && guard.allows(25, 100) && !guard.allows(26, 100) && !guard.allows(6, 6));
        assert!(DeletionGuard { allowed: 6, ..guard }.allows(6, 6));
        assert!(DeletionGuard { share_percent: 100, ..guard }.allows(50, 50));
    }
}
