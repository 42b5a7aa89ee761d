//! Conversion of template values to YAML and JSON, as in Helm's functions.

use serde_json::Number;
use switchboard_object::{Map, Value as Json, yaml};
use switchboard_template::{Str, Value};

/// Maximum depth of a value. A map that contains itself is endless.
const MAX_DEPTH: usize = 1_000;
/// Limit up to which whole floats are written as integers.
const MAX_WHOLE: f64 = 18_446_744_073_709_551_616.0;

/// Converts a value like `encoding/json`, with numbers as a YAML parser reads them back.
///
/// # Errors
/// If the value is nested too deeply or cannot be represented.
pub fn to_json(value: &Value) -> Result<Json, String> {
    at_depth(value, 0)
}

fn at_depth(value: &Value, depth: usize) -> Result<Json, String> {
    if depth > MAX_DEPTH {
        return Err(format!("json: unsupported value: encountered a cycle via {}", value.type_name()));
    }
    Ok(match value {
        Value::Map(_, map) if !map.is_nil() => {
            let mut out = Map::new();
            for (key, item) in map.entries().iter() {
                out.insert(key.to_text().into_owned(), at_depth(item, depth + 1)?);
            }
            Json::Object(out)
        }
        Value::List(_, list) if !list.is_nil() => {
            Json::Array(list.iter().map(|item| at_depth(item, depth + 1)).collect::<Result<_, _>>()?)
        }
        Value::Bytes(bytes) => {
            use base64::Engine as _;
            Json::String(base64::engine::general_purpose::STANDARD.encode(bytes))
        }
        Value::Float64(number) => float(*number)?,
        Value::Float32(number) => float(f64::from(*number))?,
        Value::Func(_) => return Err(format!("json: unsupported type: {}", value.type_name())),
        other => other.to_json(),
    })
}

fn float(number: f64) -> Result<Json, String> {
    if number.fract() == 0.0 && number.abs() < MAX_WHOLE {
        // Use the digits of the JSON, which beyond 2^53 are not all digits of the float.
        let digits = number.to_string();
        let signed = digits.parse::<i64>().map(Json::from);
        if let Ok(whole) = signed.or_else(|_| digits.parse::<u64>().map(Json::from)) {
            return Ok(whole);
        }
    }
    match Number::from_f64(number) {
        Some(number) => Ok(Json::Number(number)),
        None => Err(format!("json: unsupported value: {}", crate::gotext::float(number))),
    }
}

/// Implements `toYaml`, without the newline at the end.
///
/// # Errors
/// Errors of [`to_json`].
pub fn to_yaml(value: &Value) -> Result<Str, String> {
    let text = yaml::to_string(&to_json(value)?);
    Ok(Str::new(text.strip_suffix('\n').unwrap_or(&text)))
}

/// Implements `toYamlPretty`: indents lists in maps, folds nothing, and keeps floats.
///
/// # Errors
/// Errors of [`to_json`].
pub fn to_yaml_pretty(value: &Value) -> Result<Str, String> {
    let mut out = String::new();
    pretty(value, 0, 0, &mut out)?;
    Ok(Str::new(out.strip_suffix('\n').unwrap_or(&out)))
}

fn pretty(value: &Value, indent: usize, depth: usize, out: &mut String) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("value is nested too deeply".to_string());
    }
    match value {
        Value::Map(_, map) if !map.is_empty() => {
            let keys: Vec<String> = map.entries().keys().map(|key| key.to_text().into_owned()).collect();
            for (index, key) in yaml::in_natural_order(keys.iter().collect()).into_iter().enumerate() {
                pad(index, indent, out);
                out.push_str(&scalar(&Json::String(key.clone()), 0));
                out.push(':');
                below(&map.get(key.as_bytes()).unwrap_or_default(), indent, depth, out)?;
            }
        }
        Value::List(_, list) if !list.is_empty() => {
            for (index, item) in list.iter().enumerate() {
                pad(index, indent, out);
                out.push_str("- ");
                pretty(item, indent + 2, depth + 1, out)?;
            }
        }
        leaf => {
            out.push_str(&leaf_text(leaf, indent)?);
            out.push('\n');
        }
    }
    Ok(())
}

/// The indentation of the first line has already been written.
fn pad(index: usize, indent: usize, out: &mut String) {
    if index > 0 {
        out.push_str(&" ".repeat(indent));
    }
}

fn below(value: &Value, indent: usize, depth: usize, out: &mut String) -> Result<(), String> {
    let nested = matches!(value, Value::Map(_, map) if !map.is_empty())
        || matches!(value, Value::List(_, list) if !list.is_empty());
    if nested {
        out.push('\n');
        out.push_str(&" ".repeat(indent + 2));
        pretty(value, indent + 2, depth + 1, out)
    } else {
        out.push_str(&format!(" {}\n", leaf_text(value, indent + 2)?));
        Ok(())
    }
}

fn leaf_text(value: &Value, indent: usize) -> Result<String, String> {
    Ok(match value {
        Value::Float64(number) => crate::gotext::float(*number),
        Value::Map(..) => "{}".to_string(),
        Value::List(..) => "[]".to_string(),
        other => scalar(&to_json(other)?, indent),
    })
}

fn scalar(value: &Json, indent: usize) -> String {
    let text = yaml::to_string(value);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let Json::String(original) = value else { return text.to_string() };
    if !original.contains('\n') {
        // Join the lines that the folding emitter has broken.
        return text.lines().map(str::trim_start).collect::<Vec<_>>().join(" ");
    }
    let inner = " ".repeat(indent.saturating_sub(2));
    let set_in = |(at, line): (usize, &str)| {
        if at == 0 || line.is_empty() { line.to_string() } else { format!("{inner}{line}") }
    };
    text.lines().enumerate().map(set_in).collect::<Vec<_>>().join("\n")
}
