//! Endpoints.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::super::builtin::KindRules;
use super::super::checks::{endpoint_ip, int, legacy_ip, name_errors};
use super::{items, text};

pub(super) const ENDPOINTS: KindRules = KindRules { validate: endpoints, whole: true, ..KindRules::NONE };

fn endpoints(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, subset) in items(object, "/subsets").iter().enumerate() {
        let path = format!("subsets[{index}]");
        let (ready, unready) = (items(subset, "/addresses"), items(subset, "/notReadyAddresses"));
        if ready.is_empty() && unready.is_empty() {
            errors.push(FieldError::required(path.clone(), "must specify `addresses` or `notReadyAddresses`"));
        }
        for (field, addresses) in [("addresses", ready), ("notReadyAddresses", unready)] {
            for (i, address) in addresses.iter().enumerate() {
                errors.extend(endpoint_address(address, &format!("{path}.{field}[{i}]")));
            }
        }
        let ports = items(subset, "/ports");
        for (i, port) in ports.iter().enumerate() {
            errors.extend(endpoint_port(port, ports.len() > 1, &format!("{path}.ports[{i}]")));
        }
    }
    errors
}

fn endpoint_address(address: &Value, path: &str) -> Vec<FieldError> {
    let ip = text(address, "/ip");
    let mut errors = legacy_ip(ip, &format!("{path}.ip"));
    let host = text(address, "/hostname");
    if !host.is_empty() {
        errors.extend(name_errors(name::dns1123_label(host), &format!("{path}.hostname"), host));
    }
    if let Some(node) = address["nodeName"].as_str() {
        errors.extend(name_errors(name::dns1123_subdomain(node), &format!("{path}.nodeName"), node));
    }
    errors.extend(endpoint_ip(ip, &format!("{path}.ip")));
    errors
}

fn endpoint_port(port: &Value, named: bool, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let own = text(port, "/name");
    if named && own.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    } else if !own.is_empty() {
        errors.extend(name_errors(name::dns1123_label(own), &format!("{path}.name"), own));
    }
    let number = int(port, "/port");
    errors
        .extend(name::port_number(number).into_iter().map(|m| FieldError::invalid(format!("{path}.port"), number, m)));
    let protocol = text(port, "/protocol");
    if !matches!(protocol, "TCP" | "UDP" | "SCTP") {
        errors.push(FieldError::not_supported(format!("{path}.protocol"), protocol, &["SCTP", "TCP", "UDP"]));
    }
    errors
}
