//! Comparison of objects with the expectations of a case.

use serde_json::Value;

/// Returns the difference, if any.
///
/// `absent` and `present` refer to the whole object. Fields that begin with an upper-case letter are conditions: `True
/// Reason: words of the message`, or `absent`. Fields that begin with `=` must match completely, others only in the
/// named parts; null means that the field does not exist.
pub fn difference(wanted: &Value, object: Option<&Value>) -> Option<String> {
    let object = match (wanted.as_str(), object) {
        (Some("absent"), Some(_)) => return Some("is there".to_string()),
        (Some("absent"), None) => return None,
        (_, None) => return Some("is not there".to_string()),
        (Some("present"), Some(_)) => return None,
        (_, Some(object)) => object,
    };
    for (field, wanted) in wanted.as_object().into_iter().flatten() {
        let problem = match field.strip_prefix('=') {
            Some(field) => {
                let given = object.get(field).cloned().unwrap_or_default();
                (given != *wanted).then(|| format!("{field} is {given}"))
            }
            None if field.starts_with(|c: char| c.is_ascii_uppercase()) => condition(field, wanted, object),
            None => partial_difference(wanted, object.get(field)).map(|problem| format!("{field}{problem}")),
        };
        if problem.is_some() {
            return problem;
        }
    }
    None
}

fn condition(kind: &str, wanted: &Value, object: &Value) -> Option<String> {
    let wanted = match wanted {
        Value::Bool(true) => "True".to_string(),
        Value::Bool(false) => "False".to_string(),
        other => other.as_str().unwrap_or_default().to_string(),
    };
    let all = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = all.and_then(|all| all.iter().find(|one| one["type"] == kind));
    if wanted == "absent" {
        return found.map(|found| format!("{kind} is {found}"));
    }
    let Some(found) = found else { return Some(format!("{kind} is no condition of {}", object["status"])) };
    let (head, message) = wanted.split_once(": ").unwrap_or((&wanted, ""));
    let (status, reason) = head.split_once(' ').unwrap_or((head, ""));
    let text = |field: &str| found[field].as_str().unwrap_or_default();
    let holds = text("status") == status
        && (reason.is_empty() || text("reason") == reason)
        && text("message").contains(message);
    (!holds).then(|| format!("{kind} is {} {}: {}", text("status"), text("reason"), text("message")))
}

/// Returns the first difference between a value and the expected parts, if any.
pub fn partial_difference(wanted: &Value, given: Option<&Value>) -> Option<String> {
    match (wanted, given) {
        (Value::Null, None | Some(Value::Null)) => None,
        (Value::Null, Some(given)) => Some(format!(" is {given}")),
        (_, None) => Some(" is not there".to_string()),
        (Value::Object(fields), Some(given)) => fields.iter().find_map(|(field, wanted)| {
            partial_difference(wanted, given.get(field)).map(|problem| format!(".{field}{problem}"))
        }),
        (Value::Array(items), Some(Value::Array(given))) if items.len() == given.len() => {
            let pairs = items.iter().zip(given).enumerate();
            pairs
                .into_iter()
                .find_map(|(at, (wanted, given))| Some(format!("[{at}]{}", partial_difference(wanted, Some(given))?)))
        }
        (wanted, Some(given)) => (wanted != given).then(|| format!(" is {given}, not {wanted}")),
    }
}
