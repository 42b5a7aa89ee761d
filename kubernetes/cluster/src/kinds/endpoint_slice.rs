//! Validation of EndpointSlices.

use std::net::IpAddr;

use serde_json::Value;
use switchboard_object::field::{FieldError, FieldErrorKind};
use switchboard_object::name;

use super::checks::{endpoint_ip, items, legacy_ip, name_errors, text};
use crate::metadata::IMMUTABLE;

/// Largest numbers of endpoints and ports of a slice.
const MAX_ENDPOINTS: usize = 1000;
const MAX_ENDPOINT_PORTS: usize = 20000;

/// Validates an EndpointSlice.
pub(super) fn endpoint_slice(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = text(object, "/addressType");
    if kind.is_empty() {
        errors.push(FieldError::required("addressType", ""));
    } else if !matches!(kind, "IPv4" | "IPv6" | "FQDN") {
        errors.push(FieldError::not_supported("addressType", kind, &["FQDN", "IPv4", "IPv6"]));
    }
    errors.extend(slice_ports(items(object, "/ports")));
    let endpoints = items(object, "/endpoints");
    if endpoints.len() > MAX_ENDPOINTS {
        errors.push(too_many("endpoints", endpoints.len(), MAX_ENDPOINTS));
        return errors;
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = format!("endpoints[{index}]");
        let addresses = items(endpoint, "/addresses");
        if addresses.is_empty() {
            errors.push(FieldError::required(format!("{path}.addresses"), "must contain at least 1 address"));
        }
        for (i, address) in addresses.iter().filter_map(Value::as_str).enumerate() {
            errors.extend(slice_address(address, kind, &format!("{path}.addresses"), i));
        }
        if let Some(node) = endpoint["nodeName"].as_str() {
            errors.extend(name_errors(name::dns1123_subdomain(node), &format!("{path}.nodeName"), node));
        }
        if let Some(host) = endpoint["hostname"].as_str() {
            errors.extend(name_errors(name::dns1123_label(host), &format!("{path}.hostname"), host));
        }
    }
    errors
}

fn too_many(path: &str, found: usize, limit: usize) -> FieldError {
    let detail = format!("must have at most {limit} items");
    FieldError { kind: FieldErrorKind::TooMany, field: path.into(), value: Some(found.into()), detail }
}

fn slice_address(address: &str, kind: &str, path: &str, index: usize) -> Vec<FieldError> {
    let at = format!("{path}[{index}]");
    if !matches!(kind, "IPv4" | "IPv6") {
        return Vec::new();
    }
    let Ok(ip) = address.parse::<IpAddr>() else { return legacy_ip(address, &at) };
    let mut errors = Vec::new();
    if ip.is_ipv4() != (kind == "IPv4") {
        errors.push(FieldError::invalid(path, address, format!("must be an {kind} address")));
    }
    errors.extend(endpoint_ip(address, &at));
    errors
}

fn slice_ports(ports: &[Value]) -> Vec<FieldError> {
    if ports.len() > MAX_ENDPOINT_PORTS {
        return vec![too_many("ports", ports.len(), MAX_ENDPOINT_PORTS)];
    }
    let mut errors = Vec::new();
    let mut names = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let path = format!("ports[{index}]");
        let own = text(port, "/name");
        if !own.is_empty() {
            errors.extend(name_errors(name::dns1123_label(own), &format!("{path}.name"), own));
        }
        if names.contains(&own) {
            errors.push(FieldError::duplicate(format!("{path}.name"), own));
        }
        names.push(own);
        let protocol = text(port, "/protocol");
        if !matches!(protocol, "TCP" | "UDP" | "SCTP") {
            errors.push(FieldError::not_supported(format!("{path}.protocol"), protocol, &["SCTP", "TCP", "UDP"]));
        }
        if let Some(protocol) = port["appProtocol"].as_str() {
            errors.extend(name_errors(name::qualified_name(protocol), &format!("{path}.appProtocol"), protocol));
        }
    }
    errors
}

/// Validates an update of an EndpointSlice.
pub(super) fn endpoint_slice_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = endpoint_slice(new);
    if new["addressType"] != old["addressType"] {
        errors.push(FieldError::invalid("addressType", new["addressType"].clone(), IMMUTABLE));
    }
    errors
}
