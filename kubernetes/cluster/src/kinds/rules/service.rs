//! Services and Endpoints.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_object::field::{FieldError, FieldErrorKind};
use switchboard_object::name;

use super::super::builtin::KindRules;
use super::super::checks::{endpoint_ip, int, legacy_ip, name_errors, port_or_name};
use super::service_address::{self, wants_health_check};
use super::{at, items, remove, text};
use crate::metadata;

pub(super) const SERVICE: KindRules = KindRules {
    create: |object, env| service_address::allocate(object, None, env),
    update: |new, old, env| {
        drop_for_type(new, old);
        service_address::keep_allocated(new, old);
        service_address::allocate(new, Some(old), env)
    },
    validate: |object| validate(object, None),
    validate_update: |new, old| {
        let mut errors = fixed_addresses(new, old);
        errors.extend(balancer_class(new, Some(old)));
        errors.extend(validate(new, Some(old)));
        errors
    },
    warnings,
    ..KindRules::NONE
};

/// Drops fields that a change of type makes meaningless, unless the client changed them, too.
fn drop_for_type(new: &mut Value, old: &Value) {
    let is = |v: &Value, kind: &str| text(v, "/spec/type") == kind;
    let same = |new: &Value, field: &str| new["spec"][field] == old["spec"][field];
    if !is(old, "ExternalName") && is(new, "ExternalName") {
        if same(new, "clusterIP") && same(new, "clusterIPs") {
            remove(&mut new["spec"], "clusterIP");
            remove(&mut new["spec"], "clusterIPs");
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if same(new, field) {
                remove(&mut new["spec"], field);
            }
        }
    }
    let exposed = |v: &Value| is(v, "NodePort") || is(v, "LoadBalancer");
    let ports = |v: &Value| -> BTreeSet<i64> {
        items(v, "/spec/ports").iter().map(|p| int(p, "/nodePort")).filter(|p| *p != 0).collect()
    };
    if exposed(old) && !exposed(new) && ports(old).is_superset(&ports(new)) {
        new["spec"]["ports"].as_array_mut().into_iter().flatten().for_each(|p| remove(p, "nodePort"));
    }
    if wants_health_check(old) && !wants_health_check(new) && same(new, "healthCheckNodePort") {
        remove(&mut new["spec"], "healthCheckNodePort");
    }
    if is(old, "LoadBalancer") && !is(new, "LoadBalancer") {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(new, field) {
                remove(&mut new["spec"], field);
            }
        }
    }
    if external(old) && !external(new) && same(new, "externalTrafficPolicy") {
        remove(&mut new["spec"], "externalTrafficPolicy");
    }
    if is(new, "ExternalName") && same(new, "internalTrafficPolicy") {
        remove(&mut new["spec"], "internalTrafficPolicy");
    }
    if !is(new, "LoadBalancer") {
        remove(&mut new["status"], "loadBalancer");
    }
}

fn external(service: &Value) -> bool {
    match text(service, "/spec/type") {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => !items(service, "/spec/externalIPs").is_empty(),
        _ => false,
    }
}

fn headless(service: &Value) -> bool {
    items(service, "/spec/clusterIPs").first().is_some_and(|ip| ip == "None")
}

fn validate(service: &Value, _old: Option<&Value>) -> Vec<FieldError> {
    let spec = &service["spec"];
    let kind = text(spec, "/type");
    let mut errors = Vec::new();
    let ports = items(spec, "/ports");
    if ports.is_empty() && !headless(service) && kind != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless(service) => {
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid("spec.clusterIPs[0]", "None", detail));
        }
        "ExternalName" => errors.extend(external_name(spec)),
        _ => {}
    }
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        errors.extend(service_port(port, ports.len() > 1, &mut names, &format!("spec.ports[{index}]")));
    }
    errors.extend(metadata::labels(&spec["selector"], "spec.selector"));
    let affinity = text(spec, "/sessionAffinity");
    if !matches!(affinity, "ClientIP" | "None") {
        errors.push(FieldError::not_supported("spec.sessionAffinity", affinity, &["ClientIP", "None"]));
    }
    let timeout = at(spec, "/sessionAffinityConfig/clientIP/timeoutSeconds").as_i64();
    if let (Some(seconds), "ClientIP") = (timeout, affinity)
        && !(1..=86400).contains(&seconds)
    {
        let path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
        errors.push(FieldError::invalid(path, seconds, "must be greater than 0 and less than 86400"));
    }
    errors.extend(cluster_ip_fields(service));
    for (index, ip) in items(spec, "/externalIPs").iter().filter_map(Value::as_str).enumerate() {
        let path = format!("spec.externalIPs[{index}]");
        let wrong = legacy_ip(ip, &path);
        errors.extend(if wrong.is_empty() { endpoint_ip(ip, &path) } else { wrong });
    }
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported("spec.type", kind, &kinds));
    }
    errors.extend(port_numbers(ports, kind));
    if !items(spec, "/loadBalancerSourceRanges").is_empty() && kind != "LoadBalancer" {
        let detail = "may only be used when `type` is 'LoadBalancer'";
        errors.push(FieldError::forbidden("spec.LoadBalancerSourceRanges", detail));
    }
    if !spec["allocateLoadBalancerNodePorts"].is_null() && kind != "LoadBalancer" {
        let detail = "may only be used when `type` is 'LoadBalancer'";
        errors.push(FieldError::forbidden("spec.allocateLoadBalancerNodePorts", detail));
    }
    errors.extend(balancer_class(service, None));
    errors.extend(traffic(service));
    errors
}

fn external_name(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !spec[field].is_null() {
            errors.push(FieldError::forbidden(format!("spec.{field}"), "may not be set for ExternalName services"));
        }
    }
    let host = text(spec, "/externalName").strip_suffix('.').unwrap_or(text(spec, "/externalName"));
    if host.is_empty() {
        errors.push(FieldError::required("spec.externalName", ""));
    } else {
        errors.extend(name_errors(name::dns1123_subdomain(host), "spec.externalName", host));
    }
    errors
}

fn service_port(port: &Value, named: bool, names: &mut BTreeSet<String>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let own = text(port, "/name");
    if own.is_empty() {
        if named {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
    } else {
        errors.extend(name_errors(name::dns1123_label(own), &format!("{path}.name"), own));
        if !names.insert(own.to_string()) {
            errors.push(FieldError::duplicate(format!("{path}.name"), own));
        }
    }
    let number = int(port, "/port");
    errors
        .extend(name::port_number(number).into_iter().map(|m| FieldError::invalid(format!("{path}.port"), number, m)));
    let protocol = text(port, "/protocol");
    if !matches!(protocol, "TCP" | "UDP" | "SCTP") {
        errors.push(FieldError::not_supported(format!("{path}.protocol"), protocol, &["SCTP", "TCP", "UDP"]));
    }
    errors.extend(port_or_name(&port["targetPort"], &format!("{path}.targetPort")));
    if let Some(protocol) = port["appProtocol"].as_str() {
        errors.extend(name_errors(name::qualified_name(protocol), &format!("{path}.appProtocol"), protocol));
    }
    errors
}

fn port_numbers(ports: &[Value], kind: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let node = |p: &Value| int(p, "/nodePort");
    if kind == "ClusterIP" {
        for (index, _) in ports.iter().enumerate().filter(|(_, p)| node(p) != 0) {
            let detail = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(format!("spec.ports[{index}].nodePort"), detail));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate().filter(|(_, p)| node(p) != 0) {
        if !seen.insert((text(port, "/protocol"), node(port))) {
            errors.push(FieldError::duplicate(format!("spec.ports[{index}].nodePort"), node(port)));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let (protocol, number) = (text(port, "/protocol"), int(port, "/port"));
        if !seen.insert((protocol, number)) {
            // Go prints its internal type here, in the order of its fields.
            let detail = format!(
                "{{\"Name\":\"\",\"Protocol\":{protocol:?},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
            );
            let field = format!("spec.ports[{index}]");
            errors.push(FieldError { kind: FieldErrorKind::Duplicate, field, value: None, detail });
        }
    }
    errors
}

/// Checks that `clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` are consistent.
pub(super) fn cluster_ip_fields(service: &Value) -> Vec<FieldError> {
    let spec = &service["spec"];
    let mut errors = Vec::new();
    if text(spec, "/type") == "ExternalName" {
        return errors;
    }
    let (one, many) = (text(spec, "/clusterIP"), items(spec, "/clusterIPs"));
    match (one.is_empty(), many.first()) {
        (false, None) => errors.push(FieldError::required("spec.clusterIPs", "")),
        (false, Some(first)) if first != one => {
            let detail = "first value must match `clusterIP`";
            errors.push(FieldError::invalid("spec.clusterIPs", spec["clusterIPs"].clone(), detail));
        }
        (true, Some(_)) => {
            let detail = "must be empty when `clusterIP` is not specified";
            errors.push(FieldError::invalid("spec.clusterIPs", spec["clusterIPs"].clone(), detail));
        }
        _ => {}
    }
    for (index, family) in items(spec, "/ipFamilies").iter().filter_map(Value::as_str).enumerate() {
        let path = format!("spec.ipFamilies[{index}]");
        if !matches!(family, "IPv4" | "IPv6") {
            errors.push(FieldError::not_supported(path.clone(), family, &["IPv4", "IPv6"]));
        }
        if items(spec, "/ipFamilies")[..index].iter().any(|f| f == family) {
            errors.push(FieldError::duplicate(path, family));
        }
    }
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    if let Some(policy) = spec["ipFamilyPolicy"].as_str().filter(|p| !policies.contains(p)) {
        errors.push(FieldError::not_supported("spec.ipFamilyPolicy", policy, &policies));
    }
    let addresses: Vec<&str> = many.iter().filter_map(Value::as_str).collect();
    for (index, ip) in addresses.iter().enumerate() {
        if index == 0 && *ip == "None" {
            if addresses.len() > 1 {
                let detail = "'None' must be the first and only value";
                errors.push(FieldError::invalid("spec.clusterIPs", spec["clusterIPs"].clone(), detail));
            }
            continue;
        }
        errors.extend(legacy_ip(ip, &format!("spec.clusterIPs[{index}]")));
    }
    if addresses.len() > 2 {
        let detail = "may only hold up to 2 values";
        errors.push(FieldError::invalid("spec.clusterIPs", spec["clusterIPs"].clone(), detail));
    }
    errors
}

fn fixed_addresses(new: &Value, old: &Value) -> Vec<FieldError> {
    let outside = |v: &Value| text(v, "/spec/type") == "ExternalName";
    if outside(new) || outside(old) || (headless(new) && headless(old)) {
        return Vec::new();
    }
    let (is, was) = (items(new, "/spec/clusterIPs"), items(old, "/spec/clusterIPs"));
    let ips = at(new, "/spec/clusterIPs").clone();
    let pairs = was.iter().zip(is).enumerate().filter(|(_, (was, is))| was != is);
    pairs
        .map(|(i, _)| FieldError::invalid(format!("spec.clusterIPs[{i}]"), ips.clone(), "may not change once set"))
        .collect()
}

fn balancer_class(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let balanced = |v: &Value| text(v, "/spec/type") == "LoadBalancer";
    let class = at(new, "/spec/loadBalancerClass");
    let mut errors = Vec::new();
    if let Some(old) = old.filter(|o| balanced(o) && balanced(new))
        && at(old, "/spec/loadBalancerClass") != class
    {
        errors.push(FieldError::invalid("spec.loadBalancerClass", class.clone(), "may not change once set"));
    }
    match (class.as_str(), balanced(new)) {
        (Some(class), true) => errors.extend(name_errors(name::qualified_name(class), "spec.loadBalancerClass", class)),
        (Some(_), false) => {
            let detail = "may only be used when `type` is 'LoadBalancer'";
            errors.push(FieldError::forbidden("spec.loadBalancerClass", detail));
        }
        _ => {}
    }
    errors
}

fn traffic(service: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let policy = text(service, "/spec/externalTrafficPolicy");
    let path = "spec.externalTrafficPolicy";
    match (external(service), policy) {
        (false, "") | (true, "Cluster" | "Local") => {}
        (false, _) => {
            errors.push(FieldError::invalid(path, policy, "may only be set for externally-accessible services"));
        }
        (true, "") => errors.push(FieldError::required(path, "")),
        (true, _) => errors.push(FieldError::not_supported(path, policy, &["Cluster", "Local"])),
    }
    let check = int(service, "/spec/healthCheckNodePort");
    if check != 0 && !wants_health_check(service) {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(FieldError::invalid("spec.healthCheckNodePort", check, detail));
    }
    let inside = text(service, "/spec/internalTrafficPolicy");
    if !matches!(inside, "" | "Cluster" | "Local") {
        errors.push(FieldError::not_supported("spec.internalTrafficPolicy", inside, &["Cluster", "Local"]));
    }
    errors
}

fn warnings(new: &Value, _old: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    let external_ips = !items(new, "/spec/externalIPs").is_empty();
    let outside = text(new, "/spec/type") == "ExternalName";
    if headless(new) {
        if !text(new, "/spec/loadBalancerIP").is_empty() {
            warnings.push("spec.loadBalancerIP is ignored for headless services".to_string());
        }
        if external_ips {
            warnings.push("spec.externalIPs is ignored for headless services".to_string());
        }
        if text(new, "/spec/sessionAffinity") != "None" {
            warnings.push("spec.SessionAffinity is ignored for headless services".to_string());
        }
    }
    if external_ips && !headless(new) && !outside {
        warnings.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_string());
    }
    if outside && external_ips {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_string());
    }
    if !outside && !text(new, "/spec/externalName").is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_string());
    }
    warnings
}
