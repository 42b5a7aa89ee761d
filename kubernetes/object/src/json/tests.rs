#![allow(clippy::unwrap_used)]
use serde_json::json;

use super::*;

fn value(text: &str) -> Value {
    read(text.as_bytes()).unwrap().value
}

fn error_of(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn reads() {
    assert_eq!(
        value(r#" {"a": [1, -2.5, "x", true, false, null, {}, []], "b": {"c": ""}} "#),
        json!({"a": [1, -2.5, "x", true, false, null, {}, []], "b": {"c": ""}})
    );
    assert_eq!(value(r#""\"\\\/\b\f\n\r\t\u00e4\ud83d\ude00""#), json!("\"\\/\u{8}\u{c}\n\r\tä😀"));
    assert_eq!(value(r#""\ud83dx\ude00""#), json!("\u{fffd}x\u{fffd}"));
    assert_eq!(read(b"\"\xff\"").unwrap().value, json!("\u{fffd}"));
    assert_eq!(value("9223372036854775807"), json!(i64::MAX));
    assert_eq!(value("1.0"), json!(1));
    assert_eq!(value("1e3"), json!(1000));
    assert_eq!(value("18446744073709551615"), json!(18446744073709551615f64));
}

#[test]
fn negative_zero_is_a_float() {
    for text in ["-0", "-0.0", "-0e5"] {
        assert_eq!(value(text), json!(0));
        let kept = read_numbers_as_floats(text.as_bytes()).unwrap().value;
        assert!(kept.as_f64().is_some_and(|zero| zero == 0.0 && zero.is_sign_negative()), "{text}: {kept}");
    }
    assert_eq!(read_numbers_as_floats(b"[0, 1.0, -2]").unwrap().value, json!([0, 1, -2]));
}

#[test]
fn refuses_in_gos_words() {
    for (text, expected) in [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{x", "invalid character 'x' looking for beginning of object key string"),
        ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
        ("{\"a\" 1", "invalid character '1' after object key"),
        ("{\"a\":1 2", "invalid character '2' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("1 2", "invalid character '2' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("nul", "invalid character ' ' in literal null (expecting 'l')"),
        ("-", "invalid character ' ' in numeric literal"),
        ("1.", "invalid character ' ' after decimal point in numeric literal"),
        ("\"a", "unexpected end of JSON input"),
        ("\"\\", "invalid character ' ' in string escape code"),
        ("\"\n\"", "invalid character '\\n' in string literal"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        ("\"\\u00g\"", "invalid character 'g' in \\u hexadecimal character escape"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
        ("[\"a\"\"b\"]", "invalid character '\"' after array element"),
        ("1e999", "json: cannot unmarshal number 1e999 into Go value of type float64"),
        ("\u{e4}", "invalid character 'Ã' looking for beginning of value"),
    ] {
        assert_eq!(error_of(text), expected, "{text:?}");
    }
}

#[test]
fn duplicate_fields_are_named() {
    let document = read(br#"{"a":1,"a":2,"b":{"c":[{},{"d":1,"d":2,"d":3}]},"b":{"x":1,"x":1}}"#).unwrap();
    assert_eq!(document.duplicates, ["a", "b.c[1].d", "b", "b.x"]);
    assert_eq!(document.value, json!({"a": 2, "b": {"x": 1}}));
}

#[test]
fn depth_is_bounded() {
    let nest = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(nest(MAX_DEPTH).as_bytes()).is_ok());
    assert_eq!(error_of(&nest(MAX_DEPTH + 1)), "invalid character '[' exceeded max depth");
    assert_eq!(error_of(&"{\"a\":".repeat(1_000_000)), "invalid character '{' exceeded max depth");
    serde_json::from_str::<Value>(&nest(MAX_DEPTH)).unwrap();
}

#[test]
fn writes_gos_bytes() {
    let value = json!({"b": 1.5, "a": "<a&b>\u{2028}\n\u{1}", "c": [1e21, 1e-7, 0.00001, 100.0]});
    assert_eq!(
        to_string(&value),
        "{\"a\":\"\\u003ca\\u0026b\\u003e\\u2028\\n\\u0001\",\"b\":1.5,\"c\":[1e+21,1e-7,0.00001,100]}"
    );
}
