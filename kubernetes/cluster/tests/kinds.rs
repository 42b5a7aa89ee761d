//! Built-in kinds against responses recorded from kube-apiserver: one file per case in `tests/kinds`.
//!
//! A case is a `create` with its `answer` and `warnings`, and steps that `merge` a change into the last answer and send
//! it as an update. Uids, times, allocated addresses and generated names are masked in both.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use switchboard_cluster::kinds::{ClusterReader, Requester, WriteContext, convert, strategy};
use switchboard_object::kind::{GroupVersion, GroupVersionKind};
use switchboard_object::status::Status;

#[test]
fn responses_match_kube_apiserver() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kinds");
    let only = std::env::var("CASE").unwrap_or_default();
    let mut failed = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().to_string();
        if !name.contains(&only) {
            continue;
        }
        let case: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let differences = run(&case);
        if !differences.is_empty() {
            failed.push(format!("{name}\n  {}", differences.join("\n  ")));
        }
    }
    assert!(failed.is_empty(), "{} cases differ:\n{}", failed.len(), failed.join("\n"));
}

/// Compares objects that kube-apiserver served in two groups or versions.
#[test]
fn conversions_match_kube_apiserver() {
    let cases: Value = serde_json::from_str(include_str!("conversions.json")).unwrap();
    let mut out = Vec::new();
    for case in cases.as_array().unwrap() {
        let (from, to) = (&case["from"], &case["to"]);
        let name = from["metadata"]["name"].as_str().unwrap();
        for (from, to) in [(from, to), (to, from)] {
            let mut object = from.clone();
            match (convert::stored(&kind_of(from)), convert::stored(&kind_of(to))) {
                (Some(_), None) => convert::to_stored(&kind_of(from), &mut object),
                (None, Some(_)) => convert::from_stored(&kind_of(to), &mut object),
                _ => panic!("one of both is stored"),
            }
            compare(name, &object, to, &mut out);
        }
    }
    assert!(out.is_empty(), "{}", out.join("\n"));
}

/// Objects of the cluster besides the initial ones.
struct FixtureCluster(Vec<Value>);

impl FixtureCluster {
    fn of(case: &Value) -> Self {
        let mut objects: Vec<Value> = case["world"].as_array().cloned().unwrap_or_default();
        for object in &mut objects {
            if namespaced(&kind_of(object)) {
                object["metadata"]["namespace"] = json!("kinds");
            }
            strategy(&kind_of(object)).default(object);
        }
        let account = json!({"kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "kinds"}});
        let critical = json!({"kind": "PriorityClass", "metadata": {"name": "system-cluster-critical"},
            "value": 2_000_000_000, "preemptionPolicy": "PreemptLowerPriority"});
        objects.extend([account, critical]);
        Self(objects)
    }
}

impl ClusterReader for FixtureCluster {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.list(resource, namespace).into_iter().find(|o| o["metadata"]["name"] == name)
    }

    fn list(&self, resource: &str, namespace: &str) -> Vec<Value> {
        let kind = match resource {
            "limitranges" => "LimitRange",
            "runtimeclasses.node.k8s.io" => "RuntimeClass",
            "serviceaccounts" => "ServiceAccount",
            "services" => "Service",
            "storageclasses.storage.k8s.io" => "StorageClass",
            "ingressclasses.networking.k8s.io" => "IngressClass",
            "priorityclasses.scheduling.k8s.io" => "PriorityClass",
            other => panic!("unexpected read of {other}"),
        };
        let here = |o: &Value| o["metadata"]["namespace"].as_str().unwrap_or("") == namespace || namespace.is_empty();
        self.0.iter().filter(|o| o["kind"] == kind && here(o)).cloned().collect()
    }
}

fn run(case: &Value) -> Vec<String> {
    let groups = vec!["system:masters".to_string(), "system:authenticated".to_string()];
    let user = Requester { name: "admin", uid: "", groups: &groups, extra: credential() };
    let env = WriteContext { now: "TIME", random: 7, user, cluster: &FixtureCluster::of(case) };
    let kind = kind_of(&case["create"]);
    let mut out = Vec::new();
    let mut warnings: Vec<String> = strategy(&kind).deprecation().map(String::from).into_iter().collect();
    let answer = create(&kind, &case["create"], &env, &mut warnings);
    compare("create", &masked(answer.clone(), case), &case["answer"], &mut out);
    compare("create warnings", &json!(warnings), &case["warnings"], &mut out);
    let mut live = answer;
    for (index, step) in case["then"].as_array().into_iter().flatten().enumerate() {
        let mut warnings: Vec<String> = strategy(&kind).deprecation().map(String::from).into_iter().collect();
        let mut sent = live.clone();
        merge(&mut sent, &step["merge"]);
        let answer = update(&kind, sent, &live, step["subresource"] == "status", &env, &mut warnings);
        compare(&format!("step {index}"), &masked(answer.clone(), case), &step["answer"], &mut out);
        compare(&format!("step {index} warnings"), &json!(warnings), &step["warnings"], &mut out);
        if answer["kind"] != "Status" {
            live = answer;
        }
    }
    out
}

fn credential() -> BTreeMap<String, Vec<String>> {
    [("authentication.kubernetes.io/credential-id".to_string(), vec!["X509SHA256=MASKED".to_string()])].into()
}

fn create(kind: &GroupVersionKind, sent: &Value, env: &WriteContext<'_>, warnings: &mut Vec<String>) -> Value {
    let strategy = strategy(kind);
    let mut object = sent.clone();
    if namespaced(kind) {
        object["metadata"]["namespace"] = json!("kinds");
    }
    strategy.default(&mut object);
    if let Err(status) = strategy.admit(&mut object, None, env) {
        return status.to_value();
    }
    object["metadata"]["uid"] = json!("UID");
    object["metadata"]["creationTimestamp"] = json!("TIME");
    if let Err(status) = strategy.prepare_create(&mut object, env) {
        return status.to_value();
    }
    let errors = strategy.validate_create(&object);
    if !errors.is_empty() {
        return Status::invalid(&strategy.error_kind(kind), object["metadata"]["name"].as_str().unwrap_or(""), &errors)
            .to_value();
    }
    warnings.extend(strategy.warnings(&object, None));
    if let Err(status) = strategy.review(&object, None, env) {
        return status.to_value();
    }
    object["metadata"]["resourceVersion"] = json!("1");
    object
}

fn update(
    kind: &GroupVersionKind,
    mut object: Value,
    live: &Value,
    status: bool,
    env: &WriteContext<'_>,
    warnings: &mut Vec<String>,
) -> Value {
    let strategy = strategy(kind);
    // kube-apiserver compares the name with the path first.
    let (sent, path) = (object["metadata"]["name"].clone(), live["metadata"]["name"].clone());
    if sent != path {
        let message = format!(
            "the name of the object ({}) does not match the name on the URL ({})",
            sent.as_str().unwrap(),
            path.as_str().unwrap()
        );
        return Status::bad_request(message).to_value();
    }
    strategy.default(&mut object);
    let errors = if status {
        strategy.prepare_status_update(&mut object, live, env);
        strategy.validate_status_update(&object, live)
    } else {
        if let Err(status) = strategy.admit(&mut object, Some(live), env) {
            return status.to_value();
        }
        if let Err(status) = strategy.prepare_update(&mut object, live, env) {
            return status.to_value();
        }
        strategy.validate_update(&object, live)
    };
    if !errors.is_empty() {
        return Status::invalid(&strategy.error_kind(kind), object["metadata"]["name"].as_str().unwrap_or(""), &errors)
            .to_value();
    }
    if !status {
        warnings.extend(strategy.warnings(&object, Some(live)));
        if let Err(status) = strategy.review(&object, Some(live), env) {
            return status.to_value();
        }
    }
    object
}

fn kind_of(object: &Value) -> GroupVersionKind {
    let version = GroupVersion::parse(object["apiVersion"].as_str().unwrap()).unwrap();
    version.kind(object["kind"].as_str().unwrap())
}

fn namespaced(kind: &GroupVersionKind) -> bool {
    let discovery: Value = serde_json::from_str(switchboard_object::DISCOVERY).unwrap();
    let groups = discovery.as_object().unwrap().values().flat_map(|d| d["items"].as_array().unwrap());
    let mut resources = groups
        .filter(|g| g["metadata"]["name"].as_str().unwrap_or("") == kind.group)
        .flat_map(|g| g["versions"].as_array().unwrap())
        .flat_map(|v| v["resources"].as_array().unwrap());
    resources.any(|r| r["responseKind"]["kind"] == kind.kind.as_str() && r["scope"] == "Namespaced")
}

fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}

/// Masks values that differ between runs, like the recording.
fn masked(mut value: Value, case: &Value) -> Value {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    let mut given = BTreeSet::new();
    strings(&case["create"], &mut given);
    for step in case["then"].as_array().into_iter().flatten() {
        strings(&step["merge"], &mut given);
    }
    mask(&mut value, "", &given);
    value
}

fn strings(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|v| strings(v, out)),
        Value::Object(items) => items.values().for_each(|v| strings(v, out)),
        Value::String(text) => drop(out.insert(text.clone())),
        Value::Number(number) => drop(out.insert(number.to_string())),
        _ => {}
    }
}

const TOKEN_VOLUME: &str = "kube-api-access-";

fn mask(value: &mut Value, key: &str, given: &BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|v| mask(v, key, given)),
        Value::Object(items) => items.iter_mut().for_each(|(k, v)| mask(v, k, given)),
        Value::String(text) if text.starts_with("10.0.0.") && !given.contains(text) => *text = "10.0.0.X".into(),
        Value::String(text) if text.contains(TOKEN_VOLUME) => {
            let mut parts = text.split(TOKEN_VOLUME);
            let first = parts.next().unwrap().to_string();
            *text = parts.fold(first, |out, part| format!("{out}{TOKEN_VOLUME}XXXXX{}", &part[5..]));
        }
        Value::Number(number) if key.to_lowercase().ends_with("nodeport") && !given.contains(&number.to_string()) => {
            *value = json!(30000);
        }
        _ => {}
    }
}

fn compare(at: &str, ours: &Value, theirs: &Value, out: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                match (a.get(key), b.get(key)) {
                    (Some(x), Some(y)) => compare(&format!("{at}.{key}"), x, y, out),
                    (Some(x), None) => out.push(format!("{at}.{key}: ours only: {x}")),
                    (None, Some(y)) => out.push(format!("{at}.{key}: theirs only: {y}")),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(i, (x, y))| compare(&format!("{at}[{i}]"), x, y, out));
        }
        (a, b) if a != b => out.push(format!("{at}: ours {a}\n    theirs {b}")),
        _ => {}
    }
}
