#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn a_template_is_the_object_at_any_revision() {
    let object = json!({"apiVersion": "v1", "data": {"resourceVersion": "9"}, "kind": "ConfigMap",
        "metadata": {"name": "a", "resourceVersion": "1", "uid": "u"}});
    let mut expected = object.clone();
    expected["metadata"]["resourceVersion"] = "77".into();
    for custom in [false, true] {
        let bytes = ObjectTemplate::new(&object, custom).with_revision(77);
        assert_eq!(parse(&bytes), expected);
        assert!(bytes.starts_with(envelope("v1", "ConfigMap", custom).as_bytes()));
    }
}

#[test]
fn an_envelope_is_exchanged_without_parsing() {
    let object = json!({"apiVersion": "g/v1", "kind": "W", "metadata": {"name": "a"}, "spec": {"x": "\"quoted\""}});
    let stored = ObjectTemplate::new(&object, true).with_revision(5);
    let served = parse(&with_envelope(&stored, &envelope("g/v2", "W", true)));
    assert_eq!(served["apiVersion"], "g/v2");
    assert_eq!(served["spec"], object["spec"]);
    assert!(stored[envelope_bytes(&stored)..].starts_with(b"\"metadata\":{"));
}
