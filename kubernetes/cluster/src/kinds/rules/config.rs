//! ConfigMaps, Secrets and ServiceAccounts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_object::field::{FieldError, FieldErrorKind};

use super::super::builtin::KindRules;
use super::{at, text};
use crate::metadata::{IMMUTABLE, too_long};

/// Largest size of a ConfigMap or Secret, all values together.
const MAX_DATA_BYTES: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";

pub(super) const CONFIG_MAP: KindRules = KindRules {
    validate: validate_config_map,
    validate_update: |new, old| immutable_fields(new, old, &["data", "binaryData"]),
    whole: true,
    ..KindRules::NONE
};

pub(super) const SECRET: KindRules = KindRules {
    update: |new, old, _| {
        if text(new, "/type").is_empty() {
            new["type"] = old["type"].clone();
        }
        Ok(())
    },
    validate: validate_secret,
    validate_update: |new, old| {
        let mut errors = Vec::new();
        if new["type"] != old["type"] {
            errors.push(FieldError::invalid("type", new["type"].clone(), IMMUTABLE));
        }
        errors.extend(immutable_fields(new, old, &["data"]));
        errors
    },
    whole: true,
    warnings: secret_warnings,
    ..KindRules::NONE
};

pub(super) const SERVICE_ACCOUNT: KindRules = KindRules {
    create: |object, _| {
        clean_references(object);
        Ok(())
    },
    update: |new, _, _| {
        clean_references(new);
        Ok(())
    },
    whole: true,
    warnings: account_warnings,
    ..KindRules::NONE
};

fn account_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    const ENFORCE: &str = "/metadata/annotations/kubernetes.io~1enforce-mountable-secrets";
    let enforced = |v: &Value| text(v, ENFORCE) == "true";
    let mut warnings = Vec::new();
    if enforced(new) && !old.is_some_and(enforced) {
        warnings.push("metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets".to_string());
    }
    warnings
}

/// Drops everything except the names of referenced secrets.
fn clean_references(object: &mut Value) {
    for secret in object.get_mut("secrets").and_then(Value::as_array_mut).into_iter().flatten() {
        *secret = serde_json::json!({"name": secret["name"].clone()});
    }
}

/// Checks the fields that must not change once `immutable` is set.
fn immutable_fields(new: &Value, old: &Value, fields: &[&str]) -> Vec<FieldError> {
    if old["immutable"] != true {
        return Vec::new();
    }
    let mut errors = Vec::new();
    if new["immutable"] != true {
        errors.push(FieldError::forbidden("immutable", FROZEN));
    }
    for field in fields {
        if new[*field] != old[*field] {
            errors.push(FieldError::forbidden(*field, FROZEN));
        }
    }
    errors
}

fn validate_config_map(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    let binary = object["binaryData"].as_object();
    for (key, value) in object["data"].as_object().into_iter().flatten() {
        errors.extend(key_errors(key, &format!("data[{key}]")));
        if binary.is_some_and(|b| b.contains_key(key)) {
            errors.push(FieldError::invalid(
                format!("data[{key}]"),
                key.as_str(),
                "duplicate of key present in binaryData",
            ));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in binary.into_iter().flatten() {
        errors.extend(key_errors(key, &format!("binaryData[{key}]")));
        size += decoded(value).len();
    }
    if size > MAX_DATA_BYTES {
        errors.push(too_long("", MAX_DATA_BYTES));
    }
    errors
}

fn key_errors(key: &str, path: &str) -> Vec<FieldError> {
    switchboard_object::name::config_key(key).into_iter().map(|m| FieldError::invalid(path, key, m)).collect()
}

fn decoded(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or("")).unwrap_or_default()
}

fn validate_secret(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    let data = object["data"].as_object();
    for (key, value) in data.into_iter().flatten() {
        errors.extend(key_errors(key, &format!("data[{key}]")));
        size += decoded(value).len();
    }
    if size > MAX_DATA_BYTES {
        errors.push(too_long("data", MAX_DATA_BYTES));
    }
    let has = |key: &str| data.is_some_and(|d| d.contains_key(key));
    let require = |errors: &mut Vec<FieldError>, key: &str| {
        if !has(key) {
            errors.push(FieldError::required(format!("data[{key}]"), ""));
        }
    };
    match text(object, "/type") {
        "kubernetes.io/service-account-token" => {
            let account = text(object, "/metadata/annotations/kubernetes.io~1service-account.name");
            if account.is_empty() {
                let path = "metadata.annotations[kubernetes.io/service-account.name]";
                errors.push(FieldError::required(path, ""));
            }
        }
        "kubernetes.io/dockercfg" => json_key(object, ".dockercfg", &mut errors),
        "kubernetes.io/dockerconfigjson" => json_key(object, ".dockerconfigjson", &mut errors),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            errors.push(FieldError::required("data[username]", ""));
            errors.push(FieldError::required("data[password]", ""));
        }
        "kubernetes.io/ssh-auth" if decoded(at(object, "/data/ssh-privatekey")).is_empty() => {
            errors.push(FieldError::required("data[ssh-privatekey]", ""));
        }
        "kubernetes.io/tls" => {
            require(&mut errors, "tls.crt");
            require(&mut errors, "tls.key");
        }
        _ => {}
    }
    errors
}

/// Checks a required key with a JSON value. The value is secret, so the error does not show it.
fn json_key(object: &Value, key: &str, errors: &mut Vec<FieldError>) {
    let path = format!("data[{key}]");
    let Some(value) = object["data"].get(key) else {
        errors.push(FieldError::required(path, ""));
        return;
    };
    if let Err(error) = serde_json::from_slice::<Value>(&decoded(value)) {
        let detail = if error.is_eof() { "unexpected end of JSON input".to_string() } else { error.to_string() };
        let kind = FieldErrorKind::Invalid;
        errors.push(FieldError { kind, field: path, value: Some("<secret contents redacted>".into()), detail });
    }
}

/// Warns about a TLS secret whose certificate or key is not PEM. (Whether the two belong together is not checked.)
fn secret_warnings(new: &Value, _old: Option<&Value>) -> Vec<String> {
    if text(new, "/type") != "kubernetes.io/tls" {
        return Vec::new();
    }
    let is_pem = |key: &str| String::from_utf8_lossy(&decoded(at(new, key))).contains("-----BEGIN ");
    let missing = if !is_pem("/data/tls.crt") {
        "certificate"
    } else if !is_pem("/data/tls.key") {
        "key"
    } else {
        return Vec::new();
    };
    vec![format!("tls: failed to find any PEM data in {missing} input")]
}
