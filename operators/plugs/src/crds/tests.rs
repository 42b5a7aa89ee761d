#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn each_kind_has_a_definition_of_its_name() {
    let names: Vec<Value> = crds().iter().map(|crd| crd["metadata"]["name"].clone()).collect();
    let wanted = ["plugs", "sockets", "deferredresources"].map(|plural| format!("{plural}.{GROUP}"));
    assert_eq!(names, wanted);
}

#[test]
fn both_kinds_take_the_same_fields_for_their_side() {
    let fields = |crd: &Value| -> Vec<String> {
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        spec.as_object().unwrap().keys().cloned().collect()
    };
    let all = crds();
    let (plug, socket) = (fields(&all[0]), fields(&all[1]));
    let own = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|name| !other.contains(name)).cloned().collect()
    };
    assert_eq!(own(&plug, &socket), ["socket"]);
    assert_eq!(own(&socket, &plug), ["consent", "deletionPolicy", "limit", "validation"]);
}
