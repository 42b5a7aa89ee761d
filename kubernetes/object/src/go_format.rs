//! Go's formatting of values: `%v`, `%T` and JSON numbers. Error texts and JSONPath output use it.

use crate::Value;

/// Returns Go's `%v` of a decoded JSON value.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_string(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => float(number),
            None => number.to_string(),
        },
        Value::Bool(bool) => bool.to_string(),
        Value::Array(list) => format!("[{}]", list.iter().map(self::value).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let pairs: Vec<String> = map.iter().map(|(k, v)| format!("{k}:{}", self::value(v))).collect();
            format!("map[{}]", pairs.join(" "))
        }
    }
}

/// Returns Go's `%#v` of a value decoded by go-yaml.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_string(),
        Value::String(text) => crate::quote::quote(text),
        Value::Array(list) => {
            format!("[]interface {{}}{{{}}}", list.iter().map(syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let pairs: Vec<String> =
                map.iter().map(|(k, v)| format!("{}:{}", crate::quote::quote(k), syntax(v))).collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", pairs.join(", "))
        }
        other => self::value(other),
    }
}

/// Returns Go's `%T` of a decoded JSON value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Returns the JSON type name in errors of `encoding/json`: `object`, `array`, `string`, `number`, `bool`.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns Go's `%v` of a float: the shortest digits, in scientific form from 1e6 on and below 1e-4.
pub(crate) fn float(float: f64) -> String {
    shortest(format!("{float:e}"), format!("{float}"), -4, 6)
}

/// Returns Go's `%v` of a 32-bit float, the form in which keys of a YAML map are printed.
pub(crate) fn short_float(float: f64) -> String {
    let float = float as f32;
    match (float.is_nan(), float == f32::INFINITY, float == f32::NEG_INFINITY) {
        (true, ..) => ".nan".to_string(),
        (_, true, _) => ".inf".to_string(),
        (_, _, true) => "-.inf".to_string(),
        _ => shortest(format!("{float:e}"), format!("{float}"), -4, 6),
    }
}

/// Returns a float in the form of `encoding/json`: scientific from 1e21 on and below 1e-6, without leading zeros in the
/// exponent.
pub(crate) fn json_float(float: f64) -> String {
    let text = shortest(format!("{float:e}"), format!("{float}"), -6, 21);
    match text.split_once("e-0") {
        Some((mantissa, exponent)) => format!("{mantissa}e-{exponent}"),
        None => text,
    }
}

fn shortest(scientific: String, plain: String, from: i32, to: i32) -> String {
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return plain };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (from..to).contains(&exponent) {
        return plain;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prints_as_go_does() {
        assert_eq!(value(&json!({"b": [1, "x", null], "a": {"c": true}})), "map[a:map[c:true] b:[1 x <nil>]]");
        for (number, v, json) in [
            (1.5, "1.5", "1.5"),
            (1e20, "1e+20", "100000000000000000000"),
            (1e21, "1e+21", "1e+21"),
            (0.00001, "1e-05", "0.00001"),
            (1e-7, "1e-07", "1e-7"),
            (-2.5e-10, "-2.5e-10", "-2.5e-10"),
            (0.0, "0", "0"),
        ] {
            assert_eq!((float(number).as_str(), json_float(number).as_str()), (v, json));
        }
    }
}
