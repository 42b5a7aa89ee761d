//! Warnings about pods and their templates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use switchboard_object::quantity::Quantity;
use switchboard_object::quote::quote;

use super::checks::{at, int, items, text};

/// Annotations that no longer have an effect.
const DEPRECATED: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
];
/// Deprecated volume sources.
const VOLUMES: [(&str, &str, &str); 9] = [
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];
/// Node labels with a successor.
const LABELS: [(&str, &str); 7] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    ("failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"),
    ("beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"),
    ("beta.kubernetes.io/masq-agent-ds-ready", "deprecated since v1.16"),
    ("kubernetes.io/cluster-service", "deprecated"),
];

/// Returns the warnings of a Pod.
pub(super) fn pod(new: &Value, _old: Option<&Value>) -> Vec<String> {
    of(&new["metadata"], &new["spec"], "")
}

/// Returns the warnings of the template at `pointer`, named `path`. An update warns only if the template changed.
pub(super) fn template(new: &Value, old: Option<&Value>, pointer: &str, path: &str) -> Vec<String> {
    if old.is_some_and(|o| at(o, "/metadata/generation") == at(new, "/metadata/generation")) {
        return Vec::new();
    }
    let template = at(new, pointer);
    of(&template["metadata"], &template["spec"], &format!("{path}."))
}

fn of(meta: &Value, spec: &Value, base: &str) -> Vec<String> {
    let mut out = Vec::new();
    let path = format!("{base}spec");
    labels(spec, &path, &mut out);
    for (key, why) in DEPRECATED {
        if meta["annotations"].get(key).is_some() {
            out.push(format!("{base}metadata.annotations[{key}]: {why}"));
        }
    }
    for (index, volume) in items(spec, "/volumes").iter().enumerate() {
        for (source, shown, why) in VOLUMES {
            if volume[source].is_object() {
                out.push(format!("{path}.volumes[{index}].{shown}: {why}"));
            }
        }
    }
    duplicates(items(spec, "/hostAliases"), "ip", &format!("{path}.hostAliases"), &mut out);
    duplicates(items(spec, "/imagePullSecrets"), "name", &format!("{path}.imagePullSecrets"), &mut out);
    for (index, secret) in items(spec, "/imagePullSecrets").iter().enumerate() {
        if text(secret, "/name").is_empty() {
            out.push(format!("{path}.imagePullSecrets[{index}].name: invalid empty name \"\""));
        }
    }
    let containers = all_containers(spec, &path);
    for (container, path) in &containers {
        fractions(container, path, &mut out);
        hidden_variables(container, path, &mut out);
    }
    ports(&containers, &mut out);
    if int(spec, "/terminationGracePeriodSeconds") < 0 {
        out.push(format!(
            "{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    affinity(spec, &path, &mut out);
    out
}

/// Returns all containers in kube-apiserver's order: init containers first.
fn all_containers<'a>(spec: &'a Value, path: &str) -> Vec<(&'a Value, String)> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let list = |l: &'static str| items(spec, &format!("/{l}")).iter().enumerate().map(move |(i, c)| (c, l, i));
    lists.into_iter().flat_map(list).map(|(c, l, i)| (c, format!("{path}.{l}[{i}]"))).collect()
}

fn labels(spec: &Value, path: &str, out: &mut Vec<String>) {
    let why = |key: &str| LABELS.iter().find(|(label, _)| *label == key).map(|(_, why)| *why);
    for key in spec["nodeSelector"].as_object().into_iter().flat_map(|m| m.keys()) {
        if let Some(why) = why(key) {
            out.push(format!("{path}.nodeSelector[{key}]: {why}"));
        }
    }
    for (index, constraint) in items(spec, "/topologySpreadConstraints").iter().enumerate() {
        let key = text(constraint, "/topologyKey");
        if let Some(why) = why(key) {
            out.push(format!("{path}.topologySpreadConstraints[{index}].topologyKey: {key} is {why}"));
        }
        if constraint["labelSelector"].is_null() {
            out.push(format!(
                "{path}.topologySpreadConstraints[{index}].labelSelector: a null labelSelector results in matching no pod"
            ));
        }
    }
}

fn duplicates(list: &[Value], field: &str, path: &str, out: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, item) in list.iter().enumerate() {
        let value = text(item, &format!("/{field}"));
        if !seen.insert(value) {
            out.push(format!("{path}[{index}].{field}: duplicate {field} {}", quote(value)));
        }
    }
}

fn fractions(container: &Value, path: &str, out: &mut Vec<String>) {
    for resource in ["memory", "ephemeral-storage"] {
        for list in ["limits", "requests"] {
            let value = &container["resources"][list][resource];
            let Ok(quantity) = Quantity::from_value(value) else { continue };
            if quantity.milli_value() % 1000 != 0 {
                out.push(format!(
                    "{path}.resources.{list}[{resource}]: fractional byte value \"{quantity}\" is invalid, must be an integer"
                ));
            }
        }
    }
}

fn hidden_variables(container: &Value, path: &str, out: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, variable) in items(container, "/env").iter().enumerate() {
        let (name, value) = (text(variable, "/name"), text(variable, "/value"));
        let reference = format!("$({name})");
        let hides = variable["valueFrom"].is_object() || value == reference || !value.contains(&reference);
        if !seen.insert(name) && hides {
            out.push(format!(
                "{path}.env[{index}]: hides previous definition of {}, which may be dropped when using apply",
                quote(name)
            ));
        }
    }
}

fn ports(containers: &[(&Value, String)], out: &mut Vec<String>) {
    let mut seen: BTreeMap<String, Vec<(String, &Value)>> = BTreeMap::new();
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut by_name = Vec::new();
    for (container, path) in containers {
        for (index, port) in items(container, "/ports").iter().enumerate() {
            let here = format!("{path}.ports[{index}]");
            let key = format!("{}/{}", int(port, "/containerPort"), text(port, "/protocol"));
            let others = seen.entry(key).or_default();
            for (there, other) in others.iter() {
                out.extend(overlap(port, other).map(|what| format!("{here}: {what} port definition with {there}")));
            }
            others.push((here.clone(), port));
            let name = text(port, "/name");
            match names.get(name) {
                _ if name.is_empty() => {}
                Some(other) => by_name.push(format!("{here}: duplicate port name {} with {other}, services and probes that select ports by name will use {other}", quote(name))),
                None => drop(names.insert(name, here)),
            }
        }
    }
    out.extend(by_name);
}

fn overlap(port: &Value, other: &Value) -> Option<&'static str> {
    let (host, other_host) = (int(port, "/hostPort"), int(other, "/hostPort"));
    let (ip, other_ip) = (text(port, "/hostIP"), text(other, "/hostIP"));
    if ip == other_ip && host == other_host {
        Some("duplicate")
    } else if host == 0 || other_host == 0 {
        Some("overlapping")
    } else {
        (host == other_host && ip.is_empty() != other_ip.is_empty()).then_some("dangerously ambiguous")
    }
}

fn affinity(spec: &Value, path: &str, out: &mut Vec<String>) {
    let why = "a null labelSelector results in matching no pod";
    for kind in ["podAffinity", "podAntiAffinity"] {
        let terms = &spec["affinity"][kind];
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in items(terms, &format!("/{required}")).iter().enumerate() {
            if term["labelSelector"].is_null() {
                out.push(format!("{path}.affinity.{kind}.{required}[{index}].labelSelector: {why}"));
            }
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in items(terms, &format!("/{preferred}")).iter().enumerate() {
            if at(term, "/podAffinityTerm/labelSelector").is_null() {
                out.push(format!("{path}.affinity.{kind}.{preferred}[{index}].podAffinityTerm.labelSelector: {why}"));
            }
        }
    }
}
