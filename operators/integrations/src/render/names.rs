//! Validation of names that the API server would reject.

use serde_json::Value;
use switchboard_object::name;

/// Maximum length of a CronJob's name: its Jobs append eleven characters.
const MAX_CRON_JOB: usize = 52;
/// Maximum length of a StatefulSet's name: a label of its pods appends eleven characters.
const MAX_STATEFUL_SET: usize = 52;

/// Checks the names of an object. `all` includes checks that qontract-reconcile does not make.
///
/// # Errors
/// If a name is invalid, with a message for the author of the data.
pub fn check_names(object: &Value, all: bool) -> Result<(), String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    if kind.is_empty() || name.is_empty() {
        return Err("the chart rendered an object without kind or name".to_string());
    }
    if let Some(why) = name::dns1123_subdomain(name).first() {
        return Err(format!("{kind} {name:?} has an invalid name: {why}"));
    }
    let most = match kind {
        "CronJob" if all => MAX_CRON_JOB,
        "StatefulSet" if all => MAX_STATEFUL_SET,
        _ => return if all { labels(object, kind, name) } else { Ok(()) },
    };
    if name.len() > most {
        return Err(format!(
            "{kind} {name:?} has an invalid name: it has {} characters, but at most {most} are allowed",
            name.len()
        ));
    }
    labels(object, kind, name)
}

fn labels(object: &Value, kind: &str, name: &str) -> Result<(), String> {
    for pointer in ["/metadata/labels", "/spec/template/metadata/labels"] {
        let labels = object.pointer(pointer).and_then(Value::as_object);
        for (label, value) in labels.into_iter().flatten() {
            let Some(value) = value.as_str() else {
                return Err(format!("{kind} {name:?} has a label {label} that is not a text"));
            };
            if let Some(why) = name::label_value(value).first() {
                return Err(format!("{kind} {name:?} has an invalid label {label}={value}: {why}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(kind: &str, length: usize) -> Value {
        json!({"kind": kind, "metadata": {"name": "a".repeat(length), "labels": {"app": "x"}}})
    }

    /// Spec 8.2, 7.
    #[test]
    fn names_too_long_for_their_kind_are_rejected() {
        assert!(check_names(&named("CronJob", 52), true).is_ok());
        assert!(check_names(&named("CronJob", 53), true).is_err());
        assert!(check_names(&named("CronJob", 53), false).is_ok());
        assert!(check_names(&named("StatefulSet", 53), true).is_err());
        assert!(check_names(&named("Deployment", 253), true).is_ok());
        assert!(check_names(&named("Deployment", 254), false).is_err());
        assert!(check_names(&json!({"kind": "Deployment", "metadata": {"name": "A"}}), false).is_err());
        let labelled = json!({"kind": "Deployment", "metadata": {"name": "a", "labels": {"app": "a".repeat(64)}}});
        assert!(check_names(&labelled, true).is_err());
        assert!(check_names(&json!({"kind": "Deployment"}), true).is_err());
    }
}
