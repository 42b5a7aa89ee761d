//! Validation of infrastructure kinds: signing requests, drivers, flow control, addresses, PodTemplates and
//! ControllerRevisions.

use std::net::IpAddr;

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::checks::{cidr, int, items, name_errors, text};
use super::{internal, podspec};
use crate::metadata::{IMMUTABLE, too_long};

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];
const MAX_DRIVER_BYTES: usize = 63;

/// Validates a CertificateSigningRequest. (Only the PEM frame of the request itself is validated.)
pub(super) fn signing_request(object: &Value) -> Vec<FieldError> {
    use base64::Engine;
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let request = text(spec, "/request");
    let pem = base64::engine::general_purpose::STANDARD.decode(request).unwrap_or_default();
    if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE REQUEST-----") {
        let shown: Value = if request.is_empty() { Value::Null } else { request.into() };
        errors.push(FieldError::invalid("spec.request", shown, "PEM block type must be CERTIFICATE REQUEST"));
    }
    let usages: Vec<&str> = items(spec, "/usages").iter().filter_map(Value::as_str).collect();
    if usages.is_empty() {
        errors.push(FieldError::required("spec.usages", ""));
    }
    for (index, usage) in usages.iter().enumerate().filter(|(_, u)| !USAGES.contains(u)) {
        errors.push(FieldError::not_supported(format!("spec.usages[{index}]"), *usage, &USAGES));
    }
    for (index, usage) in usages.iter().enumerate().filter(|(i, u)| usages[..*i].contains(u)) {
        errors.push(FieldError::duplicate(format!("spec.usages[{index}]"), *usage));
    }
    errors.extend(signer(text(spec, "/signerName")));
    if let Some(seconds) = spec["expirationSeconds"].as_i64().filter(|s| *s < 600) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(FieldError::invalid("spec.expirationSeconds", seconds, detail));
    }
    errors
}

fn signer(own: &str) -> Vec<FieldError> {
    let path = "spec.signerName";
    if own == "kubernetes.io/legacy-unknown" {
        let detail = "the legacy signerName is not allowed via this API version";
        return vec![FieldError::invalid(path, own, detail)];
    }
    if own.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let Some((domain, _)) = own.split_once('/') else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return vec![FieldError::invalid(path, own, detail)];
    };
    let mut errors = name_errors(name::dns1123_subdomain(domain), path, own);
    if domain.split('.').count() < 2 {
        errors.push(FieldError::invalid(path, own, "should be a domain with at least two segments separated by dots"));
    }
    errors
}

/// Validates the name of a CSI driver.
fn driver(own: &str, path: &str) -> Vec<FieldError> {
    if own.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut errors = Vec::new();
    if own.len() > MAX_DRIVER_BYTES {
        errors.push(too_long(path, MAX_DRIVER_BYTES));
    }
    errors.extend(name_errors(name::dns1123_subdomain(&own.to_lowercase()), path, &own.to_lowercase()));
    errors
}

/// Validates a VolumeAttachment.
pub(super) fn attachment(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = driver(text(spec, "/attacher"), "spec.attacher");
    let (inline, named) = (spec["source"]["inlineVolumeSpec"].is_object(), text(spec, "/source/persistentVolumeName"));
    match (inline, named.is_empty()) {
        (false, true) => {
            let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
            errors.push(FieldError::required("spec.source", detail));
        }
        (true, false) => {
            let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
            errors.push(FieldError::forbidden("spec.source", detail));
        }
        _ => {}
    }
    let node = text(spec, "/nodeName");
    errors.extend(name_errors(name::dns1123_subdomain(node), "spec.nodeName", node));
    errors
}

/// Validates a CSIDriver.
pub(super) fn csi_driver(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = driver(text(object, "/metadata/name"), "metadata.name");
    let policy = text(spec, "/fsGroupPolicy");
    let known = ["File", "None", "ReadWriteOnceWithFSType"];
    if !policy.is_empty() && !known.contains(&policy) {
        errors.push(FieldError::not_supported("spec.fsGroupPolicy", policy, &known));
    }
    for mode in items(spec, "/volumeLifecycleModes").iter().filter_map(Value::as_str) {
        if !matches!(mode, "Persistent" | "Ephemeral") {
            let known = ["Persistent", "Ephemeral"];
            errors.push(FieldError::not_supported("spec.volumeLifecycleModes", mode, &known));
        }
    }
    errors
}

/// Validates an update of a CSIDriver.
pub(super) fn csi_driver_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = csi_driver(new);
    for (field, shown) in [("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")] {
        if new["spec"][field] != old["spec"][field] {
            errors.push(FieldError::invalid(format!("spec.{shown}"), new["spec"][field].clone(), IMMUTABLE));
        }
    }
    errors
}

/// Validates a FlowSchema.
pub(super) fn flow_schema(object: &Value) -> Vec<FieldError> {
    const HIGHEST: i64 = 10000;
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let (precedence, path) = (int(spec, "/matchingPrecedence"), "spec.matchingPrecedence");
    if precedence <= 0 {
        errors.push(FieldError::invalid(path, precedence, "must be a positive value"));
    }
    if precedence > HIGHEST {
        errors.push(FieldError::invalid(path, precedence, format!("must not be greater than {HIGHEST}")));
    }
    if precedence == 1 && text(object, "/metadata/name") != "exempt" {
        let detail = "only the schema named 'exempt' may have matchingPrecedence 1";
        errors.push(FieldError::invalid(path, precedence, detail));
    }
    let level = text(spec, "/priorityLevelConfiguration/name");
    let path = "spec.priorityLevelConfiguration.name";
    if level.is_empty() {
        errors.push(FieldError::required(path, "must reference a priority level"));
    } else {
        errors.extend(name_errors(name::dns1123_subdomain(level), path, level));
    }
    errors
}

/// Validates a PriorityLevelConfiguration.
pub(super) fn priority_level(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let kind = text(spec, "/type");
    if (text(object, "/metadata/name") == "exempt") != (kind == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.push(FieldError::invalid("spec.type", kind, detail));
    }
    match kind {
        "Exempt" if spec["limited"].is_object() => {
            errors.push(FieldError::forbidden("spec.limited", "must be nil if the type is not Limited"));
        }
        "Exempt" => {}
        "Limited" => {
            if spec["exempt"].is_object() {
                errors.push(FieldError::forbidden("spec.exempt", "must be nil if the type is Limited"));
            }
            if !spec["limited"].is_object() {
                errors.push(FieldError::required("spec.limited", "must not be empty when type is Limited"));
            }
        }
        other => errors.push(FieldError::not_supported("spec.type", other, &["Exempt", "Limited"])),
    }
    errors
}

/// Validates an IPAddress.
pub(super) fn ip_address(object: &Value) -> Vec<FieldError> {
    let own = text(object, "/metadata/name");
    let mut errors = Vec::new();
    if own.parse::<IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.push(FieldError::invalid("metadata.name", own, detail));
    }
    let parent = &object["spec"]["parentRef"];
    if !parent.is_object() {
        errors.push(FieldError::required("spec.parentRef", ""));
        return errors;
    }
    for field in ["resource", "name"] {
        let value = text(parent, &format!("/{field}"));
        let path = format!("spec.parentRef.{field}");
        if value.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else {
            errors.extend(name_errors(name::path_segment(value), &path, value));
        }
    }
    errors
}

/// Validates an update of an IPAddress, whose parent must not change.
pub(super) fn ip_address_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let parent = |v: &Value| v["spec"]["parentRef"].clone();
    let changed = parent(new) != parent(old);
    changed.then(|| FieldError::invalid("spec.parentRef", parent(new), IMMUTABLE)).into_iter().collect()
}

/// Validates a ServiceCIDR.
pub(super) fn service_cidr(object: &Value) -> Vec<FieldError> {
    let (path, ranges) = ("spec.cidrs", items(object, "/spec/cidrs"));
    if ranges.is_empty() {
        return vec![FieldError::required(path, "at least one CIDR required")];
    }
    if ranges.len() > 2 {
        let spec = &object["spec"];
        return vec![internal::invalid(path, "networking.ServiceCIDRSpec", spec, "may only hold up to 2 values")];
    }
    let mut errors = Vec::new();
    for (index, range) in ranges.iter().filter_map(Value::as_str).enumerate() {
        if cidr(range).is_none() {
            let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            errors.push(FieldError::invalid(format!("{path}[{index}]"), range, detail));
        }
    }
    errors
}

/// Validates an update of a ServiceCIDR: ranges may be added, not changed.
pub(super) fn service_cidr_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (is, was) = (items(new, "/spec/cidrs"), items(old, "/spec/cidrs"));
    let pairs = was.iter().zip(is).enumerate().filter(|(_, (was, is))| was != is);
    pairs.map(|(i, (_, is))| FieldError::invalid(format!("spec.cidrs[{i}]"), is.clone(), IMMUTABLE)).collect()
}

/// Validates a PodTemplate.
pub(super) fn pod_template(object: &Value) -> Vec<FieldError> {
    podspec::template(&object["template"], "template")
}

/// Validates a ControllerRevision.
pub(super) fn controller_revision(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if int(object, "/revision") < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid("revision", int(object, "/revision"), detail));
    }
    if object["data"].is_null() {
        errors.push(FieldError::required("data", "data is mandatory"));
    }
    errors
}
