//! Checks for duplicate names, whose objects would collide on a cluster.

use std::collections::BTreeMap;

use super::{LintFindings, LintRule};
use crate::data_field::DataField;
use crate::model::{AWS_ACCOUNT, CLUSTER, INTEGRATION, LEAN_NAMESPACE, NAMESPACE, OCM_ORGANIZATION};
use crate::source::Bundle;

/// Schema of environment files.
const ENVIRONMENT: &str = "/app-sre/environment-1.yml";

/// Schemas whose files have unique names.
const NAMED: &[(&str, &str)] = &[
    (INTEGRATION, "integration"),
    (ENVIRONMENT, "environment"),
    (CLUSTER, "cluster"),
    (AWS_ACCOUNT, "account"),
    (OCM_ORGANIZATION, "organization"),
];

/// Reports every repeated name, and every repeated entry of an integration in a namespace.
pub fn duplicates(bundle: &Bundle, found: &mut LintFindings) {
    for (schema, what) in NAMED {
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        for file in bundle.of_schema(schema) {
            let file = DataField::root(bundle, file);
            let Ok(name) = file.required_text("name") else { continue };
            once(&mut first, name.clone(), &file, &format!("the {what} `{name}`"), found);
        }
    }
    namespaces(bundle, found);
    for file in bundle.of_schema(INTEGRATION) {
        entries(&DataField::root(bundle, file), found);
    }
}

fn namespaces(bundle: &Bundle, found: &mut LintFindings) {
    let mut first = BTreeMap::new();
    for file in [NAMESPACE, LEAN_NAMESPACE].iter().flat_map(|schema| bundle.of_schema(schema)) {
        let file = DataField::root(bundle, file);
        let cluster = file.follow_path("cluster.name").ok().flatten().and_then(|cluster| cluster.text().ok());
        let (Some(cluster), Ok(name)) = (cluster, file.required_text("name")) else { continue };
        let what = format!("the namespace `{name}` of the cluster `{cluster}`");
        once(&mut first, format!("{cluster}/{name}"), &file, &what, found);
    }
}

fn entries(file: &DataField<'_>, found: &mut LintFindings) {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for name in ["managed", "operate"] {
        let elements = file.literal(name).ok().flatten().and_then(|list| list.list().ok());
        for element in elements.unwrap_or_default() {
            let Ok(namespace) = element.required("namespace") else { continue };
            let path = namespace.file().path.to_string();
            match first.get(&path) {
                Some(other) => {
                    let problem = element.problem(format!("is for the same namespace as {other}, {path}"));
                    found.error(LintRule::DuplicateName, problem.hint("keep one of them"));
                }
                None => drop(first.insert(path, element.name())),
            }
        }
    }
}

fn once(first: &mut BTreeMap<String, String>, key: String, file: &DataField<'_>, what: &str, found: &mut LintFindings) {
    match first.get(&key) {
        Some(other) => {
            let place = file.literal("name").ok().flatten().unwrap_or_else(|| file.clone());
            let problem = place.problem(format!("{what} is also defined in {other}"));
            found.error(LintRule::DuplicateName, problem.hint("rename or remove one of them"));
        }
        None => drop(first.insert(key, file.file().path.to_string())),
    }
}
