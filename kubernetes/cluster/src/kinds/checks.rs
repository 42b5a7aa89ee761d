//! Checks shared by many kinds.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use crate::metadata;

/// Returns the text of a field, or an empty text.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

/// Returns the items of a list, or none.
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns a field, or null.
pub(super) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// Returns the number of a field, or zero.
pub(super) fn int(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// Checks that a number is `must be greater than or equal to 0`.
pub(super) fn nonnegative(value: &Value, path: impl Into<String>) -> Option<FieldError> {
    let number = value.as_i64()?;
    (number < 0).then(|| FieldError::invalid(path, number, "must be greater than or equal to 0"))
}

/// Converts the messages of a name check to errors.
pub(super) fn name_errors(messages: Vec<String>, path: &str, value: &str) -> Vec<FieldError> {
    messages.into_iter().map(|m| FieldError::invalid(path, value, m)).collect()
}

/// Validates a label selector. Null selects nothing and is valid here.
pub(super) fn selector(selector: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = metadata::labels(&selector["matchLabels"], &format!("{path}.matchLabels"));
    for (index, requirement) in items(selector, "/matchExpressions").iter().enumerate() {
        errors.extend(self::requirement(requirement, &format!("{path}.matchExpressions[{index}]")));
    }
    errors
}

fn requirement(requirement: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let values = items(requirement, "/values");
    match text(requirement, "/operator") {
        "In" | "NotIn" => {
            if values.is_empty() {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(format!("{path}.values"), detail));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(format!("{path}.values"), detail));
            }
        }
        other => {
            errors.push(FieldError::invalid(format!("{path}.operator"), other, "not a valid selector operator"));
        }
    }
    errors.extend(metadata::label_name(text(requirement, "/key"), &format!("{path}.key")));
    for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
        errors.extend(name_errors(name::label_value(value), &format!("{path}.values[{index}]"), value));
    }
    errors
}

/// Whether a label selector exists and selects everything.
pub(super) fn is_empty_selector(selector: &Value) -> bool {
    items(selector, "/matchExpressions").is_empty()
        && selector["matchLabels"].as_object().is_none_or(serde_json::Map::is_empty)
}

/// Whether `labels` match a label selector.
pub(super) fn matches(selector: &Value, labels: &Value) -> bool {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let pairs = selector["matchLabels"].as_object().into_iter().flatten();
    pairs.into_iter().all(|(k, v)| label(k).is_some() && label(k) == v.as_str())
        && items(selector, "/matchExpressions").iter().all(|r| {
            let found = label(text(r, "/key"));
            let listed = items(r, "/values").iter().any(|v| found.is_some() && v.as_str() == found);
            match text(r, "/operator") {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}

/// Validates a non-negative number, or a percentage.
pub(super) fn nonnegative_int_or_percent(value: &Value, path: &str) -> Vec<FieldError> {
    match value {
        Value::String(text) => name_errors(name::percent(text), path, text),
        Value::Number(_) => nonnegative(value, path).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Validates a percentage of at most 100.
pub(super) fn at_most_hundred_percent(value: &Value, path: &str) -> Option<FieldError> {
    let text = value.as_str()?;
    let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
    (percent > 100).then(|| FieldError::invalid(path, text, "must not be greater than 100%"))
}

/// Validates a port by number or by name.
pub(super) fn port_or_name(port: &Value, path: &str) -> Vec<FieldError> {
    match port {
        Value::String(text) => name_errors(name::port_name(text), path, text),
        _ => {
            let number = port.as_i64().unwrap_or(0);
            name::port_number(number).into_iter().map(|m| FieldError::invalid(path, number, m)).collect()
        }
    }
}

/// Validates an address to which traffic can be sent.
pub(super) fn endpoint_ip(text: &str, path: &str) -> Vec<FieldError> {
    use std::net::IpAddr;
    let Ok(ip) = text.parse::<IpAddr>() else {
        return vec![FieldError::invalid(path, text, "must be a valid IP address")];
    };
    let link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    let multicast = match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    };
    let unspecified = format!("may not be unspecified ({text})");
    let wrong = [
        (ip.is_unspecified(), unspecified.as_str()),
        (ip.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ];
    wrong.into_iter().filter(|(is, _)| *is).map(|(_, why)| FieldError::invalid(path, text, why)).collect()
}

/// Validates an IP address with the leniency of older fields.
pub(super) fn legacy_ip(ip: &str, path: &str) -> Vec<FieldError> {
    if ip.parse::<std::net::IpAddr>().is_ok() {
        return Vec::new();
    }
    vec![FieldError::invalid(path, ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
}

/// Parses a CIDR: the first address and the prefix length.
pub(super) fn cidr(text: &str) -> Option<(std::net::IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let (address, length): (std::net::IpAddr, u8) = (address.parse().ok()?, length.parse().ok()?);
    (length <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, length))
}
