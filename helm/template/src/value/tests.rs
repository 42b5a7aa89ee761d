#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn a_value_is_three_words() {
    assert_eq!(size_of::<Value>(), 24);
}

#[test]
fn type_names_match_go() {
    let value = Value::from_json(&json!({"a": [1, 1.5, "x", true, null, {}]}), JsonNumbers::Int);
    let list = value.as_map().unwrap().get(b"a").unwrap();
    let names: Vec<String> = list.elements().unwrap().iter().map(Value::type_name).collect();
    assert_eq!(names, ["int", "float64", "string", "bool", "<nil>", "map[string]interface {}"]);
    assert_eq!(list.type_name(), "[]interface {}");
    assert_eq!(Value::strings(["a"]).type_name(), "[]string");
    assert_eq!(Value::bytes("a").type_name(), "[]uint8");
}

#[test]
fn maps_are_shared() {
    let map = Value::map([("a", Value::Int(1))]);
    let other = map.clone();
    other.as_map().unwrap().insert("b".into(), Value::Int(2));
    assert_eq!(map.as_map().unwrap().len(), 2);
    let Value::Map(_, entries) = &map else { panic!() };
    let renamed = Value::Map(ReflectType::STRING_MAP, entries.clone());
    renamed.as_map().unwrap().remove(b"a");
    assert_eq!(map.as_map().unwrap().len(), 1);
}

#[test]
fn named_types_are_assignable_to_their_underlying_types() {
    static VALUES: NamedType = NamedType { name: "chartutil.Values", underlying: ReflectType::MAP, methods: &[] };
    const NAMED: ReflectType = ReflectType(&TypeShape::Named(&VALUES));
    static DURATION: NamedType = NamedType { name: "time.Duration", underlying: ReflectType::INT64, methods: &[] };
    assert!(
        NAMED.assignable_to(ReflectType::MAP)
            && ReflectType::MAP.assignable_to(NAMED)
            && NAMED.assignable_to(ReflectType::ANY)
    );
    assert!(!NAMED.assignable_to(ReflectType::STRING_MAP));
    const SPAN: ReflectType = ReflectType(&TypeShape::Named(&DURATION));
    assert!(!SPAN.assignable_to(ReflectType::INT64));
}

#[test]
fn strings_are_bytes_of_any_length() {
    for length in [0, 1, 21, 22, 23, 24, 1000] {
        let text = Str::new(vec![0xff; length]);
        assert_eq!((text.len(), text.clone() == text), (length, true));
    }
    assert!(Str::new("b") > Str::new("ab") && Str::new("b") < Str::new("b".repeat(30)));
}

#[test]
fn truth_matches_go() {
    let falsy = [Value::Nil, Value::Bool(false), Value::Int(0), Value::Uint8(0), Value::Float64(0.0), "".into()];
    assert!(falsy.iter().all(|value| !value.is_true()));
    let truthy = [Value::Bool(true), Value::Int64(-1), Value::Float64(0.1), "0".into(), Value::list(vec![Value::Nil])];
    assert!(truthy.iter().all(Value::is_true));
    assert!(!Value::list(vec![]).is_true() && !Value::zero(ReflectType::MAP).is_true());
}

#[test]
fn a_deep_value_is_freed_without_recursion() {
    let mut value = Value::Nil;
    for round in 0..1_000_000 {
        value = if round % 2 == 0 { Value::list(vec![value]) } else { Value::map([("a", value)]) };
    }
    drop(value);
}

#[test]
fn json_round_trips() {
    let json = json!({"a": [1, 2.5, "x", null, {"b": true}], "z": {}});
    assert_eq!(Value::from_json(&json, JsonNumbers::Int).to_json(), json);
    assert_eq!(Value::from_json(&json!(3), JsonNumbers::Float).type_name(), "float64");
    assert_eq!(Value::from_json(&json!(3), JsonNumbers::Int64).type_name(), "int64");
    assert_eq!(Value::zero(ReflectType::LIST).to_json(), json!(null));
}
