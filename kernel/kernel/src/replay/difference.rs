//! How two outcomes differ, a line for each difference.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::plan::{Act, Mutation, Standing};

use super::Came;

/// How many lines tell a difference; the rest is counted.
const MAX_LINES: usize = 200;

/// `-` what was before, `+` what is after, `~` what is another.
pub fn lines(before: &Came, after: &Came) -> Vec<String> {
    let mut out = Vec::new();
    match (before, after) {
        (Came::Decided { mutations: old, standing: stood }, Came::Decided { mutations: new, standing: stands }) => {
            plans(old, new, &mut out);
            if stood != stands {
                out.push(format!("~ stands: {} -> {}", stand(stood), stand(stands)));
            }
        }
        _ if before == after => {}
        _ => out.extend([format!("- {}", outcome(before)), format!("+ {}", outcome(after))]),
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
        out.push(format!("~ {name}: with other options"));
    }
}

fn body(mutation: &Mutation) -> &Value {
    match &mutation.act {
        Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } | Act::Patch { body, .. } => body,
        Act::Delete { .. } => &Value::Null,
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

fn stand(standing: &Standing) -> String {
    match standing {
        Standing::Ready => "ready".to_string(),
        Standing::Waiting(on) => format!("waiting: {on}"),
        Standing::Blocked(needs) => format!("blocked: {needs}"),
        Standing::Failing(why) => format!("failing: {why}"),
    }
}

fn outcome(came: &Came) -> String {
    match came {
        Came::Decided { mutations, .. } => format!("decided to write {} times", mutations.len()),
        Came::Failed { message } => format!("failed: {message}"),
        Came::Parked { missing } => {
            let kinds: Vec<_> = missing.iter().map(|table| table.resource.to_string()).collect();
            format!("waited for {} to be read", kinds.join(", "))
        }
    }
}
