//! Functions of the standard library. The additions of Kubernetes are in `libraries`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::libraries;
use super::value::{CelKey, CelValue, EvalError, EvalResult, timestamp};
use crate::duration;

/// Whether a function is called through a namespace: `sets.contains(a, b)`.
pub(super) fn is_namespaced(space: &str, name: &str) -> bool {
    match space {
        "optional" => matches!(name, "of" | "none" | "ofNonZeroValue"),
        "sets" => matches!(name, "contains" | "equivalent" | "intersects"),
        "strings" => name == "quote",
        "lists" => name == "range",
        "ip" => name == "isCanonical",
        "format" => name == "named" || libraries::format::find_format(name).is_some(),
        _ => false,
    }
}

/// Returns the type that a name denotes.
pub(super) fn type_named(name: &str) -> Option<&'static str> {
    const NAMES: [&str; 14] = [
        "null_type",
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "type",
        "optional_type",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "net.IP",
    ];
    NAMES.into_iter().find(|known| *known == name)
}

/// Calls a function on evaluated arguments. The target of a method is the first argument.
pub(super) fn call<'a>(name: &str, arguments: &[CelValue<'a>], member: bool) -> EvalResult<'a> {
    match (name, arguments) {
        ("size", [value]) if value.size().is_some() => Ok(CelValue::Int(value.size().unwrap_or(0) as i64)),
        ("type", [value]) => Ok(CelValue::Type(Arc::from(value.type_name()))),
        ("dyn", [value]) => Ok(value.clone()),
        ("string" | "int" | "uint" | "double" | "bool" | "bytes" | "timestamp" | "duration", [value]) if !member => {
            converted(name, value)
        }
        ("contains", [CelValue::Text(a), CelValue::Text(b)]) => Ok(CelValue::Bool(a.contains(&**b))),
        ("startsWith", [CelValue::Text(a), CelValue::Text(b)]) => Ok(CelValue::Bool(a.starts_with(&**b))),
        ("endsWith", [CelValue::Text(a), CelValue::Text(b)]) => Ok(CelValue::Bool(a.ends_with(&**b))),
        ("matches", [CelValue::Text(text), CelValue::Text(pattern)]) => {
            let regex = crate::schema::pattern::compiled(pattern).map_err(EvalError::text)?;
            Ok(CelValue::Bool(regex.is_match(text)))
        }
        ("hasValue", [CelValue::Optional(inner)]) => Ok(CelValue::Bool(inner.is_some())),
        ("value", [CelValue::Optional(inner)]) => match inner {
            Some(inner) => Ok((**inner).clone()),
            None => Err(EvalError::text("optional.none() dereference")),
        },
        ("optional.of", [value]) => Ok(CelValue::some(value.clone())),
        ("optional.none", []) => Ok(CelValue::Optional(None)),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(if is_zero(value) { CelValue::Optional(None) } else { CelValue::some(value.clone()) })
        }
        ("@mapInsert", [map, rest @ ..]) => map_insert(map.clone(), rest),
        (name, [CelValue::Timestamp(at), rest @ ..]) if name.starts_with("get") => {
            libraries::time::part(name, *at, rest)
        }
        (name, [CelValue::Duration(d)]) if name.starts_with("get") => libraries::time::duration_part(name, *d),
        _ => libraries::call(name, arguments, member),
    }
}

/// Adds an entry, or all entries of a map, to a map. An existing key is an error.
pub(super) fn map_insert<'a>(map: CelValue<'a>, rest: &[CelValue<'a>]) -> EvalResult<'a> {
    let CelValue::Map(mut entries) = map else { return Err(EvalError::overload()) };
    let target: &mut BTreeMap<CelKey, CelValue<'a>> = Arc::make_mut(&mut entries);
    let mut add = |key: &CelValue<'a>, value: CelValue<'a>| {
        let inner = key.key().ok_or_else(|| EvalError::text("unsupported key type"))?;
        match target.insert(inner, value) {
            None => Ok(()),
            Some(_) => Err(EvalError::text(format!("insert failed: key {} already exists", display_text(key)))),
        }
    };
    match rest {
        [key, value] => add(key, value.clone())?,
        [other] => {
            for (key, value) in other.entries().ok_or_else(EvalError::overload)?? {
                add(&key, value)?;
            }
        }
        _ => return Err(EvalError::overload()),
    }
    Ok(CelValue::Map(entries))
}

fn is_zero(value: &CelValue<'_>) -> bool {
    match value {
        CelValue::Null => true,
        CelValue::Bool(b) => !b,
        CelValue::Int(n) => *n == 0,
        CelValue::Uint(n) => *n == 0,
        CelValue::Double(f) => *f == 0.0,
        CelValue::Duration(d) => *d == 0,
        other => other.size() == Some(0),
    }
}

/// Formats a value for error messages.
pub(super) fn display_text(value: &CelValue<'_>) -> String {
    match converted("string", value) {
        Ok(CelValue::Text(text)) => text.to_string(),
        _ => value.type_name().to_string(),
    }
}

fn converted<'a>(target: &str, value: &CelValue<'a>) -> EvalResult<'a> {
    let failed = || {
        let from = value.type_name();
        let target = match target {
            "timestamp" => "google.protobuf.Timestamp",
            "duration" => "google.protobuf.Duration",
            target => target,
        };
        EvalError::text(format!("type conversion error from '{from}' to '{target}'"))
    };
    match (target, value) {
        ("string", _) => text(value).ok_or_else(failed),
        ("int", _) => int(value, failed),
        ("uint", _) => uint(value, failed),
        ("double", CelValue::Double(_)) => Ok(value.clone()),
        ("double", CelValue::Int(n)) => Ok(CelValue::Double(*n as f64)),
        ("double", CelValue::Uint(n)) => Ok(CelValue::Double(*n as f64)),
        ("double", CelValue::Text(text)) => text.parse().map(CelValue::Double).map_err(|_| failed()),
        ("bool", CelValue::Bool(_)) => Ok(value.clone()),
        ("bool", CelValue::Text(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(CelValue::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(CelValue::Bool(false)),
            _ => Err(failed()),
        },
        ("bytes", CelValue::Bytes(_)) => Ok(value.clone()),
        ("bytes", CelValue::Text(text)) => Ok(CelValue::Bytes(Arc::from(text.as_bytes()))),
        ("timestamp", CelValue::Timestamp(_)) => Ok(value.clone()),
        ("timestamp", CelValue::Text(text)) => timestamp(text).map(CelValue::Timestamp).ok_or_else(failed),
        ("timestamp", CelValue::Int(seconds)) => Ok(CelValue::Timestamp(i128::from(*seconds) * 1_000_000_000)),
        ("duration", CelValue::Duration(_)) => Ok(value.clone()),
        ("duration", CelValue::Text(text)) => duration::parse(text).map(CelValue::Duration).map_err(|_| failed()),
        ("duration", CelValue::Int(n)) => Ok(CelValue::Duration(*n)),
        _ => Err(failed()),
    }
}

fn text<'a>(value: &CelValue<'a>) -> Option<CelValue<'a>> {
    Some(match value {
        CelValue::Text(_) => value.clone(),
        CelValue::Bool(b) => CelValue::text(b.to_string()),
        CelValue::Int(n) => CelValue::text(n.to_string()),
        CelValue::Uint(n) => CelValue::text(n.to_string()),
        CelValue::Double(f) => CelValue::text(libraries::strings::double(*f)),
        CelValue::Bytes(bytes) => CelValue::text(String::from_utf8(bytes.to_vec()).ok()?),
        CelValue::Duration(d) => CelValue::text(libraries::time::duration_text(*d)),
        CelValue::Timestamp(at) => CelValue::text(libraries::time::timestamp_text(*at)),
        CelValue::Ip(ip) => CelValue::text(ip.to_string()),
        CelValue::Cidr(cidr) => CelValue::text(cidr.to_string()),
        CelValue::Type(name) => CelValue::Text(super::value::CelText::Made(Arc::clone(name))),
        _ => return None,
    })
}

fn int<'a>(value: &CelValue<'a>, failed: impl Fn() -> EvalError) -> EvalResult<'a> {
    let overflow = || EvalError::text("integer overflow");
    match value {
        CelValue::Int(_) => Ok(value.clone()),
        CelValue::Uint(n) => i64::try_from(*n).map(CelValue::Int).map_err(|_| overflow()),
        CelValue::Double(f) if f.is_finite() && f.abs() < 9_223_372_036_854_775_807.0 => Ok(CelValue::Int(*f as i64)),
        CelValue::Double(_) => Err(overflow()),
        CelValue::Text(text) => text.parse().map(CelValue::Int).map_err(|_| failed()),
        CelValue::Timestamp(at) => Ok(CelValue::Int(i64::try_from(at.div_euclid(1_000_000_000)).unwrap_or(0))),
        CelValue::Duration(d) => Ok(CelValue::Int(*d)),
        _ => Err(failed()),
    }
}

fn uint<'a>(value: &CelValue<'a>, failed: impl Fn() -> EvalError) -> EvalResult<'a> {
    let overflow = || EvalError::text("unsigned integer overflow");
    match value {
        CelValue::Uint(_) => Ok(value.clone()),
        CelValue::Int(n) => u64::try_from(*n).map(CelValue::Uint).map_err(|_| overflow()),
        CelValue::Double(f) if *f >= 0.0 && *f < 18_446_744_073_709_551_615.0 => Ok(CelValue::Uint(*f as u64)),
        CelValue::Double(_) => Err(overflow()),
        CelValue::Text(text) => text.parse().map(CelValue::Uint).map_err(|_| failed()),
        _ => Err(failed()),
    }
}
