//! The names that one object says of others.

use serde_json::Value;

use crate::contract::{ExactResource, ExplicitReference, ResourceReference, ResourceType};
use crate::jsonpath::{Found, JsonPath, Segment};

type Referred = (Vec<ExactResource>, Vec<String>);

/// By our rules: what is not there names nothing, and each kind of reference counts.
pub(super) fn referred(reference: &ResourceReference, object: &Value) -> Referred {
    let mut all = Referred::default();
    let mut add = |(targets, problems): Referred| {
        all.0.extend(targets);
        all.1.extend(problems);
    };
    if let Some(said) = &reference.implicit_namespaced_reference {
        add(named(&said.of, &said.namespace, &said.name_json_path, object));
    }
    if let Some(said) = &reference.cluster_scoped_reference {
        add(named(&said.of, "", &said.name_json_path, object));
    }
    if let Some(said) = &reference.explicit_namespaced_reference {
        add(explicit(said, object));
    }
    all
}

fn named(of: &ResourceType, namespace: &str, path: &str, object: &Value) -> Referred {
    match names(path, object) {
        Err(message) => (Vec::new(), vec![message]),
        Ok((names, problems)) => (names.into_iter().map(|(_, name)| target(of, namespace, name)).collect(), problems),
    }
}

/// A name goes with the namespace that stands nearest to it: in the same item of a list, where both come from one.
fn explicit(said: &ExplicitReference, object: &Value) -> Referred {
    let both = names(&said.namespace_json_path, object).and_then(|ns| Ok((ns, names(&said.name_json_path, object)?)));
    let ((namespaces, mut problems), (names, further)) = match both {
        Ok(both) => both,
        Err(message) => return (Vec::new(), vec![message]),
    };
    problems.extend(further);
    let mut targets = Vec::new();
    for (at, name) in names {
        let near = namespaces.iter().filter(|(place, _)| go_together(place, &at));
        match near.max_by_key(|(place, _)| shared(place, &at)) {
            Some((_, namespace)) => targets.push(target(&said.of, namespace, name)),
            None => problems.push(format!("{} finds no namespace for `{name}`", said.namespace_json_path)),
        }
    }
    (targets, problems)
}

fn target(of: &ResourceType, namespace: &str, name: String) -> ExactResource {
    ExactResource { of: of.clone(), namespace: namespace.into(), name }
}

fn shared(a: &[Segment], b: &[Segment]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Whether two locations lie in the same items of the lists they share.
fn go_together(a: &[Segment], b: &[Segment]) -> bool {
    let shared = shared(a, b);
    !matches!((a.get(shared), b.get(shared)), (Some(Segment::Index(_)), Some(Segment::Index(_))))
}

type Names = Vec<(Vec<Segment>, String)>;

/// Names with their locations, and what is found that cannot be one.
fn names(path: &str, object: &Value) -> Result<(Names, Vec<String>), String> {
    let read = JsonPath::parse(path).and_then(|parsed| parsed.find(object));
    let found = read.map_err(|error| format!("{path}: {error}"))?;
    let (mut names, mut problems) = (Vec::new(), Vec::new());
    for Found { location, value } in found {
        match value {
            Value::Null => {}
            // A name that is left empty names nothing.
            Value::String(name) if name.is_empty() => {}
            Value::String(name) => names.push((location, name.clone())),
            Value::Array(items) if items.iter().all(Value::is_string) => {
                let items = items.iter().filter_map(Value::as_str).enumerate();
                // Here as well: a request for an object without a name is one for all of them.
                names.extend(items.filter(|(_, item)| !item.is_empty()).map(|(index, item)| {
                    let location = [&location[..], &[Segment::Index(index)]].concat();
                    (location, item.to_string())
                }));
            }
            other => problems.push(format!("{path} finds no name, but {}", shape(other))),
        }
    }
    Ok((names, problems))
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Array(_) => "a list of something else than names",
        _ => "an object",
    }
}

/// By the original's rules: implicit references alone, and what is missing is an error.
pub(super) fn referred_as_original(reference: &ResourceReference, object: &Value) -> Referred {
    let Some(said) = &reference.implicit_namespaced_reference else { return Referred::default() };
    let found = JsonPath::parse(&said.name_json_path).and_then(|path| path.find_as_original(object));
    let names = match found {
        Err(error) => return (Vec::new(), vec![format!("{}: {error}", said.name_json_path)]),
        Ok(Value::String(name)) => vec![name],
        Ok(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map_or(item.to_string(), str::to_string)).collect()
        }
        Ok(other) => return (Vec::new(), vec![format!("unexpected error type for {other}")]),
    };
    if names.iter().any(String::is_empty) {
        return (Vec::new(), vec!["name is required".into()]);
    }
    (names.into_iter().map(|name| target(&said.of, &said.namespace, name)).collect(), Vec::new())
}
