//! Validation of single values, and their error messages.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use switchboard_object::name;
use switchboard_object::quantity::Quantity;

use super::duration;
use super::report::ConfigProblem;
use super::section::display_value;
use crate::operator::ServiceAccount;

/// Result of reading a value.
pub type ValueResult<T> = Result<T, ConfigProblem>;

fn type_mismatch(what: &str, value: &Value) -> ConfigProblem {
    ConfigProblem::new(format!("must be {what}, not {}", display_value(value)))
}

/// Reads a boolean.
pub fn boolean(value: &Value) -> ValueResult<bool> {
    value.as_bool().ok_or_else(|| type_mismatch("true or false", value))
}

/// Reads a non-empty text.
pub fn text(value: &Value) -> ValueResult<String> {
    match value {
        Value::String(text) if text.is_empty() => Err(ConfigProblem::new("must not be empty")),
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => {
            Err(type_mismatch("text", value).hint(format!("put it in quotes: \"{value}\"")))
        }
        _ => Err(type_mismatch("text", value)),
    }
}

/// Reads a whole number.
pub fn count(value: &Value, bounds: RangeInclusive<u32>) -> ValueResult<u32> {
    let whole = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let number = whole.ok_or_else(|| {
        let problem = type_mismatch("a whole number", value);
        let quoted = value.as_str().is_some_and(|text| text.parse::<u32>().is_ok());
        if quoted { problem.hint("remove the quotes") } else { problem }
    })?;
    let bounded = u32::try_from(number).ok().filter(|count| bounds.contains(count));
    bounded.ok_or_else(|| out_of_range(number, bounds.start(), bounds.end()))
}

/// Reads a duration.
pub fn span(value: &Value, bounds: RangeInclusive<Duration>) -> ValueResult<Duration> {
    let read = match value {
        Value::String(text) => duration::parse(text),
        Value::Number(number) => duration::parse(&number.to_string()),
        other => Err(type_mismatch("a duration", other).hint("write it as `200ms`, `1.5s`, `10m` or `168h`")),
    }?;
    let (low, high) = (duration::display(*bounds.start()), duration::display(*bounds.end()));
    if bounds.contains(&read) { Ok(read) } else { Err(out_of_range(display_value(value), low, high)) }
}

/// Reads a number of bytes.
pub fn bytes(value: &Value, bounds: RangeInclusive<u64>) -> ValueResult<u64> {
    let hint = "write it as `64Mi`, `1Gi` or a number of bytes";
    if !matches!(value, Value::String(_) | Value::Number(_)) {
        return Err(type_mismatch("a number of bytes", value).hint(hint));
    }
    let quantity = Quantity::from_value(value).map_err(|_| {
        let unit = value.as_str().and_then(suggest_unit);
        type_mismatch("a number of bytes", value)
            .hint(unit.map_or(hint.to_string(), |unit| format!("did you mean `{unit}`?")))
    })?;
    let whole = quantity.as_integer();
    if whole.is_none() && quantity.sign() > 0 && quantity.value() < i64::MAX {
        let problem = type_mismatch("a whole number of bytes", value);
        let milli = value.as_str().is_some_and(|text| text.ends_with('m'));
        return Err(if milli { problem.hint("`m` means thousandths; use `Mi` for memory") } else { problem });
    }
    let (low, high) = (size(*bounds.start()), size(*bounds.end()));
    let bounded = whole.and_then(|whole| u64::try_from(whole).ok()).filter(|bytes| bounds.contains(bytes));
    bounded.ok_or_else(|| out_of_range(display_value(value), low, high))
}

// Suggests `1Gi` for `1GB`, `1gb`, `1GiB` and `1gi`.
fn suggest_unit(text: &str) -> Option<String> {
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

/// Formats a number of bytes as it is written in the file.
pub fn size(bytes: u64) -> String {
    let units = [(1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
    let whole = units.iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    whole.map_or(bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}

fn out_of_range(found: impl ToString, low: impl ToString, high: impl ToString) -> ConfigProblem {
    let (found, low, high) = (found.to_string(), low.to_string(), high.to_string());
    ConfigProblem::new(format!("must be from {low} to {high}, not {found}"))
}

/// Reads a listen address; `off` is `None`.
pub fn listen(value: &Value) -> ValueResult<Option<SocketAddr>> {
    let refused = |hint: String| Err(type_mismatch("an address with a port", value).hint(hint));
    match value {
        Value::Bool(false) => Ok(None),
        Value::Number(port) if port.as_u64().is_some_and(|port| port <= u64::from(u16::MAX)) => {
            refused(format!("to listen on this machine only, write `127.0.0.1:{port}`"))
        }
        Value::String(text) if text == "off" => Ok(None),
        Value::String(text) => match (text.parse(), text.rsplit_once(':')) {
            (Ok(address), _) => Ok(Some(address)),
            (_, Some(("" | "localhost", port))) if port.parse::<u16>().is_ok() => {
                refused(format!("to listen on this machine only, write `127.0.0.1:{port}`"))
            }
            (_, None) if text.parse::<std::net::IpAddr>().is_ok() => {
                refused("add a port: `127.0.0.1:9090`".to_string())
            }
            _ => refused("write it as `127.0.0.1:9090` or `\"[::1]:9090\"`; host names are not resolved".to_string()),
        },
        _ => refused("write it as `127.0.0.1:9090`, or `off`".to_string()),
    }
}

/// Reads a file path, relative to `folder`.
pub fn path(value: &Value, folder: Option<&std::path::Path>) -> ValueResult<PathBuf> {
    let text = text(value)?;
    if text.starts_with('~') {
        return Err(
            ConfigProblem::new("`~` is not expanded").hint("use an absolute path, or one relative to this file")
        );
    }
    Ok(folder.map_or_else(|| PathBuf::from(&text), |folder| folder.join(&text)))
}

/// Reads a service account as `namespace/name`.
pub fn service_account(value: &Value) -> ValueResult<ServiceAccount> {
    let text = text(value)?;
    let hint = "write it as `namespace/name`";
    let Some((namespace, name)) = text.split_once('/') else {
        return Err(type_mismatch("a namespace and a name", value).hint(hint));
    };
    if !name::dns1123_label(namespace).is_empty() || !name::dns1123_subdomain(name).is_empty() {
        return Err(type_mismatch("the names of a namespace and a service account", value).hint(hint));
    }
    Ok(ServiceAccount { namespace: namespace.to_string(), name: name.to_string() })
}
