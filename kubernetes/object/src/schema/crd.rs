//! CustomResourceDefinitions: defaulting and validation.
//!
//! kube-apiserver keeps fields that all versions share at the top of its internal spec, and reports errors there: a
//! single version's schema is `spec.validation.openAPIV3Schema` in messages.

use super::crd_spec as whole;
use super::crd_versions as parts;
use super::embedded::{child, kind_error};
use super::structural::{flag, list, text};
use crate::Value;
use crate::field::FieldError;
use crate::name::{dns1035_label, dns1123_subdomain};
use crate::quote::quote;

/// Sets the defaults of `singular`, `listKind`, `conversion` and `status.storedVersions`.
pub fn default_crd(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    let kind = text(&spec["names"], "kind").to_string();
    if spec["names"].is_object() {
        if text(&spec["names"], "singular").is_empty() && !kind.is_empty() {
            spec["names"]["singular"] = Value::from(kind.to_lowercase());
        }
        if text(&spec["names"], "listKind").is_empty() && !kind.is_empty() {
            spec["names"]["listKind"] = Value::from(format!("{kind}List"));
        }
    }
    if spec["conversion"].is_null() {
        spec["conversion"] = serde_json::json!({"strategy": "None"});
    }
    let service = spec["conversion"].pointer_mut("/webhook/clientConfig/service");
    if let Some(service) = service.filter(|service| service.is_object() && service["port"].is_null()) {
        service["port"] = Value::from(443);
    }
    let storage = list(spec, "versions").iter().find(|version| flag(version, "storage")).map(|v| v["name"].clone());
    if let (true, Some(storage)) = (list(&crd["status"], "storedVersions").is_empty(), storage) {
        if !crd["status"].is_object() {
            crd["status"] = serde_json::json!({});
        }
        crd["status"]["storedVersions"] = Value::from(vec![storage]);
    }
}

/// Validates a new CRD, without its metadata, except that its name must consist of plural and group.
pub fn validate_crd(crd: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &crd["spec"];
    let wanted = format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group"));
    let name = text(&crd["metadata"], "name");
    if name != wanted {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", name, detail));
    }
    errors.extend(validate_spec(spec, None));
    errors.extend(whole::stored_versions(crd));
    errors.extend(whole::approval(crd, None));
    errors.extend(whole::preserve_unknown(spec, None));
    errors
}

/// Validates an update of a CRD, without its metadata.
pub fn validate_crd_update(crd: &Value, old: &Value) -> Vec<FieldError> {
    let (spec, old_spec) = (&crd["spec"], &old["spec"]);
    let mut errors = validate_spec(spec, Some(old_spec));
    let established = list(&old["status"], "conditions")
        .iter()
        .any(|condition| text(condition, "type") == "Established" && text(condition, "status") == "True");
    let mut immutable = |new: &Value, old: &Value, field: &str| {
        if new != old {
            errors.push(FieldError::invalid(field, new.clone(), "field is immutable"));
        }
    };
    if established {
        immutable(&spec["scope"], &old_spec["scope"], "spec.scope");
        immutable(&spec["names"]["kind"], &old_spec["names"]["kind"], "spec.names.kind");
    }
    immutable(&spec["group"], &old_spec["group"], "spec.group");
    immutable(&spec["names"]["plural"], &old_spec["names"]["plural"], "spec.names.plural");
    errors.extend(whole::stored_versions(crd));
    errors.extend(whole::approval(crd, Some(old)));
    errors.extend(whole::preserve_unknown(spec, Some(old_spec)));
    errors
}

/// Returns warnings about formats that no validation knows.
pub fn crd_warnings(crd: &Value) -> Vec<String> {
    let mut formats = Vec::new();
    for version in list(&crd["spec"], "versions") {
        parts::unknown_formats(&version["schema"]["openAPIV3Schema"], &mut formats);
    }
    formats.sort();
    formats.dedup();
    formats.into_iter().map(|format| format!("unrecognized format {}", quote(&format))).collect()
}

fn validate_spec(spec: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = group_and_scope(spec);
    let preserves = flag(spec, "preserveUnknownFields");
    let versions = list(spec, "versions");
    for (index, version) in versions.iter().enumerate() {
        if version["schema"]["openAPIV3Schema"].is_null() {
            let at = format!("spec.versions[{index}].schema.openAPIV3Schema");
            errors.push(FieldError::required(at, ""));
        }
    }
    if preserves && versions.iter().any(|v| parts::has_default(&v["schema"]["openAPIV3Schema"])) {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, detail));
    }
    let shared = parts::SharedSpec::of(versions);
    for (index, version) in versions.iter().enumerate() {
        let at = format!("spec.versions[{index}]");
        let wrong = dns1035_label(text(version, "name"));
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(child(&at, "name"), text(version, "name"), wrong.join(",")));
        }
        errors.extend(parts::version(version, &at, &shared, unchanged(version, old)));
    }
    errors.extend(parts::version_set(versions, spec["versions"].is_null(), &shared));
    errors.extend(names(&spec["names"]));
    if let Some(first) = versions.first() {
        errors.extend(parts::shared(first, versions, &shared, unchanged(first, old)));
    }
    let strategy = text(&spec["conversion"], "strategy");
    if !spec["conversion"].is_null() && strategy != "None" && preserves {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid("spec.conversion.strategy", strategy, detail));
    }
    errors.extend(whole::conversion(&spec["conversion"]));
    errors
}

/// Whether the version's schema equals the one accepted before.
fn unchanged(version: &Value, old: Option<&Value>) -> bool {
    let same_name = |v: &&Value| v["name"] == version["name"];
    old.and_then(|old| list(old, "versions").iter().find(same_name)).is_some_and(|v| v["schema"] == version["schema"])
}

fn group_and_scope(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let group = text(spec, "group");
    let wrong = dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.group", group, wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid("spec.group", group, "should be a domain with at least one dot"));
    }
    errors.extend(whole::one_of("spec.scope", text(spec, "scope"), &["Cluster", "Namespaced"]));
    errors
}

fn names(names: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for key in ["plural", "singular", "kind", "listKind"] {
        if text(names, key).is_empty() {
            errors.push(FieldError::required(format!("spec.names.{key}"), ""));
        }
    }
    for key in ["plural", "singular"] {
        let wrong = dns1035_label(text(names, key));
        if !text(names, key).is_empty() && !wrong.is_empty() {
            errors.push(FieldError::invalid(format!("spec.names.{key}"), text(names, key), wrong.join(",")));
        }
    }
    for key in ["kind", "listKind"] {
        if let Some(wrong) = kind_error(text(names, key)).filter(|_| !text(names, key).is_empty()) {
            errors.push(FieldError::invalid(format!("spec.names.{key}"), text(names, key), wrong));
        }
    }
    let mut labels = |key: &str| {
        for (index, name) in list(names, key).iter().enumerate() {
            let wrong = dns1035_label(name.as_str().unwrap_or(""));
            if !wrong.is_empty() {
                errors.push(FieldError::invalid(format!("spec.names.{key}[{index}]"), name.clone(), wrong.join(",")));
            }
        }
    };
    labels("shortNames");
    let kind = text(names, "kind");
    let same = !kind.is_empty() && kind == text(names, "listKind");
    labels("categories");
    if same {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid("spec.names.listKind", kind, detail));
    }
    errors
}
