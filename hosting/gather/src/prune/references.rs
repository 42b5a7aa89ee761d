//! Names of other objects in an object.

use serde_json::Value;

use crate::contract::{ExactResource, ExplicitReference, ResourceReference, ResourceType};
use crate::jsonpath::{JsonPath, JsonPathMatch, LocationSegment};

type ReferencedObjects = (Vec<ExactResource>, Vec<String>);

/// Returns the referenced objects by native rules: a missing value names nothing, and all kinds of references count.
pub(super) fn referenced(reference: &ResourceReference, object: &Value) -> ReferencedObjects {
    let mut all = ReferencedObjects::default();
    let mut add = |(targets, problems): ReferencedObjects| {
        all.0.extend(targets);
        all.1.extend(problems);
    };
    if let Some(declared) = &reference.implicit_namespaced_reference {
        add(names_at(&declared.of, &declared.namespace, &declared.name_json_path, object));
    }
    if let Some(declared) = &reference.cluster_scoped_reference {
        add(names_at(&declared.of, "", &declared.name_json_path, object));
    }
    if let Some(declared) = &reference.explicit_namespaced_reference {
        add(explicit(declared, object));
    }
    all
}

fn names_at(of: &ResourceType, namespace: &str, path: &str, object: &Value) -> ReferencedObjects {
    match names(path, object) {
        Err(message) => (Vec::new(), vec![message]),
        Ok((names, problems)) => (names.into_iter().map(|(_, name)| target(of, namespace, name)).collect(), problems),
    }
}

/// Pairs each name with its closest namespace: the one in the same list item, if both are in one.
fn explicit(declared: &ExplicitReference, object: &Value) -> ReferencedObjects {
    let both =
        names(&declared.namespace_json_path, object).and_then(|ns| Ok((ns, names(&declared.name_json_path, object)?)));
    let ((namespaces, mut problems), (names, further)) = match both {
        Ok(both) => both,
        Err(message) => return (Vec::new(), vec![message]),
    };
    problems.extend(further);
    let mut targets = Vec::new();
    for (at, name) in names {
        let near = namespaces.iter().filter(|(place, _)| share_list_items(place, &at));
        match near.max_by_key(|(place, _)| shared(place, &at)) {
            Some((_, namespace)) => targets.push(target(&declared.of, namespace, name)),
            None => problems.push(format!("{} finds no namespace for `{name}`", declared.namespace_json_path)),
        }
    }
    (targets, problems)
}

fn target(of: &ResourceType, namespace: &str, name: String) -> ExactResource {
    ExactResource { of: of.clone(), namespace: namespace.into(), name }
}

fn shared(a: &[LocationSegment], b: &[LocationSegment]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Whether two locations are in the same items of the lists they share.
fn share_list_items(a: &[LocationSegment], b: &[LocationSegment]) -> bool {
    let shared = shared(a, b);
    !matches!((a.get(shared), b.get(shared)), (Some(LocationSegment::Index(_)), Some(LocationSegment::Index(_))))
}

type LocatedNames = Vec<(Vec<LocationSegment>, String)>;

/// Returns names with their locations, and the values that cannot be names.
fn names(path: &str, object: &Value) -> Result<(LocatedNames, Vec<String>), String> {
    let read = JsonPath::parse(path).and_then(|parsed| parsed.find(object));
    let found = read.map_err(|error| format!("{path}: {error}"))?;
    let (mut names, mut problems) = (Vec::new(), Vec::new());
    for JsonPathMatch { location, value } in found {
        match value {
            Value::Null => {}
            // An empty name refers to nothing.
            Value::String(name) if name.is_empty() => {}
            Value::String(name) => names.push((location, name.clone())),
            Value::Array(items) if items.iter().all(Value::is_string) => {
                let items = items.iter().filter_map(Value::as_str).enumerate();
                // Skip empty names here as well: a request for an object without a name would return all objects.
                names.extend(items.filter(|(_, item)| !item.is_empty()).map(|(index, item)| {
                    let location = [&location[..], &[LocationSegment::Index(index)]].concat();
                    (location, item.to_string())
                }));
            }
            other => problems.push(format!("{path} finds {} instead of a name", shape(other))),
        }
    }
    Ok((names, problems))
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Array(_) => "a list with items other than names",
        _ => "an object",
    }
}

/// Returns the referenced objects by the rules of multi-operator-manager: only implicit references, and a missing value
/// is an error.
pub(super) fn referenced_compat(reference: &ResourceReference, object: &Value) -> ReferencedObjects {
    let Some(declared) = &reference.implicit_namespaced_reference else { return ReferencedObjects::default() };
    let found = JsonPath::parse(&declared.name_json_path).and_then(|path| path.find_compat(object));
    let names = match found {
        Err(error) => return (Vec::new(), vec![format!("{}: {error}", declared.name_json_path)]),
        Ok(Value::String(name)) => vec![name],
        Ok(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map_or(item.to_string(), str::to_string)).collect()
        }
        Ok(other) => return (Vec::new(), vec![format!("unexpected error type for {other}")]),
    };
    if names.iter().any(String::is_empty) {
        return (Vec::new(), vec!["name is required".into()]);
    }
    (names.into_iter().map(|name| target(&declared.of, &declared.namespace, name)).collect(), Vec::new())
}
