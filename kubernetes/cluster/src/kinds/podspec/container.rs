//! Containers: names, images, ports, mounts, and the probes of each container type.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use switchboard_object::field::{FieldError, FieldErrorKind};
use switchboard_object::name;

use super::super::checks::{int, items, name_errors, text};
use super::volume::descending;
use super::{environment, probe, resources, security};

/// Validates all containers of a spec. `volumes` are the valid ones.
pub(super) fn validate_containers(spec: &Value, volumes: &BTreeSet<&str>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let containers = items(spec, "/containers");
    if containers.is_empty() {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    let mut names = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let path = format!("{path}.containers[{index}]");
        errors.extend(validate_container(container, volumes, &path));
        if !names.insert(text(container, "/name")) {
            errors.push(FieldError::duplicate(format!("{path}.name"), text(container, "/name")));
        }
        errors.extend(probe::validate_hooks_and_probes(container, &path));
        errors.extend(restart_policy(container, &path));
    }
    errors.extend(host_port_conflicts(containers, &format!("{path}.containers")));
    for (index, container) in items(spec, "/initContainers").iter().enumerate() {
        let path = format!("{path}.initContainers[{index}]");
        errors.extend(validate_container(container, volumes, &path));
        errors.extend(restart_policy(container, &path));
        let own = text(container, "/name");
        if !names.insert(own) && !own.is_empty() {
            errors.push(FieldError::duplicate(format!("{path}.name"), own));
        }
        errors.extend(init(container, &path));
    }
    errors
}

/// Validates an init container. Only restartable ones may have probes.
fn init(container: &Value, path: &str) -> Vec<FieldError> {
    if text(container, "/restartPolicy") == "Always" {
        return probe::validate_hooks_and_probes(container, path);
    }
    let fields = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];
    let detail = "may not be set for init containers without restartPolicy=Always";
    let given = fields.into_iter().filter(|f| container[*f].is_object());
    given.map(|f| FieldError::forbidden(format!("{path}.{f}"), detail)).collect()
}

fn restart_policy(container: &Value, path: &str) -> Option<FieldError> {
    let policy = container["restartPolicy"].as_str();
    let rules = items(container, "/restartPolicyRules");
    match policy {
        None if !rules.is_empty() => {
            let detail = "must specify restartPolicy when restart rules are used";
            Some(FieldError::required(format!("{path}.restartPolicy"), detail))
        }
        Some(policy) if !matches!(policy, "Always" | "Never" | "OnFailure") => {
            let known = ["Always", "Never", "OnFailure"];
            Some(FieldError::not_supported(format!("{path}.restartPolicy"), policy, &known))
        }
        _ => None,
    }
}

fn validate_container(container: &Value, volumes: &BTreeSet<&str>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let own = text(container, "/name");
    if own.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    } else {
        errors.extend(name_errors(name::dns1123_label(own), &format!("{path}.name"), own));
    }
    if text(container, "/image").is_empty() {
        errors.push(FieldError::required(format!("{path}.image"), ""));
    }
    let policy = text(container, "/terminationMessagePolicy");
    let known = ["File", "FallbackToLogsOnError"];
    if !known.contains(&policy) {
        errors.push(FieldError::not_supported(format!("{path}.terminationMessagePolicy"), policy, &known));
    }
    errors.extend(ports(items(container, "/ports"), &format!("{path}.ports")));
    errors.extend(environment::variables(items(container, "/env"), &format!("{path}.env")));
    errors.extend(environment::sources(items(container, "/envFrom"), &format!("{path}.envFrom")));
    errors.extend(mounts(container, volumes, &format!("{path}.volumeMounts")));
    let pull = text(container, "/imagePullPolicy");
    let known = ["Always", "IfNotPresent", "Never"];
    if !known.contains(&pull) {
        errors.push(FieldError::not_supported(format!("{path}.imagePullPolicy"), pull, &known));
    }
    errors.extend(resources::container(&container["resources"], &format!("{path}.resources")));
    errors.extend(security::container(&container["securityContext"], &format!("{path}.securityContext")));
    errors
}

fn ports(ports: &[Value], path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let own = text(port, "/name");
        if !own.is_empty() {
            let wrong = name_errors(name::port_name(own), &format!("{path}.name"), own);
            if wrong.is_empty() && !names.insert(own) {
                errors.push(FieldError::duplicate(format!("{path}.name"), own));
            }
            errors.extend(wrong);
        }
        let number = int(port, "/containerPort");
        if number == 0 {
            errors.push(FieldError::required(format!("{path}.containerPort"), ""));
        } else {
            errors.extend(port_number(number, format!("{path}.containerPort")));
        }
        if int(port, "/hostPort") != 0 {
            errors.extend(port_number(int(port, "/hostPort"), format!("{path}.hostPort")));
        }
        let protocol = text(port, "/protocol");
        let known = ["SCTP", "TCP", "UDP"];
        if !known.contains(&protocol) {
            errors.push(FieldError::not_supported(format!("{path}.protocol"), protocol, &known));
        }
    }
    errors
}

fn port_number(number: i64, path: String) -> Vec<FieldError> {
    name::port_number(number).into_iter().map(|m| FieldError::invalid(path.clone(), number, m)).collect()
}

fn host_port_conflicts(containers: &[Value], path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut taken = BTreeMap::new();
    for (c, container) in containers.iter().enumerate() {
        for (p, port) in items(container, "/ports").iter().enumerate() {
            let host = int(port, "/hostPort");
            let key = format!("{}/{}/{host}", text(port, "/protocol"), text(port, "/hostIP"));
            if host != 0 && taken.insert(key.clone(), ()).is_some() {
                errors.push(FieldError::duplicate(format!("{path}[{c}].ports[{p}].hostPort"), key));
            }
        }
    }
    errors
}

fn mounts(container: &Value, volumes: &BTreeSet<&str>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut points = BTreeSet::new();
    for (index, mount) in items(container, "/volumeMounts").iter().enumerate() {
        let at = format!("{path}[{index}]");
        let (own, point) = (text(mount, "/name"), text(mount, "/mountPath"));
        if own.is_empty() {
            errors.push(FieldError::required(format!("{at}.name"), ""));
        }
        if !volumes.contains(own) {
            let (kind, field) = (FieldErrorKind::NotFound, format!("{at}.name"));
            errors.push(FieldError { kind, field, value: Some(own.into()), detail: String::new() });
        }
        if point.is_empty() {
            errors.push(FieldError::required(format!("{at}.mountPath"), ""));
        }
        if !points.insert(point) {
            errors.push(FieldError::invalid(format!("{at}.mountPath"), point, "must be unique"));
        }
        let (sub, expr) = (text(mount, "/subPath"), text(mount, "/subPathExpr"));
        if !sub.is_empty() {
            errors.extend(descending(sub, &format!("{path}.subPath")));
        }
        if !expr.is_empty() {
            if !sub.is_empty() {
                let detail = "subPathExpr and subPath are mutually exclusive";
                errors.push(FieldError::invalid(format!("{at}.subPathExpr"), expr, detail));
            }
            errors.extend(descending(expr, &format!("{path}.subPathExpr")));
        }
        if let Some(propagation) = mount["mountPropagation"].as_str() {
            errors.extend(mount_propagation(propagation, container, &format!("{path}.mountPropagation")));
        }
    }
    errors
}

fn mount_propagation(propagation: &str, container: &Value, path: &str) -> Option<FieldError> {
    let known = ["Bidirectional", "HostToContainer", "None"];
    if !known.contains(&propagation) {
        return Some(FieldError::not_supported(path, propagation, &known));
    }
    let privileged = container["securityContext"]["privileged"] == true;
    let detail = "Bidirectional mount propagation is available only to privileged containers";
    (propagation == "Bidirectional" && !privileged).then(|| FieldError::forbidden(path, detail))
}
