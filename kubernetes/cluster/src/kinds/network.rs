//! Validation of Ingresses, IngressClasses and NetworkPolicies.

use std::net::IpAddr;

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::checks::{cidr, int, items, legacy_ip, name_errors, port_or_name, selector, text};
use crate::metadata::too_long;

/// Annotation for the class that preceded the field.
pub(super) const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
/// Longest controller of an IngressClass.
const MAX_CONTROLLER_BYTES: usize = 250;

/// Validates an Ingress.
pub(super) fn ingress(object: &Value) -> Vec<FieldError> {
    let mut errors = ingress_spec(&object["spec"]);
    let annotated = object["metadata"]["annotations"][CLASS_ANNOTATION].as_str();
    let class = object["spec"]["ingressClassName"].as_str();
    if let (Some(annotated), Some(class)) = (annotated, class)
        && annotated != class
    {
        let detail = "must match `ingressClassName` when both are specified";
        errors.push(FieldError::invalid(format!("annotations.{CLASS_ANNOTATION}"), annotated, detail));
    }
    errors
}

/// Validates the spec of an Ingress.
pub(super) fn ingress_spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let rules = items(spec, "/rules");
    if rules.is_empty() && !spec["defaultBackend"].is_object() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid("spec", spec["rules"].clone(), detail));
    }
    if spec["defaultBackend"].is_object() {
        errors.extend(backend(&spec["defaultBackend"], "spec.defaultBackend"));
    }
    for (index, rule) in rules.iter().enumerate() {
        errors.extend(ingress_rule(rule, &format!("spec.rules[{index}]")));
    }
    for (index, tls) in items(spec, "/tls").iter().enumerate() {
        for (i, host) in items(tls, "/hosts").iter().filter_map(Value::as_str).enumerate() {
            errors.extend(host_name(host, &format!("spec.tls[{index}].hosts[{i}]")));
        }
        let secret = text(tls, "/secretName");
        if !secret.is_empty() {
            errors.extend(name_errors(
                name::dns1123_subdomain(secret),
                &format!("spec.tls[{index}].secretName"),
                secret,
            ));
        }
    }
    if let Some(class) = spec["ingressClassName"].as_str() {
        errors.extend(name_errors(name::dns1123_subdomain(class), "spec.ingressClassName", class));
    }
    errors
}

fn host_name(host: &str, path: &str) -> Vec<FieldError> {
    let wildcard = host.contains('*');
    let wrong = if wildcard { name::wildcard_dns1123_subdomain(host) } else { name::dns1123_subdomain(host) };
    name_errors(wrong, path, host)
}

fn ingress_rule(rule: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let host = text(rule, "/host");
    if !host.is_empty() {
        let at = format!("{path}.host");
        if host.parse::<IpAddr>().is_ok() {
            errors.push(FieldError::invalid(at.as_str(), host, "must be a DNS name, not an IP address"));
        }
        errors.extend(host_name(host, &at));
    }
    if !rule["http"].is_object() {
        return errors;
    }
    let paths = items(rule, "/http/paths");
    if paths.is_empty() {
        errors.push(FieldError::required(format!("{path}.http.paths"), ""));
    }
    for (index, one) in paths.iter().enumerate() {
        errors.extend(ingress_path(one, &format!("{path}.http.paths[{index}]")));
    }
    errors
}

fn ingress_path(one: &Value, path: &str) -> Vec<FieldError> {
    let Some(kind) = one["pathType"].as_str() else {
        return vec![FieldError::required(format!("{path}.pathType"), "pathType must be specified")];
    };
    let (target, at) = (text(one, "/path"), format!("{path}.path"));
    let mut errors = Vec::new();
    let absolute = "must be an absolute path";
    match kind {
        "Exact" | "Prefix" => {
            if !target.starts_with('/') {
                errors.push(FieldError::invalid(at.as_str(), target, absolute));
            }
            for sequence in ["//", "/./", "/../", "%2f", "%2F"].iter().filter(|s| target.contains(**s)) {
                errors.push(FieldError::invalid(at.as_str(), target, format!("must not contain '{sequence}'")));
            }
            for suffix in ["/..", "/."].iter().filter(|s| target.ends_with(**s)) {
                errors.push(FieldError::invalid(at.as_str(), target, format!("cannot end with '{suffix}'")));
            }
        }
        "ImplementationSpecific" => {
            if !target.is_empty() && !target.starts_with('/') {
                errors.push(FieldError::invalid(at.as_str(), target, absolute));
            }
        }
        other => {
            let known = ["Exact", "ImplementationSpecific", "Prefix"];
            errors.push(FieldError::not_supported(format!("{path}.pathType"), other, &known));
        }
    }
    errors.extend(backend(&one["backend"], &format!("{path}.backend")));
    errors
}

fn backend(backend: &Value, path: &str) -> Vec<FieldError> {
    match (backend["resource"].is_object(), backend["service"].is_object()) {
        (true, true) => vec![FieldError::invalid(path, "", "cannot set both resource and service backends")],
        (true, false) => reference(&backend["resource"], &format!("{path}.resource")),
        (false, true) => service_backend(&backend["service"], path),
        (false, false) => vec![FieldError::invalid(path, "", "resource or service backend is required")],
    }
}

fn service_backend(service: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let own = text(service, "/name");
    if own.is_empty() {
        errors.push(FieldError::required(format!("{path}.service.name"), ""));
    } else {
        errors.extend(name_errors(name::dns1123_label(own), &format!("{path}.service.name"), own));
    }
    match (text(service, "/port/name"), int(service, "/port/number")) {
        ("", 0) => errors.push(FieldError::required(path, "port name or number is required")),
        ("", number) => errors.extend(port_or_name(&number.into(), &format!("{path}.service.port.number"))),
        (port, 0) => errors.extend(name_errors(name::port_name(port), &format!("{path}.service.port.name"), port)),
        _ => errors.push(FieldError::invalid(path, "", "cannot set both port name & port number")),
    }
    errors
}

fn reference(reference: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(group) = reference["apiGroup"].as_str() {
        errors.extend(name_errors(name::dns1123_subdomain(group), &format!("{path}.apiGroup"), group));
    }
    for field in ["kind", "name"] {
        let value = text(reference, &format!("/{field}"));
        if value.is_empty() {
            errors.push(FieldError::required(format!("{path}.{field}"), ""));
        } else {
            errors.extend(name_errors(name::path_segment(value), &format!("{path}.{field}"), value));
        }
    }
    errors
}

/// Validates a write to an Ingress' status.
pub(super) fn ingress_status(new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, point) in items(new, "/status/loadBalancer/ingress").iter().enumerate() {
        let path = format!("status.loadBalancer.ingress[{index}]");
        let (ip, host) = (text(point, "/ip"), text(point, "/hostname"));
        if !ip.is_empty() {
            errors.extend(legacy_ip(ip, &format!("{path}.ip")));
        }
        if !host.is_empty() {
            errors.extend(name_errors(name::dns1123_subdomain(host), &format!("{path}.hostname"), host));
            if host.parse::<IpAddr>().is_ok() {
                let detail = "must be a DNS name, not an IP address";
                errors.push(FieldError::invalid(format!("{path}.hostname"), host, detail));
            }
        }
    }
    errors
}

/// Validates an IngressClass.
pub(super) fn ingress_class(object: &Value) -> Vec<FieldError> {
    let (spec, mut errors) = (&object["spec"], Vec::new());
    let controller = text(spec, "/controller");
    if controller.len() > MAX_CONTROLLER_BYTES {
        errors.push(too_long("spec.controller", MAX_CONTROLLER_BYTES));
    }
    errors.extend(prefixed_path(controller, "spec.controller"));
    let parameters = &spec["parameters"];
    if !parameters.is_object() {
        return errors;
    }
    let path = "spec.parameters";
    errors.extend(reference(parameters, path));
    let namespace = parameters["namespace"].as_str();
    match (text(parameters, "/scope"), namespace) {
        ("Namespace", None) => {
            let detail = "`parameters.scope` is set to 'Namespace'";
            errors.push(FieldError::required(format!("{path}.namespace"), detail));
        }
        ("Namespace", Some(namespace)) => {
            errors.extend(name_errors(name::dns1123_label(namespace), &format!("{path}.namespace"), namespace));
        }
        ("Cluster", Some(_)) => {
            let detail = "`parameters.scope` is set to 'Cluster'";
            errors.push(FieldError::forbidden(format!("{path}.namespace"), detail));
        }
        ("Cluster", None) => {}
        (other, _) => {
            errors.push(FieldError::not_supported(format!("{path}.scope"), other, &["Cluster", "Namespace"]));
        }
    }
    errors
}

/// Validates `example.com/path`.
fn prefixed_path(value: &str, path: &str) -> Vec<FieldError> {
    if value.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let Some((host, rest)) = value.split_once('/') else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![FieldError::invalid(path, value, detail)];
    };
    if host.is_empty() || rest.is_empty() {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![FieldError::invalid(path, value, detail)];
    }
    name_errors(name::dns1123_subdomain(host), path, host)
}

/// Validates a NetworkPolicy.
pub(super) fn network_policy(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = selector(&spec["podSelector"], "spec.podSelector");
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in items(spec, &format!("/{list}")).iter().enumerate() {
            let path = format!("spec.{list}[{index}]");
            for (i, port) in items(rule, "/ports").iter().enumerate() {
                errors.extend(policy_port(port, &format!("{path}.ports[{i}]")));
            }
            for (i, peer) in items(rule, &format!("/{peers}")).iter().enumerate() {
                errors.extend(policy_peer(peer, &format!("{path}.{peers}[{i}]")));
            }
        }
    }
    let types = items(spec, "/policyTypes");
    if types.len() > 2 {
        let detail = "may not specify more than two policyTypes";
        errors.push(FieldError::invalid("spec.policyTypes", spec["policyTypes"].clone(), detail));
        return errors;
    }
    for (index, kind) in types.iter().filter_map(Value::as_str).enumerate() {
        if !matches!(kind, "Ingress" | "Egress") {
            let known = ["Ingress", "Egress"];
            errors.push(FieldError::not_supported(format!("spec.policyTypes[{index}]"), kind, &known));
        }
    }
    errors
}

fn policy_port(port: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let protocol = text(port, "/protocol");
    if !matches!(protocol, "" | "TCP" | "UDP" | "SCTP") {
        errors.push(FieldError::not_supported(format!("{path}.protocol"), protocol, &["TCP", "UDP", "SCTP"]));
    }
    let end = port["endPort"].as_i64();
    let at = format!("{path}.endPort");
    match &port["port"] {
        Value::Null => {
            let detail = "may not be specified when `port` is not specified";
            errors.extend(end.map(|end| FieldError::invalid(at, end, detail)));
        }
        Value::String(own) => {
            let detail = "may not be specified when `port` is non-numeric";
            errors.extend(end.map(|end| FieldError::invalid(at, end, detail)));
            errors.extend(name_errors(name::port_name(own), &format!("{path}.port"), own));
        }
        number => {
            errors.extend(port_or_name(number, &format!("{path}.port")));
            let first = number.as_i64().unwrap_or(0);
            if let Some(end) = end {
                if end < first {
                    let detail = "must be greater than or equal to `port`";
                    errors.push(FieldError::invalid(at.as_str(), first, detail));
                }
                errors.extend(port_or_name(&end.into(), &at));
            }
        }
    }
    errors
}

fn policy_peer(peer: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let given = ["podSelector", "namespaceSelector", "ipBlock"].iter().filter(|f| peer[**f].is_object()).count();
    for field in ["podSelector", "namespaceSelector"] {
        errors.extend(selector(&peer[field], &format!("{path}.{field}")));
    }
    let block = &peer["ipBlock"];
    if block.is_object() {
        errors.extend(ip_block(block, &format!("{path}.ipBlock")));
    }
    if given == 0 {
        errors.push(FieldError::required(path, "must specify a peer"));
    } else if given > 1 && block.is_object() {
        errors.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
    }
    errors
}

fn ip_block(block: &Value, path: &str) -> Vec<FieldError> {
    let range = text(block, "/cidr");
    if range.is_empty() {
        return vec![FieldError::required(format!("{path}.cidr"), "")];
    }
    let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    let Some((outer, length)) = cidr(range) else {
        return vec![FieldError::invalid(format!("{path}.cidr"), range, detail)];
    };
    let mut errors = Vec::new();
    for (index, except) in items(block, "/except").iter().filter_map(Value::as_str).enumerate() {
        let path = format!("{path}.except[{index}]");
        match cidr(except) {
            None => errors.push(FieldError::invalid(path, except, detail)),
            Some((inner, longer)) if longer <= length || !contains(outer, length, inner) => {
                errors.push(FieldError::invalid(path, except, "must be a strict subset of `cidr`"));
            }
            Some(_) => {}
        }
    }
    errors
}

fn contains(outer: IpAddr, length: u8, inner: IpAddr) -> bool {
    let bits = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => (u128::from(ip.to_bits()) << 96, 32),
        IpAddr::V6(ip) => (ip.to_bits(), 128),
    };
    let ((a, wide), (b, other)) = (bits(outer), bits(inner));
    wide == other && (length == 0 || a >> (128 - length) == b >> (128 - length))
}
