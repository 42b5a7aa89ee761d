//! Probes and lifecycle hooks.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::super::checks::{int, items, name_errors, nonnegative, port_or_name, text};

/// Validates hooks and probes of a container, in kube-apiserver's order.
pub(super) fn validate_hooks_and_probes(container: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for hook in ["postStart", "preStop"] {
        let handler = &container["lifecycle"][hook];
        if handler.is_object() {
            errors.extend(self::handler(handler, &format!("{path}.lifecycle.{hook}")));
        }
    }
    for kind in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if container[kind].is_object() {
            errors.extend(probe(&container[kind], kind, &format!("{path}.{kind}")));
        }
    }
    errors
}

fn probe(probe: &Value, kind: &str, path: &str) -> Vec<FieldError> {
    let mut errors = handler(probe, path);
    for field in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] {
        errors.extend(nonnegative(&probe[field], format!("{path}.{field}")));
    }
    let grace = probe["terminationGracePeriodSeconds"].as_i64();
    if let Some(seconds) = grace.filter(|s| *s <= 0) {
        let path = format!("{path}.terminationGracePeriodSeconds");
        errors.push(FieldError::invalid(path, seconds, "must be greater than 0"));
    }
    if kind == "readinessProbe" {
        if let Some(seconds) = grace {
            let path = format!("{path}.terminationGracePeriodSeconds");
            errors.push(FieldError::invalid(path, seconds, "must not be set for readinessProbes"));
        }
    } else if int(probe, "/successThreshold") != 1 {
        let threshold = int(probe, "/successThreshold");
        errors.push(FieldError::invalid(format!("{path}.successThreshold"), threshold, "must be 1"));
    }
    errors
}

fn handler(handler: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let given = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"].into_iter().filter(|h| handler[*h].is_object());
    let mut first = true;
    for kind in given {
        let (action, path) = (&handler[kind], format!("{path}.{kind}"));
        if !std::mem::take(&mut first) {
            errors.push(FieldError::forbidden(path, "may not specify more than 1 handler type"));
            continue;
        }
        match kind {
            "exec" if items(action, "/command").is_empty() => {
                errors.push(FieldError::required(format!("{path}.command"), ""));
            }
            "httpGet" => errors.extend(http(action, &path)),
            "tcpSocket" | "grpc" => errors.extend(port_or_name(&action["port"], &format!("{path}.port"))),
            _ => {}
        }
    }
    if first {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
    errors
}

fn http(action: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = port_or_name(&action["port"], &format!("{path}.port"));
    let scheme = text(action, "/scheme");
    if !matches!(scheme, "HTTP" | "HTTPS") {
        errors.push(FieldError::not_supported(format!("{path}.scheme"), scheme, &["HTTP", "HTTPS"]));
    }
    for header in items(action, "/httpHeaders") {
        let own = text(header, "/name");
        errors.extend(name_errors(name::http_header_name(own), &format!("{path}.httpHeaders"), own));
    }
    errors
}
