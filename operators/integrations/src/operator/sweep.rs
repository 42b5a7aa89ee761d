//! What is no longer wanted: found by its marks, kept where it is not certain, deleted within bounds.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_kernel::operator::Stop;
use switchboard_kernel::plan::{Act, Mutation, Plan, Standing};
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::View;

use crate::annotations::Marks;
use crate::desired::KINDS;

/// [`Guard::share_percent`] when not set.
pub const DEFAULT_SHARE_PERCENT: u64 = 25;
/// [`Guard::always`] when not set.
pub const DEFAULT_ALWAYS: u64 = 5;
/// How many objects a message names.
const MAX_NAMED: usize = 5;

/// How much of a namespace may be deleted at once without being told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// That share of all objects that are ours there.
    pub share_percent: u64,
    /// That many in any case.
    pub always: u64,
    /// That many because somebody said so.
    pub allowed: u64,
}

impl Default for Guard {
    fn default() -> Self {
        Self { share_percent: DEFAULT_SHARE_PERCENT, always: DEFAULT_ALWAYS, allowed: 0 }
    }
}

impl Guard {
    fn read(answer: &Value) -> Self {
        let number = |name: &str| answer["guard"][name].as_u64().unwrap_or_default();
        Self { share_percent: number("sharePercent"), always: number("always"), allowed: number("allowed") }
    }

    /// Whether that many of those may go.
    pub fn lets(&self, gone: u64, all: u64) -> bool {
        gone <= self.always.max(self.allowed) || gone * 100 <= all * self.share_percent
    }
}

/// Adds what is to be deleted in a namespace to a plan, or why it is not.
pub(super) fn sweep(namespace: &str, answer: &Value, view: &View, plan: &mut Plan) -> Result<(), Stop> {
    let pair = |name: &Value| Some((name.get(0)?.as_str()?.to_string(), name.get(1)?.as_str()?.to_string()));
    let wanted: BTreeSet<(String, String)> =
        answer["names"].as_array().into_iter().flatten().filter_map(pair).collect();
    let mut all = 0;
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for kind in &KINDS {
        for object in view.list(kind, &Selection::namespace(namespace))? {
            let name = object.key.name.to_string();
            if wanted.contains(&(kind.kind.to_string(), name.clone())) {
                all += 1;
                continue;
            }
            let value = object.value();
            if !is_ours(&value, answer) || value.pointer("/metadata/deletionTimestamp").is_some() {
                continue;
            }
            all += 1;
            if is_kept(&name, answer) { kept.push(name) } else { gone.push((kind, name)) }
        }
    }
    let told = match () {
        () if !gone.is_empty() && !Guard::read(answer).lets(gone.len() as u64, all) => {
            let names = gone.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>();
            Some(format!("would delete {} of {all} objects: {}; `allowDeletes` lets it", gone.len(), named(&names)))
        }
        () => {
            for (kind, name) in gone {
                let mut delete = Mutation::delete(kind, namespace, &name);
                delete.act = Act::Delete { propagation: Some("Background".to_string()) };
                plan.push(delete);
            }
            let why = answer["keepAll"].as_str().unwrap_or("what they are of is wrong");
            (!kept.is_empty()).then(|| format!("does not delete {}: {why}", named(&kept)))
        }
    };
    if let Some(told) = told {
        plan.standing = match std::mem::take(&mut plan.standing) {
            Standing::Blocked(before) => Standing::Blocked(format!("{before}; {told}")),
            _ => Standing::Blocked(told),
        };
    }
    Ok(())
}

/// Ours by its marks, and of the same caller. As the original has it, one without a caller of its own deletes for all.
fn is_ours(object: &Value, answer: &Value) -> bool {
    let marks = Marks::of(object);
    let same = marks.caller.is_none() || marks.caller.as_deref() == answer["caller"].as_str();
    marks.are_ours() && (same || answer["unscoped"].as_bool().unwrap_or_default())
}

/// Whether it may be of an integration that is wrong at the moment.
fn is_kept(name: &str, answer: &Value) -> bool {
    let of = |integration: &Value| integration.as_str().is_some_and(|integration| name.contains(integration));
    answer["keepAll"].is_string() || answer["keep"].as_array().into_iter().flatten().any(of)
}

fn named(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_lets_a_few_a_share_and_what_it_is_told() {
        let guard = Guard::default();
        assert!(guard.lets(5, 5) && guard.lets(25, 100) && !guard.lets(26, 100) && !guard.lets(6, 6));
        assert!(Guard { allowed: 6, ..guard }.lets(6, 6));
        assert!(Guard { share_percent: 100, ..guard }.lets(50, 50));
    }
}
