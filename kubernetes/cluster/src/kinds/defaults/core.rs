//! Conditional defaults of the core group.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{FieldMap, child_object, is_absent, items, set, text};

/// Defaults requests to limits in a Pod, but not in a pod template.
pub(super) fn pod(map: &mut FieldMap) {
    let Some(spec) = child_object(map, "spec") else { return };
    for list in ["containers", "initContainers"] {
        for container in items(spec, list) {
            let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) else { continue };
            let limits = resources.get("limits").and_then(Value::as_object).cloned();
            if let (Some(limits), Some(requests)) = (limits, child_object(resources, "requests")) {
                for (name, limit) in limits {
                    requests.entry(name).or_insert(limit);
                }
            }
        }
    }
    set(spec, "enableServiceLinks", true);
    // Older servers accepted negative values, which mean as soon as possible.
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|s| s < 0) {
        spec.insert("terminationGracePeriodSeconds".into(), json!(1));
    }
    if spec.get("hostNetwork") == Some(&json!(true)) {
        for list in ["containers", "initContainers"] {
            for container in items(spec, list) {
                for port in items(container, "ports") {
                    if let Some(number) = port.get("containerPort").cloned() {
                        set(port, "hostPort", number);
                    }
                }
            }
        }
    }
}

/// Copies the service account's name to its deprecated field.
pub(super) fn pod_spec(map: &mut FieldMap) {
    let (new, old) = (text(map, "serviceAccountName").to_string(), text(map, "serviceAccount").to_string());
    let name = if new.is_empty() { old } else { new };
    if !name.is_empty() {
        map.insert("serviceAccountName".into(), name.clone().into());
        map.insert("serviceAccount".into(), name.into());
    }
}

/// Merges `stringData` over `data`.
pub(super) fn secret(map: &mut FieldMap) {
    let Some(Value::Object(plain)) = map.remove("stringData") else { return };
    if let Some(data) = child_object(map, "data") {
        for (key, value) in plain {
            data.insert(key, STANDARD.encode(value.as_str().unwrap_or("")).into());
        }
    }
}

pub(super) fn container(map: &mut FieldMap) {
    if text(map, "imagePullPolicy").is_empty() {
        let policy = pull_policy(text(map, "image"));
        map.insert("imagePullPolicy".into(), policy.into());
    }
}

/// Returns `Always` for the tag `latest`, including an omitted tag.
fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = image.split_once('@').map_or((image, None), |(n, d)| (n, Some(d)));
    let last = name.rsplit('/').next().unwrap_or(name);
    match (last.split_once(':'), digest) {
        (Some((_, "latest")), _) => "Always",
        (None, None) if is_reference(name) => "Always",
        _ => "IfNotPresent",
    }
}

/// Whether a name is an image reference; other names have no tag.
fn is_reference(name: &str) -> bool {
    let path = name.split_once('/').filter(|(host, _)| host.contains(['.', ':']) || *host == "localhost");
    let path = path.map_or(name, |(_, path)| path);
    !path.is_empty()
        && path.split('/').all(|part| {
            part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && part.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c))
        })
        && !(path.len() == 64 && path.chars().all(|c| c.is_ascii_hexdigit()))
}

/// Sets an empty directory as the source of a volume without one.
pub(super) fn volume(map: &mut FieldMap) {
    if map.iter().all(|(field, value)| field == "name" || value.is_null()) {
        map.insert("emptyDir".into(), json!({}));
    }
    if let Some(image) = map.get_mut("image").and_then(Value::as_object_mut)
        && text(image, "pullPolicy").is_empty()
    {
        let policy = pull_policy(text(image, "reference"));
        image.insert("pullPolicy".into(), policy.into());
    }
}

pub(super) fn service(map: &mut FieldMap) {
    let Some(spec) = child_object(map, "spec") else { return };
    set(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP"
            if spec.get("sessionAffinityConfig").and_then(|c| c.pointer("/clientIP/timeoutSeconds")).is_none() =>
        {
            spec.insert("sessionAffinityConfig".into(), json!({"clientIP": {"timeoutSeconds": 10800}}));
        }
        _ => {}
    }
    set(spec, "type", "ClusterIP");
    for port in items(spec, "ports") {
        let target = port.get("targetPort");
        if target.is_none_or(|t| t.is_null() || t == 0 || t == "") {
            let number = port.get("port").cloned().unwrap_or(json!(0));
            port.insert("targetPort".into(), number);
        }
    }
    let kind = text(spec, "type").to_string();
    let balanced = kind == "LoadBalancer";
    let external_ips = spec.get("externalIPs").and_then(Value::as_array).is_some_and(|a| !a.is_empty());
    if balanced || kind == "NodePort" || (kind == "ClusterIP" && external_ips) {
        set(spec, "externalTrafficPolicy", "Cluster");
    }
    if balanced || kind == "NodePort" || kind == "ClusterIP" {
        set(spec, "internalTrafficPolicy", "Cluster");
    }
    if balanced {
        set(spec, "allocateLoadBalancerNodePorts", true);
        let ingress = child_object(map, "status").and_then(|s| child_object(s, "loadBalancer"));
        for address in ingress.into_iter().flat_map(|b| items(b, "ingress")) {
            if !text(address, "ip").is_empty() {
                set(address, "ipMode", "VIP");
            }
        }
    }
}

pub(super) fn namespace(map: &mut FieldMap) {
    let Some(metadata) = child_object(map, "metadata") else { return };
    let name = text(metadata, "name").to_string();
    if let (false, Some(labels)) = (name.is_empty(), child_object(metadata, "labels")) {
        labels.insert("kubernetes.io/metadata.name".into(), name.into());
    }
}

/// Synchronizes the single address with the list of addresses, which takes precedence.
pub(super) fn pod_status(map: &mut FieldMap) {
    let first = map.get("podIPs").and_then(|ips| ips.pointer("/0/ip")).cloned();
    if let Some(first) = first {
        map.insert("podIP".into(), first);
    } else if !text(map, "podIP").is_empty() {
        let ip = text(map, "podIP").to_string();
        map.insert("podIPs".into(), json!([{"ip": ip}]));
    }
}

/// Synchronizes the single pod range with the list of ranges, which takes precedence.
pub(super) fn node_spec(map: &mut FieldMap) {
    let first = map.get("podCIDRs").and_then(|ranges| ranges.get(0)).cloned();
    if let Some(first) = first {
        map.insert("podCIDR".into(), first);
    } else if !text(map, "podCIDR").is_empty() {
        let range = text(map, "podCIDR").to_string();
        map.insert("podCIDRs".into(), json!([range]));
    }
}

pub(super) fn node_status(map: &mut FieldMap) {
    if let (true, Some(capacity)) = (is_absent(map, "allocatable"), map.get("capacity").cloned()) {
        map.insert("allocatable".into(), capacity);
    }
}

pub(super) fn limit_range_item(map: &mut FieldMap) {
    if text(map, "type") != "Container" {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        let source = map.get(from).and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(target) = child_object(map, to) {
            for (name, quantity) in source {
                target.entry(name).or_insert(quantity);
            }
        }
    }
}
