//! Single values: what is accepted, within which bounds, and what is said of the rest.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use switchboard_object::name;
use switchboard_object::quantity::Quantity;

use super::duration;
use super::report::Problem;
use super::section::value_shown;
use crate::operator::ServiceAccount;

/// What a reader of one value answers.
pub(super) type Outcome<T> = Result<T, Problem>;

fn wanted(what: &str, value: &Value) -> Problem {
    Problem::new(format!("must be {what}, not {}", value_shown(value)))
}

/// True or false.
pub(super) fn truth(value: &Value) -> Outcome<bool> {
    value.as_bool().ok_or_else(|| wanted("true or false", value))
}

/// A text that is not empty.
pub(super) fn text(value: &Value) -> Outcome<String> {
    match value {
        Value::String(text) if text.is_empty() => Err(Problem::new("must not be empty")),
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => {
            Err(wanted("text", value).hint(format!("put it in quotes, if it is meant so: \"{value}\"")))
        }
        _ => Err(wanted("text", value)),
    }
}

/// A whole number.
pub(super) fn count(value: &Value, bounds: RangeInclusive<u32>) -> Outcome<u32> {
    let whole = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let number = whole.ok_or_else(|| {
        let problem = wanted("a whole number", value);
        let quoted = value.as_str().is_some_and(|text| text.parse::<u32>().is_ok());
        if quoted { problem.hint("leave out the quotes") } else { problem }
    })?;
    let bounded = u32::try_from(number).ok().filter(|count| bounds.contains(count));
    bounded.ok_or_else(|| outside(number, bounds.start(), bounds.end()))
}

/// A duration.
pub(super) fn span(value: &Value, bounds: RangeInclusive<Duration>) -> Outcome<Duration> {
    let read = match value {
        Value::String(text) => duration::parse(text),
        Value::Number(number) => duration::parse(&number.to_string()),
        other => Err(wanted("a duration", other).hint("write it as `200ms`, `1.5s`, `10m` or `168h`")),
    }?;
    let (low, high) = (duration::shown(*bounds.start()), duration::shown(*bounds.end()));
    if bounds.contains(&read) { Ok(read) } else { Err(outside(value_shown(value), low, high)) }
}

/// A number of bytes.
pub(super) fn bytes(value: &Value, bounds: RangeInclusive<u64>) -> Outcome<u64> {
    let hint = "write it as `64Mi`, `1Gi` or a number of bytes";
    if !matches!(value, Value::String(_) | Value::Number(_)) {
        return Err(wanted("a number of bytes", value).hint(hint));
    }
    let quantity = Quantity::from_value(value).map_err(|_| {
        let unit = value.as_str().and_then(slip_of_unit);
        wanted("a number of bytes", value).hint(unit.map_or(hint.to_string(), |unit| format!("did you mean `{unit}`?")))
    })?;
    let whole = quantity.as_integer();
    if whole.is_none() && quantity.sign() > 0 && quantity.value() < i64::MAX {
        let problem = wanted("a whole number of bytes", value);
        let milli = value.as_str().is_some_and(|text| text.ends_with('m'));
        return Err(if milli {
            problem.hint("`m` is a thousandth; `Mi` is what memory is counted in")
        } else {
            problem
        });
    }
    let (low, high) = (size(*bounds.start()), size(*bounds.end()));
    let bounded = whole.and_then(|whole| u64::try_from(whole).ok()).filter(|bytes| bounds.contains(bytes));
    bounded.ok_or_else(|| outside(value_shown(value), low, high))
}

// `1GB`, `1gb`, `1GiB` and `1gi` are what people write for `1Gi`.
fn slip_of_unit(text: &str) -> Option<String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = text[number.len()..].trim().to_ascii_lowercase();
    let unit = match unit.trim_end_matches('b') {
        "k" | "ki" => "Ki",
        "m" | "mi" => "Mi",
        "g" | "gi" => "Gi",
        "t" | "ti" => "Ti",
        _ => return None,
    };
    let meant = format!("{number}{unit}");
    Quantity::parse(&meant).is_ok().then_some(meant)
}

/// Bytes as they would be written.
pub(super) fn size(bytes: u64) -> String {
    let units = [(1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
    let whole = units.iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    whole.map_or(bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}

fn outside(found: impl ToString, low: impl ToString, high: impl ToString) -> Problem {
    let (found, low, high) = (found.to_string(), low.to_string(), high.to_string());
    Problem::new(format!("must be from {low} to {high}, not {found}"))
}

/// Where to listen; `off` is nowhere.
pub(super) fn listen(value: &Value) -> Outcome<Option<SocketAddr>> {
    let refused = |hint: String| Err(wanted("an address with a port", value).hint(hint));
    match value {
        Value::Bool(false) => Ok(None),
        Value::Number(port) if port.as_u64().is_some_and(|port| port <= u64::from(u16::MAX)) => {
            refused(format!("for this machine alone write `127.0.0.1:{port}`"))
        }
        Value::String(text) if text == "off" => Ok(None),
        Value::String(text) => match (text.parse(), text.rsplit_once(':')) {
            (Ok(address), _) => Ok(Some(address)),
            (_, Some(("" | "localhost", port))) if port.parse::<u16>().is_ok() => {
                refused(format!("for this machine alone write `127.0.0.1:{port}`"))
            }
            (_, None) if text.parse::<std::net::IpAddr>().is_ok() => {
                refused("add a port: `127.0.0.1:9090`".to_string())
            }
            _ => refused("write it as `127.0.0.1:9090` or `\"[::1]:9090\"`; names are not looked up".to_string()),
        },
        _ => refused("write it as `127.0.0.1:9090`, or `off`".to_string()),
    }
}

/// The path of a file; a relative one counts from `folder`.
pub(super) fn path(value: &Value, folder: Option<&std::path::Path>) -> Outcome<PathBuf> {
    let text = text(value)?;
    if text.starts_with('~') {
        return Err(Problem::new("`~` is not expanded here").hint("write the path from the root, or from this file"));
    }
    Ok(folder.map_or_else(|| PathBuf::from(&text), |folder| folder.join(&text)))
}

/// `namespace/name`.
pub(super) fn service_account(value: &Value) -> Outcome<ServiceAccount> {
    let text = text(value)?;
    let hint = "write it as `namespace/name`";
    let Some((namespace, name)) = text.split_once('/') else {
        return Err(wanted("a namespace and a name", value).hint(hint));
    };
    if !name::dns1123_label(namespace).is_empty() || !name::dns1123_subdomain(name).is_empty() {
        return Err(wanted("the names of a namespace and a service account", value).hint(hint));
    }
    Ok(ServiceAccount { namespace: namespace.to_string(), name: name.to_string() })
}
