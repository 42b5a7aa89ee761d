//! Environment variables and their sources.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::super::checks::{name_errors, text};

const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Validates `env`.
pub(super) fn variables(variables: &[Value], path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, variable) in variables.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let own = text(variable, "/name");
        if own.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else {
            errors.extend(name_errors(relaxed_name(own), &format!("{path}.name"), own));
        }
        if variable["valueFrom"].is_object() {
            errors.extend(value_from(variable, &format!("{path}.valueFrom")));
        }
    }
    errors
}

/// Validates a name of printable ASCII without `=`.
fn relaxed_name(own: &str) -> Vec<String> {
    let fine = own.chars().all(|c| matches!(c, ' '..='~') && c != '=');
    let words = "a valid environment variable name must consist only of printable ASCII characters other than '='";
    if fine { Vec::new() } else { vec![words.to_string()] }
}

fn value_from(variable: &Value, path: &str) -> Vec<FieldError> {
    let from = &variable["valueFrom"];
    let mut errors = Vec::new();
    let mut sources = 0;
    for source in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"] {
        if !from[source].is_object() {
            continue;
        }
        sources += 1;
        let path = format!("{path}.{source}");
        match source {
            "fieldRef" => errors.extend(field(&from[source], &FIELDS, &path)),
            "resourceFieldRef" => errors.extend(resource(&from[source], &path, false)),
            "fileKeyRef" => {}
            _ => errors.extend(key(&from[source], &path)),
        }
    }
    if sources == 0 {
        let detail =
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        errors.push(FieldError::invalid(path, "", detail));
    } else if !text(variable, "/value").is_empty() {
        errors.push(FieldError::invalid(path, "", "may not be specified when `value` is not empty"));
    } else if sources > 1 {
        errors.push(FieldError::invalid(path, "", "may not have more than one field specified at a time"));
    }
    errors
}

/// Validates a reference to a field of the pod.
pub(super) fn field(reference: &Value, known: &[&str], path: &str) -> Vec<FieldError> {
    let field = text(reference, "/fieldPath");
    if field.is_empty() {
        return vec![FieldError::required(format!("{path}.fieldPath"), "")];
    }
    if let Some((map, key)) = field.strip_suffix("']").and_then(|f| f.split_once("['")) {
        return match map {
            "metadata.annotations" => name_errors(name::qualified_name(&key.to_lowercase()), path, &key.to_lowercase()),
            "metadata.labels" => name_errors(name::qualified_name(key), path, key),
            _ => {
                let detail = format!("error converting fieldPath: field label does not support subscript: {field}");
                vec![FieldError::invalid(format!("{path}.fieldPath"), field, detail)]
            }
        };
    }
    let convertible = FIELDS.contains(&field)
        || matches!(
            field,
            "metadata.annotations" | "metadata.labels" | "spec.restartPolicy" | "spec.schedulerName" | "status.phase"
        );
    if !convertible {
        let detail = format!("error converting fieldPath: field label not supported: {field}");
        return vec![FieldError::invalid(format!("{path}.fieldPath"), field, detail)];
    }
    if known.contains(&field) {
        return Vec::new();
    }
    vec![FieldError::not_supported(format!("{path}.fieldPath"), field, known)]
}

/// Validates a reference to a resource of a container.
pub(super) fn resource(reference: &Value, path: &str, volume: bool) -> Vec<FieldError> {
    let resource = text(reference, "/resource");
    if volume && text(reference, "/containerName").is_empty() {
        return vec![FieldError::required(format!("{path}.containerName"), "")];
    }
    if resource.is_empty() {
        return vec![FieldError::required(format!("{path}.resource"), "")];
    }
    let huge = ["limits.hugepages-", "requests.hugepages-"].iter().any(|p| resource.starts_with(p));
    if RESOURCES.contains(&resource) || huge {
        return Vec::new();
    }
    vec![FieldError::not_supported(format!("{path}.resource"), resource, &RESOURCES)]
}

fn key(reference: &Value, path: &str) -> Vec<FieldError> {
    let (own, key) = (text(reference, "/name"), text(reference, "/key"));
    let mut errors = name_errors(name::dns1123_subdomain(own), &format!("{path}.name"), own);
    if key.is_empty() {
        errors.push(FieldError::required(format!("{path}.key"), ""));
    } else {
        errors.extend(name_errors(name::config_key(key), &format!("{path}.key"), key));
    }
    errors
}

/// Validates `envFrom`.
pub(super) fn sources(sources: &[Value], path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let at = format!("{path}[{index}]");
        let prefix = text(source, "/prefix");
        if !prefix.is_empty() {
            errors.extend(name_errors(relaxed_name(prefix), &format!("{at}.prefix"), prefix));
        }
        let given: Vec<&str> = ["configMapRef", "secretRef"].into_iter().filter(|s| source[*s].is_object()).collect();
        for reference in &given {
            let own = text(&source[*reference], "/name");
            errors.extend(name_errors(name::dns1123_subdomain(own), &format!("{at}.{reference}.name"), own));
        }
        match given.len() {
            0 => errors.push(FieldError::invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")),
            1 => {}
            _ => errors.push(FieldError::invalid(path, "", "may not have more than one field specified at a time")),
        }
    }
    errors
}
