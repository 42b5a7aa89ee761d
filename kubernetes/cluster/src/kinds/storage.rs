//! Validation of volumes and claims.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;
use switchboard_object::quantity::Quantity;

use super::checks::{at, items, selector, text};
use crate::metadata::{IMMUTABLE, NameRule};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// Validates a PersistentVolume.
pub(super) fn volume(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = access_modes(spec, "", "spec");
    let capacity = spec["capacity"].as_object().filter(|c| !c.is_empty());
    if capacity.is_none() {
        errors.push(FieldError::required("spec.capacity", ""));
    }
    if capacity.is_none_or(|c| c.len() > 1 || !c.contains_key("storage")) {
        errors.push(FieldError::not_supported("spec.capacity", spec["capacity"].clone(), &["storage"]));
    }
    for (resource, quantity) in capacity.into_iter().flatten() {
        errors.extend(positive(quantity, &format!("spec.capacity[{resource}]")));
    }
    let policy = text(spec, "/persistentVolumeReclaimPolicy");
    let policies = ["Delete", "Recycle", "Retain"];
    if !policy.is_empty() && !policies.contains(&policy) {
        errors.push(FieldError::not_supported("spec.persistentVolumeReclaimPolicy", policy, &policies));
    }
    errors.extend(sources(spec));
    if let ("Recycle", "/") = (policy, text(spec, "/hostPath/path")) {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        errors.push(FieldError::forbidden("spec.persistentVolumeReclaimPolicy", detail));
    }
    errors.extend(class_name(text(spec, "/storageClassName"), "spec.storageClassName"));
    errors.extend(volume_mode(spec, "spec"));
    errors
}

fn sources(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = false;
    for source in SOURCES.into_iter().filter(|s| spec[*s].is_object()) {
        if seen && source != "flexVolume" {
            errors.push(FieldError::forbidden(format!("spec.{source}"), "may not specify more than 1 volume type"));
            continue;
        }
        seen = true;
        let need = |field: &str, errors: &mut Vec<FieldError>| {
            if text(&spec[source], &format!("/{field}")).is_empty() {
                errors.push(FieldError::required(format!("spec.{source}.{field}"), ""));
            }
        };
        match source {
            "hostPath" | "local" => need("path", &mut errors),
            "nfs" => {
                need("server", &mut errors);
                need("path", &mut errors);
            }
            "csi" => {
                need("driver", &mut errors);
                need("volumeHandle", &mut errors);
            }
            _ => {}
        }
        if source == "local" && at(spec, "/nodeAffinity/required").is_null() {
            errors.push(FieldError::required("spec.nodeAffinity", "Local volume requires node affinity"));
        }
    }
    if !seen {
        errors.push(FieldError::required("spec", "must specify a volume type"));
    }
    errors
}

/// Validates an update of a PersistentVolume.
pub(super) fn volume_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = volume(new);
    let source = |v: &Value| SOURCES.map(|s| v["spec"][s].clone());
    if source(new) != source(old) {
        let detail = super::internal::with_diff(
            "spec.persistentvolumesource is immutable after creation",
            "core.PersistentVolumeSource",
            &old["spec"],
            &new["spec"],
        );
        errors.push(FieldError::forbidden("spec.persistentvolumesource", detail));
    }
    errors.extend(fixed_mode(new, old));
    errors
}

fn fixed_mode(new: &Value, old: &Value) -> Option<FieldError> {
    let mode = |v: &Value| v["spec"]["volumeMode"].clone();
    (mode(new) != mode(old)).then(|| FieldError::invalid("volumeMode", mode(new), IMMUTABLE))
}

/// Validates a PersistentVolumeClaim.
pub(super) fn claim(object: &Value) -> Vec<FieldError> {
    claim_spec(&object["spec"], "spec")
}

/// Validates the spec of a claim, also in a template.
pub(super) fn claim_spec(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = access_modes(spec, "at least 1 access mode is required", path);
    let selector = selector(&spec["selector"], &format!("{path}.selector"));
    let late = errors.split_off(usize::from(items(spec, "/accessModes").is_empty()));
    errors.extend(selector);
    errors.extend(late);
    let storage = &spec["resources"]["requests"]["storage"];
    if storage.is_null() {
        errors.push(FieldError::required(format!("{path}.resources[storage]"), ""));
    } else {
        errors.extend(positive(storage, &format!("{path}.resources[storage]")));
    }
    errors.extend(class_name(text(spec, "/storageClassName"), &format!("{path}.storageClassName")));
    errors.extend(volume_mode(spec, path));
    errors
}

/// Validates an update of a claim: only the size of a bound claim may grow.
pub(super) fn claim_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = crate::metadata::validate(&new["metadata"], true, NameRule::Subdomain, "metadata");
    errors.extend(claim(new));
    let (mut is, mut was) = (new["spec"].clone(), old["spec"].clone());
    for field in ["volumeName", "storageClassName"] {
        if was.get(field).is_none_or(Value::is_null) && is.get(field).is_some_and(|v| !v.is_null()) {
            was[field] = is[field].clone();
        }
    }
    if text(new, "/status/phase") == "Bound" {
        is["resources"]["requests"]["storage"] = was["resources"]["requests"]["storage"].clone();
        for spec in [&mut is, &mut was] {
            spec.as_object_mut().map(|s| s.remove("volumeAttributesClassName"));
        }
    }
    if is != was {
        let detail = super::internal::with_diff(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
            "core.PersistentVolumeClaimSpec",
            &was,
            &is,
        );
        errors.push(FieldError::forbidden("spec", detail));
    }
    let size = |v: &Value, at: &str| v.pointer(at).and_then(|q| Quantity::from_value(q).ok());
    let requests = "/spec/resources/requests/storage";
    if let (Some(is), Some(was)) = (size(new, requests), size(old, requests)) {
        let capacity = size(old, "/status/capacity/storage").unwrap_or(Quantity::from_integer(0));
        if is < was && is <= capacity {
            let detail = "field can not be less than status.capacity";
            errors.push(FieldError::forbidden("spec.resources.requests.storage", detail));
        }
    }
    errors.extend(fixed_mode(new, old));
    errors
}

fn access_modes(spec: &Value, none: &str, path: &str) -> Vec<FieldError> {
    let modes: Vec<&str> = items(spec, "/accessModes").iter().filter_map(Value::as_str).collect();
    let mut errors = Vec::new();
    if modes.is_empty() {
        errors.push(FieldError::required(format!("{path}.accessModes"), none));
    }
    for mode in modes.iter().filter(|m| !ACCESS_MODES.contains(m)) {
        errors.push(FieldError::not_supported(format!("{path}.accessModes"), *mode, &ACCESS_MODES));
    }
    let once = modes.contains(&"ReadWriteOncePod");
    if once && modes.iter().any(|m| *m != "ReadWriteOncePod" && ACCESS_MODES.contains(m)) {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(format!("{path}.accessModes"), detail));
    }
    errors
}

fn positive(quantity: &Value, path: &str) -> Option<FieldError> {
    let parsed = Quantity::from_value(quantity).ok()?;
    (parsed.sign() <= 0).then(|| FieldError::invalid(path, parsed.to_string(), "must be greater than zero"))
}

fn class_name(class: &str, path: &str) -> Vec<FieldError> {
    if class.is_empty() {
        return Vec::new();
    }
    name::dns1123_subdomain(class).into_iter().map(|m| FieldError::invalid(path, class, m)).collect()
}

fn volume_mode(spec: &Value, path: &str) -> Option<FieldError> {
    let mode = text(spec, "/volumeMode");
    let odd = !mode.is_empty() && !matches!(mode, "Block" | "Filesystem");
    odd.then(|| FieldError::not_supported(format!("{path}.volumeMode"), mode, &["Block", "Filesystem"]))
}
