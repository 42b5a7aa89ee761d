//! Volumes.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;
use switchboard_object::quantity::Quantity;
use switchboard_object::quote::quote;

use super::super::checks::{items, name_errors, text};
use super::super::storage::claim_spec;
use super::{PodSpecContext, environment};

/// Sources in the order of their validation.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];
const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
const FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// Validates volumes and returns the names of the valid ones, which mounts may refer to.
pub(super) fn validate<'a>(
    volumes: &'a [Value],
    place: &PodSpecContext<'_>,
    errors: &mut Vec<FieldError>,
) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (index, volume) in volumes.iter().enumerate() {
        let path = format!("{}.volumes[{index}]", place.path);
        let own = text(volume, "/name");
        let mut wrong = source(volume, place, &path);
        if own.is_empty() {
            wrong.push(FieldError::required(format!("{path}.name"), ""));
        } else {
            wrong.extend(name_errors(name::dns1123_label(own), &format!("{path}.name"), own));
        }
        if names.contains(own) {
            wrong.push(FieldError::duplicate(format!("{path}.name"), own));
        }
        if wrong.is_empty() {
            names.insert(own);
        }
        errors.extend(wrong);
    }
    names
}

fn source(volume: &Value, place: &PodSpecContext<'_>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut first = true;
    for kind in SOURCES.into_iter().filter(|s| volume[*s].is_object()) {
        if !std::mem::take(&mut first) {
            // Two of kube-apiserver's paths are misspelled.
            let shown = match kind {
                "downwardAPI" => "downwarAPI",
                "cephfs" => "cephFS",
                other => other,
            };
            errors.push(FieldError::forbidden(format!("{path}.{shown}"), "may not specify more than 1 volume type"));
            continue;
        }
        errors.extend(validate_source(&volume[kind], kind, &format!("{path}.{kind}")));
        if let ("ephemeral", Some(pod)) = (kind, place.pod) {
            let own = text(volume, "/name");
            let claim = format!("{pod}-{own}");
            let wrong = name::dns1123_subdomain(&claim).into_iter().map(|m| format!("PVC name {}: {m}", quote(&claim)));
            errors.extend(name_errors(wrong.collect(), &format!("{path}.name"), own));
        }
    }
    if first {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
    errors
}

fn validate_source(source: &Value, kind: &str, path: &str) -> Vec<FieldError> {
    match kind {
        "emptyDir" => {
            let limit = Quantity::from_value(&source["sizeLimit"]).ok().filter(|q| q.sign() < 0);
            let detail = "SizeLimit field must be a valid resource quantity";
            limit.map(|_| FieldError::forbidden(format!("{path}.sizeLimit"), detail)).into_iter().collect()
        }
        "hostPath" => host_path(source, path),
        "secret" => keyed(source, "secretName", path),
        "configMap" => keyed(source, "name", path),
        "persistentVolumeClaim" => required(source, &["claimName"], path),
        "nfs" => nfs(source, path),
        "csi" => required(source, &["driver"], path),
        "projected" => projected(source, path),
        "downwardAPI" => {
            let mut errors = mode(&source["defaultMode"], format!("{path}.defaultMode"));
            errors.extend(files(source, path));
            errors
        }
        "ephemeral" => ephemeral(source, path),
        "gitRepo" => required(source, &["repository"], path),
        _ => Vec::new(),
    }
}

fn required(source: &Value, fields: &[&str], path: &str) -> Vec<FieldError> {
    let missing = fields.iter().filter(|f| text(source, &format!("/{f}")).is_empty());
    missing.map(|f| FieldError::required(format!("{path}.{f}"), "")).collect()
}

fn nfs(source: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = required(source, &["server", "path"], path);
    let mount = text(source, "/path");
    if !mount.is_empty() && !mount.starts_with('/') {
        errors.push(FieldError::invalid(format!("{path}.path"), mount, "must be an absolute path"));
    }
    errors
}

fn host_path(source: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = required(source, &["path"], path);
    if !errors.is_empty() {
        return errors;
    }
    errors.extend(no_backsteps(text(source, "/path"), &format!("{path}.path")));
    let known = ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    if let Some(kind) = source["type"].as_str().filter(|t| !known.contains(t)) {
        errors.push(FieldError::not_supported(format!("{path}.type"), kind, &known));
    }
    errors
}

fn keyed(source: &Value, field: &str, path: &str) -> Vec<FieldError> {
    let mut errors = required(source, &[field], path);
    errors.extend(mode(&source["defaultMode"], format!("{path}.defaultMode")));
    errors.extend(keys(source, path));
    errors
}

fn keys(source: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, item) in items(source, "/items").iter().enumerate() {
        let path = format!("{path}.items[{index}]");
        errors.extend(required(item, &["key", "path"], &path));
        errors.extend(local(text(item, "/path"), &format!("{path}.path")));
        errors.extend(mode(&item["mode"], format!("{path}.mode")));
    }
    errors
}

fn mode(value: &Value, path: String) -> Vec<FieldError> {
    let odd = value.as_i64().filter(|m| !(0..=0o777).contains(m));
    odd.map(|m| FieldError::invalid(path, m, MODE)).into_iter().collect()
}

fn files(source: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, item) in items(source, "/items").iter().enumerate() {
        let path = format!("{path}.items[{index}]");
        let file = text(item, "/path");
        if file.is_empty() {
            errors.push(FieldError::required(format!("{path}.path"), ""));
        }
        errors.extend(local(file, &format!("{path}.path")));
        match (item["fieldRef"].is_object(), item["resourceFieldRef"].is_object()) {
            (true, both) => {
                errors.extend(environment::field(&item["fieldRef"], &FIELDS, &format!("{path}.fieldRef")));
                if both {
                    let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                    errors.push(FieldError::invalid(path.clone(), "resource", detail));
                }
            }
            (false, true) => {
                let reference = &item["resourceFieldRef"];
                errors.extend(environment::resource(reference, &format!("{path}.resourceFieldRef"), true));
            }
            (false, false) => {
                let detail = "one of fieldRef and resourceFieldRef is required";
                errors.push(FieldError::required(format!("{path}.fieldRef"), detail));
            }
        }
        errors.extend(mode(&item["mode"], format!("{path}.mode")));
    }
    errors
}

fn projected(source: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = mode(&source["defaultMode"], format!("{path}.defaultMode"));
    for (index, projection) in items(source, "/sources").iter().enumerate() {
        let path = format!("{path}.sources[{index}]");
        let mut first = true;
        for kind in
            ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"]
        {
            let (one, path) = (&projection[kind], format!("{path}.{kind}"));
            if !one.is_object() {
                continue;
            }
            if !std::mem::take(&mut first) {
                errors.push(FieldError::forbidden(path, "may not specify more than 1 volume type"));
                continue;
            }
            match kind {
                "secret" | "configMap" => {
                    errors.extend(required(one, &["name"], &path));
                    errors.extend(keys(one, &path));
                }
                "downwardAPI" => errors.extend(files(one, &path)),
                "serviceAccountToken" => errors.extend(token(one, &path)),
                _ => {}
            }
        }
        if first {
            errors.push(FieldError::required(path, "must specify a volume type"));
        }
    }
    errors
}

fn token(source: &Value, path: &str) -> Vec<FieldError> {
    /// Ten minutes.
    const LEAST_SECONDS: i64 = 600;
    let mut errors = Vec::new();
    let seconds = source["expirationSeconds"].as_i64().unwrap_or(3600);
    if seconds < LEAST_SECONDS {
        let detail = "may not specify a duration less than 10 minutes";
        errors.push(FieldError::invalid(format!("{path}.expirationSeconds"), seconds, detail));
    }
    if seconds > 1 << 32 {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.push(FieldError::invalid(format!("{path}.expirationSeconds"), seconds, detail));
    }
    if text(source, "/path").is_empty() {
        errors.push(FieldError::required(format!("{path}.path"), ""));
    } else {
        errors.extend(local(text(source, "/path"), &format!("{path}.path")));
    }
    errors
}

fn ephemeral(source: &Value, path: &str) -> Vec<FieldError> {
    let template = &source["volumeClaimTemplate"];
    if !template.is_object() {
        return vec![FieldError::required(format!("{path}.volumeClaimTemplate"), "")];
    }
    claim_spec(&template["spec"], &format!("{path}.volumeClaimTemplate.spec"))
}

fn no_backsteps(target: &str, path: &str) -> Option<FieldError> {
    target.split('/').any(|part| part == "..").then(|| FieldError::invalid(path, target, "must not contain '..'"))
}

/// Validates a path below its mount point.
pub(super) fn descending(target: &str, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path, target, "must be a relative path"));
    }
    errors.extend(no_backsteps(target, path));
    errors
}

fn local(target: &str, path: &str) -> Vec<FieldError> {
    let mut errors = descending(target, path);
    if target.starts_with("..") && !target.starts_with("../") {
        errors.push(FieldError::invalid(path, target, "must not start with '..'"));
    }
    errors
}
