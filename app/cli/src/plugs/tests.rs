//! Generated documents of the CustomResourceDefinitions. `UPDATE=1` rewrites the files.
#![allow(clippy::unwrap_used)]

use serde_json::Value;

use super::*;

/// Reference of the kinds, and the CRDs of the chart.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/CRDS.md");
const OF_CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/chart/crds/plugs.yaml");

const HEAD: &str = "# Kinds\n\n\
    Generated from the CustomResourceDefinitions; `UPDATE=1 cargo test -p switchboard plugs` rewrites it. `[]` stands for every item of a list, `*` for every key of a map.\n";

#[track_caller]
fn compare(file: &str, text: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, text).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(written == text, "{file} is stale\nhint: UPDATE=1 cargo test -p switchboard plugs");
}

/// Appends a row for each field below a schema.
fn rows(schema: &Value, path: &str, out: &mut Vec<String>) {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) = schema["properties"].as_object() else { return below(schema, path, out) };
    for (name, property) in properties {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let must = if required.contains(&name.as_str()) { "yes" } else { "" };
        let printed = property["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let default = property.get("default").map(|value| format!(" Default: `{value}`.")).unwrap_or_default();
        let known = property["enum"].as_array().map(|all| {
            let all: Vec<String> = all.iter().map(|one| format!("`{}`", one.as_str().unwrap_or_default())).collect();
            format!(" Values: {}.", all.join(", "))
        });
        let printed = format!("{printed}{}{default}", known.unwrap_or_default());
        out.push(format!("| `{path}` | {} | {must} | {} |", kind(property), printed.trim()));
        rows(property, &path, out);
    }
}

fn below(schema: &Value, path: &str, out: &mut Vec<String>) {
    if schema["items"]["properties"].is_object() {
        rows(&schema["items"], &format!("{path}[]"), out);
    } else if schema["additionalProperties"]["properties"].is_object() {
        rows(&schema["additionalProperties"], &format!("{path}.*"), out);
    }
}

fn kind(schema: &Value) -> String {
    let plain = schema["type"].as_str().unwrap_or("any");
    match plain {
        _ if schema["x-kubernetes-int-or-string"] == true => "number or text".to_string(),
        "array" => format!("list of {}", kind(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", kind(&schema["additionalProperties"]))
        }
        "string" => "text".to_string(),
        "object" | "any" | "boolean" | "integer" | "number" => plain.to_string(),
        other => other.to_string(),
    }
}

/// Reads the CRDs of the GitOps Service, in the order of their files.
fn of_gitops() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../operators/gitops/data/crds");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| yaml::read(&std::fs::read_to_string(file).unwrap()).unwrap().value).collect()
}

#[test]
fn reference_of_kinds_matches_the_definitions() {
    let mut text = HEAD.to_string();
    for definition in switchboard_plugs::crds::crds().into_iter().chain(of_gitops()) {
        let spec = &definition["spec"];
        let (group, kind) = (spec["group"].as_str().unwrap(), spec["names"]["kind"].as_str().unwrap());
        for version in spec["versions"].as_array().unwrap() {
            let schema = &version["schema"]["openAPIV3Schema"];
            let about = schema["description"].as_str().unwrap_or_default();
            let mut fields = Vec::new();
            rows(&schema["properties"]["spec"], "spec", &mut fields);
            rows(&schema["properties"]["status"], "status", &mut fields);
            text.push_str(&format!("\n## {kind}\n\n`{group}/{}`. {about}\n\n", version["name"].as_str().unwrap()));
            text.push_str("| field | type | required | meaning |\n|---|---|---|---|\n");
            text.push_str(&format!("{}\n", fields.join("\n")));
        }
    }
    compare(REFERENCE, &text);
}

#[test]
fn chart_installs_the_definitions() {
    compare(OF_CHART, &crds());
}
