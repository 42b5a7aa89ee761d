//! Values: merging of documents, and values at a path.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn later_documents_override_earlier_ones() {
    let read = read("---\na: {b: 1, c: 2}\nl: [1]\n---\n# nothing\n---\na: {b: x}\nl: []\n").unwrap();
    assert_eq!(Value::Object(read), json!({"a": {"b": "x", "c": 2.0}, "l": []}));
}

#[test]
fn numbers_are_floats() {
    let read = read("a: 1\nb: [2, {c: 3}]\n").unwrap();
    assert!(read["a"].is_f64() && read["b"][0].is_f64() && read["b"][1]["c"].is_f64());
}

#[test]
fn other_documents_than_mappings_are_errors() {
    let error = read("- a\n").unwrap_err().to_string();
    let words = "json: cannot unmarshal array into Go value of type map[string]interface {}";
    assert_eq!(error, format!("cannot unmarshal yaml document: error unmarshaling JSON: while decoding JSON: {words}"));
    assert!(read("a: 1\n--- b\n").unwrap_err().to_string().contains("invalid Yaml document separator: b"));
}

#[test]
fn paths_lead_to_tables_and_values() {
    let values = read("a: {b: {c: 1, d: {}}}\ne: 5\n").unwrap();
    assert!(table(&values, "a.b").is_some() && table(&values, "a.b.c").is_none() && table(&values, "x.y").is_none());
    assert_eq!(value_at(&values, "a.b.c"), Some(&json!(1.0)));
    assert_eq!(value_at(&values, "e"), Some(&json!(5.0)));
    assert_eq!((value_at(&values, "a.b.d"), value_at(&values, "a.b")), (None, None), "tables are no values");
}
