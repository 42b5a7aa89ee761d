//! Validation of a pod spec, in a Pod or in a template.

mod container;
mod environment;
mod placement;
mod probe;
mod resources;
mod security;
mod volume;

pub(super) use resources::resource_name;

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::checks::{at, int, items, legacy_ip, name_errors, text};
use crate::metadata;

/// Position of a spec. In a Pod the name is known, and host ports must match the container ports.
pub(super) struct PodSpecContext<'a> {
    /// Path of the spec.
    pub path: &'a str,
    /// Name of the Pod; `None` for a template.
    pub pod: Option<&'a str>,
}

/// Validates a pod template.
pub(super) fn template(template: &Value, path: &str) -> Vec<FieldError> {
    let meta = &template["metadata"];
    let mut errors = metadata::labels(&meta["labels"], &format!("{path}.labels"));
    errors.extend(metadata::annotations(&meta["annotations"], &format!("{path}.annotations")));
    let place = PodSpecContext { path: &format!("{path}.spec"), pod: None };
    errors.extend(validate(&template["spec"], &place));
    if !items(&template["spec"], "/ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(format!("{path}.spec.ephemeralContainers"), detail));
    }
    errors
}

/// Validates the spec itself.
pub(super) fn validate(spec: &Value, place: &PodSpecContext<'_>) -> Vec<FieldError> {
    let path = place.path;
    let mut errors = Vec::new();
    let volumes = volume::validate(items(spec, "/volumes"), place, &mut errors);
    errors.extend(container::validate_containers(spec, &volumes, path));
    if spec["hostNetwork"] == true {
        errors.extend(host_ports(spec, place));
    }
    errors.extend(policies(spec, path));
    errors.extend(metadata::labels(&spec["nodeSelector"], &format!("{path}.nodeSelector")));
    errors.extend(security::pod(spec, path));
    errors.extend(placement::affinity(&spec["affinity"], &format!("{path}.affinity")));
    errors.extend(dns(spec, path));
    for (index, gate) in items(spec, "/readinessGates").iter().enumerate() {
        let kind = text(gate, "/conditionType");
        errors.extend(name_errors(
            name::qualified_name(kind),
            &format!("{path}.readinessGates[{index}].conditionType"),
            kind,
        ));
    }
    errors.extend(scheduling_gates(spec, path));
    errors.extend(placement::spread(
        items(spec, "/topologySpreadConstraints"),
        &format!("{path}.topologySpreadConstraints"),
    ));
    errors.extend(names(spec, path));
    errors.extend(placement::tolerations(items(spec, "/tolerations"), &format!("{path}.tolerations")));
    for (index, alias) in items(spec, "/hostAliases").iter().enumerate() {
        errors.extend(legacy_ip(text(alias, "/ip"), &format!("{path}.hostAliases[{index}].ip")));
        for (i, host) in items(alias, "/hostnames").iter().filter_map(Value::as_str).enumerate() {
            errors.extend(name_errors(
                name::dns1123_subdomain(host),
                &format!("{path}.hostAliases[{index}].hostnames[{i}]"),
                host,
            ));
        }
    }
    errors.extend(classes(spec, path));
    errors
}

fn host_ports(spec: &Value, place: &PodSpecContext<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (c, container) in items(spec, "/containers").iter().enumerate() {
        for (p, port) in items(container, "/ports").iter().enumerate() {
            let (host, own) = (int(port, "/hostPort"), int(port, "/containerPort"));
            if (place.pod.is_some() || host != 0) && host != own {
                let path = format!("{}.containers[{c}].ports[{p}].hostPort", place.path);
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(path, host, detail));
            }
        }
    }
    errors
}

fn policies(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let restart = text(spec, "/restartPolicy");
    let known = ["Always", "OnFailure", "Never"];
    if !known.contains(&restart) {
        errors.push(FieldError::not_supported(format!("{path}.restartPolicy"), restart, &known));
    }
    let dns = text(spec, "/dnsPolicy");
    let known = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    if !known.contains(&dns) {
        errors.push(FieldError::not_supported(format!("{path}.dnsPolicy"), dns, &known));
    }
    errors
}

fn dns(spec: &Value, path: &str) -> Vec<FieldError> {
    /// Number of nameservers that resolvers read.
    const MAX_NAMESERVERS: usize = 3;
    let (config, path) = (&spec["dnsConfig"], format!("{path}.dnsConfig"));
    let servers = items(config, "/nameservers");
    if text(spec, "/dnsPolicy") == "None" {
        if !config.is_object() {
            return vec![FieldError::required(path, "must provide `dnsConfig` when `dnsPolicy` is None")];
        }
        if servers.is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return vec![FieldError::required(format!("{path}.nameservers"), detail)];
        }
    }
    let mut errors = Vec::new();
    if servers.len() > MAX_NAMESERVERS {
        let detail = format!("must not have more than {MAX_NAMESERVERS} nameservers");
        errors.push(FieldError::invalid(format!("{path}.nameservers"), config["nameservers"].clone(), detail));
    }
    for (index, server) in servers.iter().filter_map(Value::as_str).enumerate() {
        errors.extend(legacy_ip(server, &format!("{path}.nameservers[{index}]")));
    }
    for (index, option) in items(config, "/options").iter().enumerate() {
        if text(option, "/name").is_empty() {
            errors.push(FieldError::required(format!("{path}.options[{index}]"), "must not be empty"));
        }
    }
    errors
}

fn scheduling_gates(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, gate) in items(spec, "/schedulingGates").iter().enumerate() {
        let own = text(gate, "/name");
        let path = format!("{path}.schedulingGates[{index}]");
        errors.extend(name_errors(name::qualified_name(own), &path, own));
        if !seen.insert(own) {
            errors.push(FieldError::duplicate(path, own));
        }
    }
    errors
}

fn names(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["serviceAccountName", "nodeName"] {
        let value = text(spec, &format!("/{field}"));
        if !value.is_empty() {
            errors.extend(name_errors(name::dns1123_subdomain(value), &format!("{path}.{field}"), value));
        }
    }
    if let Some(seconds) = at(spec, "/activeDeadlineSeconds").as_i64() {
        const MAX: i64 = i32::MAX as i64;
        if !(1..=MAX).contains(&seconds) {
            let detail = name::inclusive_range_error(1, MAX);
            errors.push(FieldError::invalid(format!("{path}.activeDeadlineSeconds"), seconds, detail));
        }
    }
    for field in ["hostname", "subdomain"] {
        let value = text(spec, &format!("/{field}"));
        if !value.is_empty() {
            errors.extend(name_errors(name::dns1123_label(value), &format!("{path}.{field}"), value));
        }
    }
    errors
}

fn classes(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["priorityClassName", "runtimeClassName"] {
        let value = text(spec, &format!("/{field}"));
        if !value.is_empty() {
            errors.extend(name_errors(name::dns1123_subdomain(value), &format!("{path}.{field}"), value));
        }
    }
    let policy = text(spec, "/preemptionPolicy");
    if !matches!(policy, "" | "PreemptLowerPriority" | "Never") {
        let known = ["PreemptLowerPriority", "Never"];
        errors.push(FieldError::not_supported(format!("{path}.preemptionPolicy"), policy, &known));
    }
    if let Some(os) = at(spec, "/os/name").as_str().filter(|os| !matches!(*os, "linux" | "windows")) {
        errors.push(if os.is_empty() {
            FieldError::required(format!("{path}.os.name"), "cannot be empty")
        } else {
            FieldError::not_supported(format!("{path}.os"), os, &["linux", "windows"])
        });
    }
    errors
}
