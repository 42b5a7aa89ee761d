//! Edge cases of `--set`. The other cases are in the charts of `tests/charts/sets`, with Helm's results.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[track_caller]
fn check(line: &str, wanted: Value) {
    let mut into = Map::new();
    set(line, &SetKind::Typed, &mut into).unwrap();
    assert_eq!(Value::Object(into), wanted, "{line}");
}

#[track_caller]
fn refused(line: &str, words: &str) {
    assert_eq!(set(line, &SetKind::Typed, &mut Map::new()).unwrap_err().to_string(), words, "{line}");
}

#[test]
fn lines_set_values() {
    check("", json!({}));
    check("a=1,b=0012,c=-5,d=9223372036854775808", json!({"a": 1, "b": "0012", "c": -5, "d": "9223372036854775808"}));
    check("a=TRUE,b=nULL,c=", json!({"a": true, "b": null, "c": ""}));
    check("a[1].b=x", json!({"a": [null, {"b": "x"}]}));
    check("a={1,b},c=2", json!({"a": [1, "b"], "c": 2}));
    check("a[0][1]=x", json!({"a": [[null, "x"]]}));
    check("a[0]", json!({"a": []}));
    check("a[0", json!({}));
    check("a[0].b=", json!({"a": []}));
    check("=x", json!({}));
}

#[test]
fn later_lines_change_earlier_values_in_place() {
    let mut into = Map::new();
    for line in ["a[0].b=1,a[0].c=2", "a[0].b=3", "x.y=1", "x.z=2"] {
        set(line, &SetKind::Typed, &mut into).unwrap();
    }
    assert_eq!(Value::Object(into), json!({"a": [{"b": 3, "c": 2}], "x": {"y": 1, "z": 2}}));
}

#[test]
fn incomplete_lines_remove_nothing() {
    check("a[1]=x,a[0][0]", json!({"a": [null, "x"]}));
    for (before, line) in [
        (json!({"a": {}}), "a."),
        (json!({"a": {"b": {}}}), "a.b."),
        (json!({"a": [[1]]}), "a[0][0]"),
        (json!({"a": [[1]]}), "a[1][0]"),
        (json!({"a": [null, [5]]}), "a[1][3]"),
    ] {
        let mut into = before.as_object().unwrap().clone();
        set(line, &SetKind::Typed, &mut into).unwrap();
        assert_eq!(Value::Object(into), before, "{line}");
    }
    let mut into = json!({"a": [null, [5]]}).as_object().unwrap().clone();
    set("a[0].", &SetKind::Typed, &mut into).unwrap();
    assert_eq!(Value::Object(into), json!({"a": [{}, [5]]}));
}

#[test]
fn nesting_is_limited() {
    let names = vec!["a"; 32].join(".");
    refused(&format!("{names}=1"), "value name nested level is greater than maximum supported nested level of 30");
    refused(&format!("a{}=1", "[0]".repeat(10_000)), "more than 256 consecutive indexes");
    refused("a[65537]=1", "index of 65537 is greater than maximum supported index of 65536");
}

#[test]
fn type_errors_have_the_texts_of_go() {
    refused(
        "a=1,a.b=2",
        "unable to parse key: interface conversion: interface {} is int64, not map[string]interface {}",
    );
    refused("a=x,a[0]=2", "unable to parse key: interface conversion: interface {} is string, not []interface {}");
    refused(
        "a=null,a.b=1",
        "unable to parse key: interface conversion: interface {} is nil, not map[string]interface {}",
    );
    refused("a[1x]=1", "error parsing index: strconv.Atoi: parsing \"1x\": invalid syntax");
    refused("a[0]xy=1", "unexpected data at end of array index: ['x' 'y']");
    refused("a.=1", "key map \"a\" has no value");
}
