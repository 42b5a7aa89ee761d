//! Secrets without what is secret in them.

use serde_json::Value;

/// What stands for a secret value: `redacted` in base64, as `data` wants it.
const REDACTED: &str = "cmVkYWN0ZWQ=";
/// Where kubectl keeps what was applied, values included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Takes the values out of a Secret and leaves its keys; anything else stays as it is.
pub fn redact(object: &mut Value) {
    if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
        return;
    }
    if let Some(data) = object.get_mut("data").and_then(Value::as_object_mut) {
        data.values_mut().for_each(|value| *value = REDACTED.into());
    }
    if let Some(data) = object.get_mut("stringData").and_then(Value::as_object_mut) {
        data.values_mut().for_each(|value| *value = "redacted".into());
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
}
