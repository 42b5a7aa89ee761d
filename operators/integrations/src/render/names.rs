//! What the API server would refuse, said before it is asked.

use serde_json::Value;
use switchboard_object::name;

/// A CronJob's name, which gets eleven letters more in its Jobs.
const MAX_CRON_JOB: usize = 52;
/// A StatefulSet's name, which gets eleven letters more in a label of its pods.
const MAX_STATEFUL_SET: usize = 52;

/// What is wrong with an object's names. `all` also looks at what the original does not.
///
/// # Errors
/// In words for who wrote the data.
pub fn check(object: &Value, all: bool) -> Result<(), String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    if kind.is_empty() || name.is_empty() {
        return Err("the chart made an object without kind or name".to_string());
    }
    if let Some(why) = name::dns1123_subdomain(name).first() {
        return Err(format!("{kind} {name:?} cannot have this name: {why}"));
    }
    let most = match kind {
        "CronJob" if all => MAX_CRON_JOB,
        "StatefulSet" if all => MAX_STATEFUL_SET,
        _ => return if all { labels(object, kind, name) } else { Ok(()) },
    };
    if name.len() > most {
        return Err(format!("{kind} {name:?} cannot have this name: it has {} letters, and {most} fit", name.len()));
    }
    labels(object, kind, name)
}

fn labels(object: &Value, kind: &str, name: &str) -> Result<(), String> {
    for pointer in ["/metadata/labels", "/spec/template/metadata/labels"] {
        let labels = object.pointer(pointer).and_then(Value::as_object);
        for (label, value) in labels.into_iter().flatten() {
            let Some(value) = value.as_str() else {
                return Err(format!("{kind} {name:?} has a label {label} that is no text"));
            };
            if let Some(why) = name::label_value(value).first() {
                return Err(format!("{kind} {name:?} cannot have the label {label}={value}: {why}"));
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
    fn names_too_long_for_their_kind_are_refused_before_the_server_does() {
        assert!(check(&named("CronJob", 52), true).is_ok());
        assert!(check(&named("CronJob", 53), true).is_err());
        assert!(check(&named("CronJob", 53), false).is_ok());
        assert!(check(&named("StatefulSet", 53), true).is_err());
        assert!(check(&named("Deployment", 253), true).is_ok());
        assert!(check(&named("Deployment", 254), false).is_err());
        assert!(check(&json!({"kind": "Deployment", "metadata": {"name": "A"}}), false).is_err());
        let labelled = json!({"kind": "Deployment", "metadata": {"name": "a", "labels": {"app": "a".repeat(64)}}});
        assert!(check(&labelled, true).is_err());
        assert!(check(&json!({"kind": "Deployment"}), true).is_err());
    }
}
