//! Sequences of writes with managed fields recorded from kube-apiserver: `cases/apply/server/*.jsonl`.
//!
//! Each step tests the field manager alone: `Input` is the object right after decoding and defaulting.

use std::path::Path;
use std::sync::Arc;

use super::recorded::{same_refusal, schema};
use super::*;

/// Returns the definition of a built-in kind.
fn definition(api_version: &str, kind: &str) -> &'static Schema {
    let version = GroupVersion::parse(api_version).unwrap();
    let group = if version.group.is_empty() { "core" } else { version.group.split('.').next().unwrap() };
    let name = match kind {
        "CustomResourceDefinition" => {
            format!("io.k8s.apiextensions-apiserver.pkg.apis.{group}.{}.{kind}", version.version)
        }
        _ => format!("io.k8s.api.{group}.{}.{kind}", version.version),
    };
    DEFINITIONS.get(&name).unwrap_or_else(|| panic!("no definition {name}"))
}

fn run(step: &Value) -> Result<Value, Status> {
    let text = |name: &str| step[name].as_str().unwrap();
    let (api_version, kind) = (text("Version"), text("Kind"));
    let writer =
        WriteOrigin { manager: text("Manager"), api_version, kind, subresource: text("Subresource"), now: text("Now") };
    let live = Some(&step["Live"]).filter(|live| !live.is_null());
    let versions = ["v1", "v2"].map(|v| (format!("apply.rec/{v}"), Some(Arc::new(schema(&format!("ex.io/{v}"))))));
    let custom = versions.iter().find(|(v, _)| v == api_version);
    let (typed, reset) = match custom {
        Some((_, schema)) => (
            KindSchema { definitions: &DEFINITIONS, schema: schema.as_deref(), custom: true, versions: &versions },
            ResetFields::custom(api_version, writer.subresource, true),
        ),
        None => {
            let group = GroupVersion::parse(api_version).unwrap().group;
            let typed = KindSchema::built_in(&DEFINITIONS, definition(api_version, kind));
            (typed, ResetFields::built_in(&group, kind, writer.subresource))
        }
    };
    if step["Op"] == "apply" {
        return apply(live, &step["Input"], writer, typed, step["Force"] == true, &reset);
    }
    let mut new = step["Input"].clone();
    update(live, &mut new, writer, typed, &reset);
    Ok(new)
}

#[test]
fn managed_fields_match_kube_apiserver() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/apply/server");
    let mut wrong = Vec::new();
    for file in std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()) {
        for text in std::fs::read_to_string(&file).unwrap().lines() {
            let step: Value = serde_json::from_str(text).unwrap();
            let answer = run(&step);
            let right = match &answer {
                Ok(object) => {
                    let entries = object.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
                    step["Error"] == "" && *entries == step["ManagedFields"]
                }
                Err(status) => step["Error"] != "" && same_refusal(status, &step),
            };
            if !right {
                let got = answer.map_or_else(|s| s.message, |o| o["metadata"]["managedFields"].to_string());
                wrong.push(format!(
                    "{}\nexpected {} {}\ngot      {got}\n",
                    step["Case"], step["Error"], step["ManagedFields"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} steps differ:\n{}", wrong.len(), wrong.join("\n"));
}
