//! Merge rules, one per file: `cases/apply/merge/*.yaml`. `UPDATE=1` rewrites the expected results.

use std::path::Path;
use std::sync::Arc;

use super::recorded::schema;
use super::*;
use crate::yaml;

/// Runs the steps of a case and returns the result of the last step.
fn run(steps: &[Value]) -> Value {
    let versions = ["v1", "v2"].map(|v| (format!("ex.io/{v}"), Some(Arc::new(schema(&format!("ex.io/{v}"))))));
    let mut live: Option<Value> = None;
    let mut refused = Value::Null;
    for (second, step) in steps.iter().enumerate() {
        let text = |name: &str, otherwise| step.get(name).and_then(Value::as_str).unwrap_or(otherwise);
        let api_version = format!("ex.io/{}", text("version", "v1"));
        let schema = versions.iter().find(|(v, _)| *v == api_version).unwrap().1.as_deref();
        let typed = KindSchema { definitions: &DEFINITIONS, schema, custom: true, versions: &versions };
        let (subresource, now) = (text("subresource", ""), format!("2026-01-01T00:00:{second:02}Z"));
        let reset = ResetFields::custom(&api_version, subresource, true);
        let manager = text("apply", text("update", ""));
        let writer = WriteOrigin { manager, api_version: &api_version, kind: "Thing", subresource, now: &now };
        let mut object =
            json!({"apiVersion": api_version, "kind": "Thing", "metadata": {"name": "t", "namespace": "ns"}});
        for part in ["spec", "status"] {
            step.get(part).into_iter().for_each(|value| object[part] = value.clone());
        }
        if let Some(live) = &mut live {
            live["apiVersion"] = json!(api_version);
        }
        refused = Value::Null;
        if step.get("apply").is_some() {
            match apply(live.as_ref(), &object, writer, typed, step.get("force").is_some(), &reset) {
                Ok(applied) => live = Some(applied),
                Err(status) => refused = status.message.into(),
            }
        } else {
            update(live.as_ref(), &mut object, writer, typed, &reset);
            live = Some(object);
        }
    }
    let live = live.unwrap_or_default();
    let mut result = json!({});
    for part in ["spec", "status"] {
        live.get(part).into_iter().for_each(|value| result[part] = value.clone());
    }
    if !refused.is_null() {
        result["refused"] = refused;
    }
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    result["owners"] = entries.map(|entry| (owner(entry), paths(&entry["fieldsV1"]))).collect();
    result
}

fn owner(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    format!("{} {} {}", text("manager"), text("operation"), text("apiVersion"))
}

fn paths(fields: &Value) -> Value {
    let set = super::super::fields::decode(fields).unwrap();
    let mut out: Vec<Value> = Vec::new();
    set.for_each_path(&mut Vec::new(), &mut |path| out.push(path.iter().map(|e| e.path()).collect::<String>().into()));
    Value::Array(out)
}

#[test]
fn cases_have_their_expected_results() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/apply/merge");
    for file in std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&file).unwrap();
        let case = yaml::read(&text).unwrap().value;
        let result = run(case["steps"].as_array().unwrap());
        if std::env::var_os("UPDATE").is_some() {
            let steps = text.split("result:").next().unwrap();
            let written = yaml::to_string(&json!({"result": result}));
            std::fs::write(&file, format!("{steps}{written}")).unwrap();
        } else {
            assert_eq!(result, case["result"], "{}", file.display());
        }
    }
}
