//! Differences of two results, one line each.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::plan::{Mutation, UnitStatus, WriteOp};

use super::ReplayResult;

/// Maximum number of lines.
const MAX_LINES: usize = 200;

/// Returns the differences: `-` removed, `+` added, `~` changed.
pub fn lines(before: &ReplayResult, after: &ReplayResult) -> Vec<String> {
    let mut out = Vec::new();
    match (before, after) {
        (
            ReplayResult::Decided { mutations: old, status: stood },
            ReplayResult::Decided { mutations: new, status: stands },
        ) => {
            plans(old, new, &mut out);
            if stood != stands {
                out.push(format!("~ status: {} -> {}", status_text(stood), status_text(stands)));
            }
        }
        _ if before == after => {}
        _ => out.extend([format!("- {}", result_text(before)), format!("+ {}", result_text(after))]),
    }
    if out.len() > MAX_LINES {
        let more = out.len() - MAX_LINES;
        out.truncate(MAX_LINES);
        out.push(format!("and {more} more"));
    }
    out
}

fn plans(old: &[Mutation], new: &[Mutation], out: &mut Vec<String>) {
    let named = |list: &[Mutation]| {
        let mut seen = std::collections::BTreeMap::<String, usize>::new();
        let names = list.iter().map(|mutation| {
            let nth = seen.entry(mutation.to_string()).or_default();
            *nth += 1;
            (mutation.to_string(), *nth)
        });
        names.collect::<Vec<_>>()
    };
    let (old_names, new_names) = (named(old), named(new));
    let all: BTreeSet<_> = old_names.iter().chain(&new_names).collect();
    for name in all {
        let find = |names: &[(String, usize)]| names.iter().position(|n| n == name);
        match (find(&old_names), find(&new_names)) {
            (Some(a), Some(b)) => mutation(&name.0, &old[a], &new[b], out),
            (Some(_), None) => out.push(format!("- {}", name.0)),
            (None, Some(_)) => out.push(format!("+ {}", name.0)),
            (None, None) => {}
        }
    }
}

fn mutation(name: &str, old: &Mutation, new: &Mutation, out: &mut Vec<String>) {
    if old == new {
        return;
    }
    let from = out.len();
    values(name, "", body(old), body(new), out);
    if out.len() == from {
        out.push(format!("~ {name}: other options"));
    }
}

fn body(mutation: &Mutation) -> &Value {
    match &mutation.operation {
        WriteOp::Create(body) | WriteOp::Update(body) | WriteOp::Apply { body, .. } | WriteOp::Patch { body, .. } => {
            body
        }
        WriteOp::Delete { .. } => &Value::Null,
    }
}

fn values(name: &str, path: &str, old: &Value, new: &Value, out: &mut Vec<String>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let at = if key.contains(['.', '/']) { format!("{path}[{key:?}]") } else { format!("{path}.{key}") };
                values(name, &at, a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null), out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                values(name, &format!("{path}[{at}]"), a, b, out);
            }
        }
        (Value::Null, new) => out.push(format!("+ {name}: {path} {new}")),
        (old, Value::Null) => out.push(format!("- {name}: {path} {old}")),
        _ => out.push(format!("~ {name}: {path} {old} -> {new}")),
    }
}

fn status_text(status: &UnitStatus) -> String {
    match status {
        UnitStatus::Ready => "ready".to_string(),
        UnitStatus::Waiting(on) => format!("waiting: {on}"),
        UnitStatus::Blocked(needs) => format!("blocked: {needs}"),
        UnitStatus::Failing(why) => format!("failing: {why}"),
    }
}

fn result_text(result: &ReplayResult) -> String {
    match result {
        ReplayResult::Decided { mutations, .. } => format!("decided {} writes", mutations.len()),
        ReplayResult::Failed { message } => format!("failed: {message}"),
        ReplayResult::NotCached { missing } => {
            let kinds: Vec<_> = missing.iter().map(|table| table.resource.to_string()).collect();
            format!("waited for {} to be cached", kinds.join(", "))
        }
    }
}
