//! How Go prints values: `%v`, `%T` and JSON numbers. Error texts and JSONPath output are made of them.

use crate::Value;

/// Go's `%v` of a decoded JSON value.
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

/// Go's `%T` of a decoded JSON value.
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

/// The name `encoding/json` has for what it could not store: `object`, `array`, `string`, `number`, `bool`.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Go's `%v` of a float: the shortest digits, in scientific form from 1e21 on and below 1e-4.
pub(crate) fn float(float: f64) -> String {
    shortest(float, -4)
}

/// A float in `encoding/json`'s form: scientific from 1e21 on and below 1e-6, without leading zeros in the exponent.
pub(crate) fn json_float(float: f64) -> String {
    let text = shortest(float, -6);
    match text.split_once("e-0") {
        Some((mantissa, exponent)) => format!("{mantissa}e-{exponent}"),
        None => text,
    }
}

fn shortest(float: f64, smallest_exponent: i32) -> String {
    let scientific = format!("{float:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (smallest_exponent..21).contains(&exponent) || float == 0.0 {
        return format!("{float}");
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
            (1e20, "100000000000000000000", "100000000000000000000"),
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
