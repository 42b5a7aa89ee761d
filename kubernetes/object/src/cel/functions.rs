//! Functions of the standard library; `libraries` holds what Kubernetes adds.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::libraries;
use super::value::{Fail, Key, Outcome, Val, timestamp};
use crate::schema::formats;

/// Functions that are called through a name: `sets.contains(a, b)`.
pub(super) fn is_namespaced(space: &str, name: &str) -> bool {
    match space {
        "optional" => matches!(name, "of" | "none" | "ofNonZeroValue"),
        "sets" => matches!(name, "contains" | "equivalent" | "intersects"),
        "strings" => name == "quote",
        "lists" => name == "range",
        "ip" => name == "isCanonical",
        "format" => name == "named" || libraries::format::named(name).is_some(),
        _ => false,
    }
}

/// The type that a name stands for.
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

/// Calls a function on evaluated arguments; a method's target is the first.
pub(super) fn call<'a>(name: &str, arguments: &[Val<'a>], member: bool) -> Outcome<'a> {
    match (name, arguments) {
        ("size", [value]) if value.size().is_some() => Ok(Val::Int(value.size().unwrap_or(0) as i64)),
        ("type", [value]) => Ok(Val::Type(Arc::from(value.type_name()))),
        ("dyn", [value]) => Ok(value.clone()),
        ("string" | "int" | "uint" | "double" | "bool" | "bytes" | "timestamp" | "duration", [value]) if !member => {
            converted(name, value)
        }
        ("contains", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.contains(&**b))),
        ("startsWith", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.starts_with(&**b))),
        ("endsWith", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.ends_with(&**b))),
        ("matches", [Val::Text(text), Val::Text(pattern)]) => {
            let regex = crate::schema::pattern::compiled(pattern).map_err(Fail::text)?;
            Ok(Val::Bool(regex.is_match(text)))
        }
        ("hasValue", [Val::Optional(inner)]) => Ok(Val::Bool(inner.is_some())),
        ("value", [Val::Optional(inner)]) => match inner {
            Some(inner) => Ok((**inner).clone()),
            None => Err(Fail::text("optional.none() dereference")),
        },
        ("optional.of", [value]) => Ok(Val::some(value.clone())),
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(if is_zero(value) { Val::Optional(None) } else { Val::some(value.clone()) })
        }
        ("@mapInsert", [map, rest @ ..]) => map_insert(map.clone(), rest),
        (name, [Val::Timestamp(at), rest @ ..]) if name.starts_with("get") => libraries::time::part(name, *at, rest),
        (name, [Val::Duration(d)]) if name.starts_with("get") => libraries::time::duration_part(name, *d),
        _ => libraries::call(name, arguments, member),
    }
}

/// Adds an entry, or all entries of a map, to a map; a key that is there is an error.
pub(super) fn map_insert<'a>(map: Val<'a>, rest: &[Val<'a>]) -> Outcome<'a> {
    let Val::Map(mut entries) = map else { return Err(Fail::overload()) };
    let target: &mut BTreeMap<Key, Val<'a>> = Arc::make_mut(&mut entries);
    let mut add = |key: &Val<'a>, value: Val<'a>| {
        let inner = key.key().ok_or_else(|| Fail::text("unsupported key type"))?;
        match target.insert(inner, value) {
            None => Ok(()),
            Some(_) => Err(Fail::text(format!("insert failed: key {} already exists", shown(key)))),
        }
    };
    match rest {
        [key, value] => add(key, value.clone())?,
        [other] => {
            for (key, value) in other.entries().ok_or_else(Fail::overload)?? {
                add(&key, value)?;
            }
        }
        _ => return Err(Fail::overload()),
    }
    Ok(Val::Map(entries))
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null => true,
        Val::Bool(b) => !b,
        Val::Int(n) => *n == 0,
        Val::Uint(n) => *n == 0,
        Val::Double(f) => *f == 0.0,
        Val::Duration(d) => *d == 0,
        other => other.size() == Some(0),
    }
}

/// A value as text in error messages.
pub(super) fn shown(value: &Val<'_>) -> String {
    match converted("string", value) {
        Ok(Val::Text(text)) => text.to_string(),
        _ => value.type_name().to_string(),
    }
}

fn converted<'a>(target: &str, value: &Val<'a>) -> Outcome<'a> {
    let failed = || {
        let from = value.type_name();
        let target = match target {
            "timestamp" => "google.protobuf.Timestamp",
            "duration" => "google.protobuf.Duration",
            target => target,
        };
        Fail::text(format!("type conversion error from '{from}' to '{target}'"))
    };
    match (target, value) {
        ("string", _) => text(value).ok_or_else(failed),
        ("int", _) => int(value, failed),
        ("uint", _) => uint(value, failed),
        ("double", Val::Double(_)) => Ok(value.clone()),
        ("double", Val::Int(n)) => Ok(Val::Double(*n as f64)),
        ("double", Val::Uint(n)) => Ok(Val::Double(*n as f64)),
        ("double", Val::Text(text)) => text.parse().map(Val::Double).map_err(|_| failed()),
        ("bool", Val::Bool(_)) => Ok(value.clone()),
        ("bool", Val::Text(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => Err(failed()),
        },
        ("bytes", Val::Bytes(_)) => Ok(value.clone()),
        ("bytes", Val::Text(text)) => Ok(Val::Bytes(Arc::from(text.as_bytes()))),
        ("timestamp", Val::Timestamp(_)) => Ok(value.clone()),
        ("timestamp", Val::Text(text)) => timestamp(text).map(Val::Timestamp).ok_or_else(failed),
        ("timestamp", Val::Int(seconds)) => Ok(Val::Timestamp(i128::from(*seconds) * 1_000_000_000)),
        ("duration", Val::Duration(_)) => Ok(value.clone()),
        ("duration", Val::Text(text)) => formats::go_duration(text).map(Val::Duration).ok_or_else(failed),
        ("duration", Val::Int(n)) => Ok(Val::Duration(*n)),
        _ => Err(failed()),
    }
}

fn text<'a>(value: &Val<'a>) -> Option<Val<'a>> {
    Some(match value {
        Val::Text(_) => value.clone(),
        Val::Bool(b) => Val::text(b.to_string()),
        Val::Int(n) => Val::text(n.to_string()),
        Val::Uint(n) => Val::text(n.to_string()),
        Val::Double(f) => Val::text(libraries::strings::double(*f)),
        Val::Bytes(bytes) => Val::text(String::from_utf8(bytes.to_vec()).ok()?),
        Val::Duration(d) => Val::text(libraries::time::duration_text(*d)),
        Val::Timestamp(at) => Val::text(libraries::time::timestamp_text(*at)),
        Val::Ip(ip) => Val::text(ip.to_string()),
        Val::Cidr(cidr) => Val::text(cidr.to_string()),
        Val::Type(name) => Val::Text(super::value::Text::Made(Arc::clone(name))),
        _ => return None,
    })
}

fn int<'a>(value: &Val<'a>, failed: impl Fn() -> Fail) -> Outcome<'a> {
    let overflow = || Fail::text("integer overflow");
    match value {
        Val::Int(_) => Ok(value.clone()),
        Val::Uint(n) => i64::try_from(*n).map(Val::Int).map_err(|_| overflow()),
        Val::Double(f) if f.is_finite() && f.abs() < 9_223_372_036_854_775_807.0 => Ok(Val::Int(*f as i64)),
        Val::Double(_) => Err(overflow()),
        Val::Text(text) => text.parse().map(Val::Int).map_err(|_| failed()),
        Val::Timestamp(at) => Ok(Val::Int(i64::try_from(at.div_euclid(1_000_000_000)).unwrap_or(0))),
        Val::Duration(d) => Ok(Val::Int(*d)),
        _ => Err(failed()),
    }
}

fn uint<'a>(value: &Val<'a>, failed: impl Fn() -> Fail) -> Outcome<'a> {
    let overflow = || Fail::text("unsigned integer overflow");
    match value {
        Val::Uint(_) => Ok(value.clone()),
        Val::Int(n) => u64::try_from(*n).map(Val::Uint).map_err(|_| overflow()),
        Val::Double(f) if *f >= 0.0 && *f < 18_446_744_073_709_551_615.0 => Ok(Val::Uint(*f as u64)),
        Val::Double(_) => Err(overflow()),
        Val::Text(text) => text.parse().map(Val::Uint).map_err(|_| failed()),
        _ => Err(failed()),
    }
}
