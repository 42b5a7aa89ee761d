#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;

#[track_caller]
fn check(path: &str, document: &Value, expected: &[Value]) {
    let found = JsonPath::parse(path).unwrap().find(document).unwrap();
    let values: Vec<Value> = found.into_iter().map(|found| found.value.clone()).collect();
    assert_eq!(values, expected, "{path}");
}

fn routes() -> Value {
    json!({"spec": {"routes": [
        {"name": "web", "namespace": "shop", "secret": {"name": "cert"}, "weight": 2},
        {"name": "api", "namespace": "shop", "secret": {"name": "other"}},
        {"name": "old", "weight": 10},
    ], "a-b": {"c": "d"}}})
}

#[test]
fn keys_indices_and_slices() {
    let document = routes();
    check("$.spec.routes[0].name", &document, &[json!("web")]);
    check(r#"$["spec"]["a-b"].c"#, &document, &[json!("d")]);
    check("$.spec.routes[1:].name", &document, &[json!("api"), json!("old")]);
    check("$.spec.routes[-1:].name", &document, &[json!("old")]);
    check("$.spec.routes[0,2].name", &document, &[json!("web"), json!("old")]);
    check("$.spec.routes[*].secret.name", &document, &[json!("cert"), json!("other")]);
    check("$.spec.nothing.name", &document, &[]);
    check("spec.routes[0].name", &document, &[json!("web")]);
    check("$ . spec . routes [ 0 ] . name", &document, &[json!("web")]);
}

#[test]
fn everything_below() {
    check(
        "$..name",
        &json!({"b": {"name": 1}, "a": [{"name": 2}, {"x": {"name": 3}}], "name": 0}),
        &[json!(0), json!(2), json!(3), json!(1)],
    );
}

#[test]
fn filters() {
    let document = routes();
    check(r#"$.spec.routes[?(@.name == "web" && @.namespace == "shop")].secret.name"#, &document, &[json!("cert")]);
    check(r#"$.spec.routes[?(@.name == "old" && @.namespace == "shop")].secret.name"#, &document, &[]);
    check("$.spec.routes[?@.weight > 1].name", &document, &[json!("web"), json!("old")]);
    check(r#"$.spec.routes[?(@.name =~ "^a" || @.weight >= 10)].name"#, &document, &[json!("api"), json!("old")]);
    check(r#"$.spec.routes[?(!(@.name == "web"))].name"#, &document, &[json!("api"), json!("old")]);
}

#[test]
fn invalid_paths_are_errors() {
    let error_of = |path: &str| JsonPath::parse(path).unwrap_err().to_string();
    assert_eq!(error_of("[0]"), "column 1: expected `$`, found `[`");
    assert_eq!(error_of("$.spec["), "column 8: expected `]`, found the end");
    assert_eq!(error_of("$.spec name"), "column 8: expected `.`, `[` or the end, found `n`");
    assert_eq!(error_of("$.a[?(name == 1)]"), "`name` is not a value; use `@.name` for a field of the item");
    assert!(JsonPath::parse(&format!("$.a[?{}@.x{}]", "(".repeat(99), ")".repeat(99))).is_err());
}

#[test]
fn compat_errors_name_the_missing_key() {
    let path = JsonPath::parse("$.spec.tls.name").unwrap();
    assert_eq!(path.find_compat(&routes()).unwrap_err().to_string(), "unknown key tls");
    let path = JsonPath::parse("$.spec.routes[*].tls").unwrap();
    assert_eq!(path.find_compat(&routes()).unwrap(), json!([]));
}
