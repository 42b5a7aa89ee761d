//! Names that stand twice: what is made of both would be one thing on a cluster.

use std::collections::BTreeMap;

use super::{Found, Rule};
use crate::field::Field;
use crate::model::{AWS_ACCOUNT, CLUSTER, INTEGRATION, LEAN_NAMESPACE, NAMESPACE, OCM_ORGANIZATION};
use crate::source::Bundle;

/// The schema of environment files.
const ENVIRONMENT: &str = "/app-sre/environment-1.yml";

/// Schemas whose files have a name each.
const NAMED: &[(&str, &str)] = &[
    (INTEGRATION, "integration"),
    (ENVIRONMENT, "environment"),
    (CLUSTER, "cluster"),
    (AWS_ACCOUNT, "account"),
    (OCM_ORGANIZATION, "organization"),
];

/// Tells of every second file of a name, and of every second entry of an integration in a namespace.
pub fn duplicates(bundle: &Bundle, found: &mut Found) {
    for (schema, what) in NAMED {
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        for file in bundle.of_schema(schema) {
            let file = Field::of(bundle, file);
            let Ok(name) = file.need_text("name") else { continue };
            once(&mut first, name.clone(), &file, &format!("the {what} `{name}`"), found);
        }
    }
    namespaces(bundle, found);
    for file in bundle.of_schema(INTEGRATION) {
        entries(&Field::of(bundle, file), found);
    }
}

fn namespaces(bundle: &Bundle, found: &mut Found) {
    let mut first = BTreeMap::new();
    for file in [NAMESPACE, LEAN_NAMESPACE].iter().flat_map(|schema| bundle.of_schema(schema)) {
        let file = Field::of(bundle, file);
        let cluster = file.along("cluster.name").ok().flatten().and_then(|cluster| cluster.text().ok());
        let (Some(cluster), Ok(name)) = (cluster, file.need_text("name")) else { continue };
        let what = format!("the namespace `{name}` of the cluster `{cluster}`");
        once(&mut first, format!("{cluster}/{name}"), &file, &what, found);
    }
}

fn entries(file: &Field<'_>, found: &mut Found) {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for name in ["managed", "operate"] {
        let elements = file.literal(name).ok().flatten().and_then(|list| list.list().ok());
        for element in elements.unwrap_or_default() {
            let Ok(namespace) = element.need("namespace") else { continue };
            let path = namespace.file().path.to_string();
            match first.get(&path) {
                Some(other) => {
                    let problem = element.problem(format!("is for the same namespace as {other}, {path}"));
                    found.error(Rule::DuplicateName, problem.hint("keep one of them"));
                }
                None => drop(first.insert(path, element.name())),
            }
        }
    }
}

fn once(first: &mut BTreeMap<String, String>, key: String, file: &Field<'_>, what: &str, found: &mut Found) {
    match first.get(&key) {
        Some(other) => {
            let place = file.literal("name").ok().flatten().unwrap_or_else(|| file.clone());
            let problem = place.problem(format!("{what} is also that of {other}"));
            found.error(Rule::DuplicateName, problem.hint("give one of them another name, or remove it"));
        }
        None => drop(first.insert(key, file.file().path.to_string())),
    }
}
