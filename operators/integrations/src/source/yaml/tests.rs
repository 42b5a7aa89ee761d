#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn value(text: &str) -> Value {
    read(text, DateHandling::Text).unwrap()
}

fn message(text: &str) -> String {
    read(text, DateHandling::Refused).unwrap_err().to_string()
}

#[test]
fn maps_lists_merges_and_aliases() {
    let text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [*a, yes]\nd: {<<: [{x: 7}, *a]}\n";
    let a = json!({"x": 1, "y": 2});
    assert_eq!(value(text), json!({"a": a, "b": {"x": 1, "y": 3}, "c": [a, true], "d": {"x": 7, "y": 2}}));
}

#[test]
fn every_field_has_its_line() {
    let (_, lines) =
        read_with_lines("$schema: /a\nmanaged:\n- namespace:\n    $ref: /n.yml\n  spec:\n    a/b: 1\n").unwrap();
    assert_eq!(lines.line_of("/managed/0/namespace/$ref"), Some(4));
    assert_eq!(lines.line_of("/managed/0/spec/a~1b"), Some(6));
    assert_eq!(lines.line_of("/managed/0/spec/missing/deep"), lines.line_of("/managed/0/spec"));
    assert_eq!(FieldLines::default().line_of("/x"), None);
}

#[test]
fn text_without_a_single_json_document_is_rejected_with_its_line() {
    assert_eq!(message("a: 1\n---\nb: 2\n"), "line 2: a file must contain a single document");
    assert_eq!(message("a: 1\nb: 2024-01-01\n"), "line 2: 2024-01-01 is a date, which JSON does not support");
    assert_eq!(message("a: .inf"), "line 1: .inf is a number that JSON does not support");
    assert_eq!(message("? [a]\n: 1"), "line 1: a list or a map cannot be a key");
    assert!(message("a: [1").starts_with("line "));
    assert!(message("a: !!python/object:os.system x").contains("tag"), "{}", message("a: !!python/object:os.system x"));
}

#[test]
fn hostile_text_ends_within_bounds() {
    assert!(message(&"[".repeat(MAX_DEPTH + 1)).contains("is nested deeper"));
    assert!(!message(&"[".repeat(100_000)).is_empty());
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_string();
    for level in 1..12 {
        let last = level - 1;
        let list = vec![format!("*a{last}"); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{list}]\n"));
    }
    assert!(message(&bomb).contains("aliases expand to more than"));
    assert!(message("a: &a [*a]").contains("refers to itself"));
}
