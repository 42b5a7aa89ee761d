//! OpenShift Templates, with the cases of library-go's own tests.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn template(parameters: Value, object: Value) -> OpenShiftTemplate {
    let whole = json!({"kind": "Template", "metadata": {"name": "t"}, "parameters": parameters, "objects": [object]});
    OpenShiftTemplate::from_object(whole).unwrap()
}

fn processed(parameters: Value, object: Value) -> Value {
    template(parameters, object)
        .process(&ProcessOptions::default(), &mut ExpressionRandom::seeded(1))
        .unwrap()
        .remove(0)
}

#[test]
fn parameters_are_substituted_in_keys_and_values() {
    let parameters = json!([{"name": "A", "value": "x"}, {"name": "N", "value": "5"}, {"name": "J", "value": "{\"k\":[1]}"}, {"name": "T", "value": "abc"}]);
    let object = json!({"kind": "K", "${A}-key": "<${A}${A}> ${NOPE}", "n": "${{N}}", "j": "${{J}}", "t": "${{T}}", "mixed": "x${{N}}", "l": ["${A}", 3]});
    let wanted = json!({"kind": "K", "x-key": "<xx> ${NOPE}", "n": 5, "j": {"k": [1]}, "t": "abc", "mixed": "x${{N}}", "l": ["x", 3]});
    assert_eq!(processed(parameters, object), wanted);
}

#[test]
fn literal_namespaces_are_removed() {
    let parameters = json!([{"name": "NS", "value": "shop"}]);
    let object = |namespace: &str| json!({"kind": "K", "metadata": {"name": "n", "namespace": namespace}});
    assert_eq!(processed(parameters.clone(), object("fixed")), json!({"kind": "K", "metadata": {"name": "n"}}));
    assert_eq!(processed(parameters, object("${NS}")), object("shop"));
}

#[test]
fn labels_are_added_and_legacy_kinds_get_groups() {
    let mut template = template(
        json!([{"name": "A", "value": "x"}]),
        json!({"apiVersion": "v1", "kind": "Route", "metadata": {"labels": {"own": "1"}}}),
    );
    template.labels = Some(BTreeMap::from([("l-${A}".to_string(), "${A}".to_string())]));
    let given = ProcessOptions {
        labels: BTreeMap::from([("user".to_string(), "me".to_string())]),
        ..ProcessOptions::default()
    };
    let made = template.process(&given, &mut ExpressionRandom::seeded(1)).unwrap();
    let wanted = json!({"apiVersion": "route.openshift.io/v1", "kind": "Route", "metadata": {"labels": {"l-x": "x", "own": "1", "user": "me"}}});
    assert_eq!(made, [wanted]);
}

#[test]
fn values_are_generated_from_a_seed() {
    let parameters = json!([{"name": "P", "generate": "expression", "from": "user[0-9]{3}-[a-zA-Z0-9]{8}"}]);
    let made = |seed| {
        let template = template(parameters.clone(), json!({"kind": "K", "v": "${P}"}));
        template.process(&ProcessOptions::default(), &mut ExpressionRandom::seeded(seed)).unwrap()[0]["v"]
            .as_str()
            .unwrap()
            .to_string()
    };
    assert_eq!(made(7), made(7));
    assert_ne!(made(7), made(8));
    assert!(Regex::new("^user[0-8]{3}-[a-yA-Y0-8]{8}$").unwrap().is_match(&made(7)), "{}", made(7));
}

#[test]
fn parameter_errors_have_the_texts_of_oc() {
    let required = || template(json!([{"name": "A"}, {"name": "B", "required": true}]), json!({"kind": "K"}));
    let error =
        required().process(&ProcessOptions::default(), &mut ExpressionRandom::seeded(1)).unwrap_err().to_string();
    let words =
        "template.parameters[1]: Required value: template.parameters[1]: parameter B is required and must be specified";
    assert_eq!(error, format!("Template.template.openshift.io \"t\" is invalid: {words}"));
    let given = ProcessOptions {
        parameters: BTreeMap::from([("C".to_string(), "1".to_string())]),
        ..ProcessOptions::default()
    };
    let error = required().process(&given, &mut ExpressionRandom::seeded(1)).unwrap_err().to_string();
    assert_eq!(error, "unknown parameter name \"C\"");
    let broken = template(json!([{"name": "A", "generate": "expression", "from": "[a-z]{300}"}]), json!({"kind": "K"}));
    let error = broken.process(&ProcessOptions::default(), &mut ExpressionRandom::seeded(1)).unwrap_err().to_string();
    assert!(error.ends_with("range must be within [1-255] characters (300)"), "{error}");
    assert!(
        OpenShiftTemplate::read("kind: Pod\nmetadata: {name: p}")
            .unwrap_err()
            .to_string()
            .contains("not a valid Template but Pod")
    );
}

#[test]
fn templates_that_oc_rejects_are_rejected() {
    for parameter in [json!({"name": "A", "value": 5}), json!({"name": "A", "value": true}), json!({"name": 1})] {
        let whole = json!({"kind": "Template", "parameters": [parameter], "objects": []});
        let error = OpenShiftTemplate::from_object(whole).unwrap_err().to_string();
        assert!(error.contains("cannot unmarshal") && error.contains("of type string"), "{error}");
    }
    let error =
        OpenShiftTemplate::from_object(json!({"kind": "Template", "labels": {"a": 1}})).unwrap_err().to_string();
    assert!(error.contains("cannot unmarshal number"), "{error}");
    let template = template(json!([]), json!({"metadata": {"name": "n"}}));
    let error = template.process(&ProcessOptions::default(), &mut ExpressionRandom::seeded(1)).unwrap_err().to_string();
    assert!(
        error.contains("template.objects[0]: Invalid value") && error.contains("Object 'Kind' is missing"),
        "{error}"
    );
}
