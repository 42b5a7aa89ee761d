#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn a_case_is_read() {
    let case = ProbeCase::read(
        "operator: greeter\n\
         given:\n\
         - {apiVersion: v1, kind: ConfigMap, metadata: {name: greeting, namespace: shop}}\n\
         script:\n\
         - apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: ada, namespace: shop}}\n\
         - delete: {apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n",
    )
    .unwrap();
    assert_eq!((case.operator.as_str(), case.given.len()), ("greeter", 1));
    let shown: Vec<String> = case.script.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["apply ConfigMap shop/ada", "delete Namespace shop"]);
    let name = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    assert_eq!(case.script[1], ScriptStep::delete(name));
}

#[test]
fn errors_name_their_path() {
    let said = |text: &str| ProbeCase::read(text).unwrap_err().to_string();
    assert_eq!(said("given: 1"), "`given` is not a list");
    assert_eq!(said("givne: []"), "`givne` is unknown; a case has `operator`, `given` and `script`");
    assert_eq!(said("given: [{kind: A}]"), "`given[0].apiVersion` is missing");
    assert_eq!(said("script: [{apply: {apiVersion: v1, kind: A}}]"), "`script[0].apply.metadata.name` is missing");
    let remove = "script: [{remove: {apiVersion: v1, kind: A, metadata: {name: a}}}]";
    assert_eq!(said(remove), "`script[0]` is not one of `apply`, `patch` and `delete`");
    assert!(said("given: [").starts_with("line "), "{}", said("given: ["));
}
