#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn self_referencing_maps_are_rejected() {
    let map = Value::map([("a", Value::Int(1))]);
    map.as_map().unwrap().insert("self".into(), map.clone());
    let problem = append(&mut Vec::new(), &map, MAX_BYTES).unwrap_err().message(MAX_BYTES);
    assert_eq!(problem, "value is nested deeper than 10000 levels");
    map.as_map().unwrap().remove(b"self");
}

#[test]
fn text_beyond_the_limit_is_not_created() {
    let mut out = Vec::new();
    let list = Value::list(vec![Value::Int(1); 1000]);
    let problem = printf(&mut out, b"%1000000d", &[list], 10_000).unwrap_err().message(10_000);
    assert_eq!(problem, "output is larger than the limit of 10000 bytes");
    assert!(out.len() <= 10_000);
}
