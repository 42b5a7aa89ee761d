//! Requests and limits.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;
use switchboard_object::quantity::Quantity;

use super::super::checks::name_errors;

const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Resources that a quota or limit may name.
const KNOWN: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "storage",
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

/// Validates `resources` of a container.
pub(super) fn container(resources: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let limits = resources["limits"].as_object();
    for (resource, value) in limits.into_iter().flatten() {
        errors.extend(validate_resource(resource, value, &format!("{path}.limits[{resource}]")));
    }
    for (resource, value) in resources["requests"].as_object().into_iter().flatten() {
        errors.extend(validate_resource(resource, value, &format!("{path}.requests[{resource}]")));
        let limit = limits.and_then(|l| l.get(resource)).and_then(|q| Quantity::from_value(q).ok());
        let Ok(request) = Quantity::from_value(value) else { continue };
        match limit {
            Some(limit) if request != limit && !overcommit(resource) => {
                let detail = format!("must be equal to {resource} limit of {limit}");
                errors.push(FieldError::invalid(format!("{path}.requests"), request.to_string(), detail));
            }
            Some(limit) if request > limit => {
                let detail = format!("must be less than or equal to {resource} limit of {limit}");
                errors.push(FieldError::invalid(format!("{path}.requests"), request.to_string(), detail));
            }
            None if !overcommit(resource) => {
                let detail = "Limit must be set for non overcommitable resources";
                errors.push(FieldError::required(format!("{path}.limits"), detail));
            }
            _ => {}
        }
    }
    errors
}

/// Whether a resource can be overcommitted: native resources except huge pages.
fn overcommit(resource: &str) -> bool {
    (!resource.contains('/') || resource.contains("kubernetes.io/")) && !resource.starts_with("hugepages-")
}

/// Validates the name of a resource: qualified, or known to Kubernetes.
pub(in super::super) fn resource_name(resource: &str, path: &str) -> Vec<FieldError> {
    let wrong = name_errors(name::qualified_name(resource), path, resource);
    let known = resource.contains('/')
        || KNOWN.contains(&resource)
        || resource.starts_with("hugepages-")
        || resource.starts_with("requests.hugepages-");
    if wrong.is_empty() && !known {
        return vec![FieldError::invalid(path, resource, "must be a standard resource type or fully qualified")];
    }
    wrong
}

fn validate_resource(resource: &str, value: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = resource_name(resource, path);
    if !resource.contains('/') {
        if !STANDARD.contains(&resource) && !resource.starts_with("hugepages-") {
            errors.push(FieldError::invalid(path, resource, "must be a standard resource for containers"));
        }
    } else if !resource.contains("kubernetes.io/") && resource.starts_with("requests.") {
        errors.push(FieldError::invalid(path, resource, "doesn't follow extended resource name standard"));
    }
    let Ok(quantity) = Quantity::from_value(value) else { return errors };
    if quantity.sign() < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path, quantity.to_string(), detail));
    }
    let extended = resource.contains('/') && !resource.contains("kubernetes.io/");
    if extended && quantity.milli_value() % 1000 != 0 {
        errors.push(FieldError::invalid(path, quantity.to_string(), "must be an integer"));
    }
    errors
}
