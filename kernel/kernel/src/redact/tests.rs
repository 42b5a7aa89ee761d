#![allow(clippy::unwrap_used)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::resource::Resource;

const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

fn secret(key: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {key: STANDARD.encode(value)}})
}

#[test]
fn values_of_a_secret_are_masked_and_keys_stay() {
    let mut object = secret("password", "hunter2");
    object["stringData"] = json!({"user": "root"});
    let masked = redact_secrets(&object);
    assert_eq!(masked["data"], json!({"password": REDACTED}));
    assert_eq!(masked["stringData"], json!({"user": REDACTED}));
    assert_eq!(masked["metadata"], object["metadata"]);
}

#[test]
fn other_kinds_are_left_alone() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
    assert_eq!(redact_secrets(&map), map);
    let foreign = json!({"apiVersion": "example.com/v1", "kind": "Secret", "data": {"a": "b"}});
    assert_eq!(redact_secrets(&foreign), foreign);
}

#[test]
fn lists_and_carried_manifests_are_masked() {
    let typed = json!({"kind": "SecretList", "items": [{"metadata": {}, "data": {"a": "b"}}]});
    assert_eq!(redact_secrets(&typed)["items"][0]["data"]["a"], REDACTED);
    let list = json!({"kind": "List", "items": [secret("a", "b")]});
    assert_eq!(redact_secrets(&list)["items"][0]["data"]["a"], REDACTED);
    let carrier = json!({"kind": "Work", "spec": {"manifests": [secret("a", "b")]}});
    assert_eq!(redact_secrets(&carrier)["spec"]["manifests"][0]["data"]["a"], REDACTED);
}

#[test]
fn the_last_applied_annotation_is_masked() {
    let mut object = secret("password", "hunter2");
    object["metadata"]["annotations"] = json!({LAST_APPLIED: secret("password", "hunter2").to_string()});
    let text = redact_secrets(&object).to_string();
    assert!(!text.contains(&STANDARD.encode("hunter2")), "{text}");
    assert!(text.contains(LAST_APPLIED));
    object["metadata"]["annotations"][LAST_APPLIED] = "{not json".into();
    assert_eq!(redact_secrets(&object)["metadata"]["annotations"][LAST_APPLIED], REDACTED);
}

#[test]
fn odd_values_are_masked_whole() {
    let object = json!({"kind": "Secret", "data": "hunter2", "stringData": {"a": {"b": "hunter2"}, "gone": null}});
    let masked = redact_secrets(&object);
    assert_eq!(masked["data"], REDACTED);
    assert_eq!(masked["stringData"], json!({"a": REDACTED, "gone": null}));
}

#[test]
fn patches_of_secrets_are_masked_by_the_kind_they_are_for() {
    let merge = Mutation::patch(&SECRETS, "shop", "db", PatchType::Merge, json!({"data": {"a": "aHVudGVyMg=="}}));
    assert_eq!(
        redact_secret_mutation(&merge).operation,
        WriteOp::Patch { patch_type: PatchType::Merge, body: json!({"data": {"a": REDACTED}}) }
    );
    let operations = json!([
        {"op": "replace", "path": "/data/a", "value": "aHVudGVyMg=="},
        {"op": "add", "path": "/metadata/labels/app", "value": "web"},
        {"op": "replace", "path": "", "value": {"data": {"a": "aHVudGVyMg=="}}},
    ]);
    let masked = redact_secret_mutation(&Mutation::patch(&SECRETS, "shop", "db", PatchType::Json, operations));
    let WriteOp::Patch { body, .. } = masked.operation else { panic!() };
    assert!(!body.to_string().contains("aHVudGVyMg"), "{body}");
    assert_eq!(body[1]["value"], "web");
}

#[test]
fn known_values_are_found_wherever_they_are() {
    let secrets =
        Redactor::from([&secret("password", "hunter2\n"), &json!({"kind": "ConfigMap", "data": {"a": "public"}})]);
    assert_eq!(secrets.redact("login root:hunter2 failed"), format!("login root:{REDACTED} failed"));
    assert_eq!(secrets.redact(&format!("b64 {}", STANDARD.encode("hunter2\n"))), format!("b64 {REDACTED}"));
    assert_eq!(secrets.redact("public"), "public");
    let value = secrets.redact_value(&json!({"hunter2": ["x hunter2 y", 1, null]}));
    assert_eq!(value, json!({REDACTED: [format!("x {REDACTED} y"), 1, null]}));
    assert!(!format!("{secrets:?}").contains("hunter2"));
}

#[test]
fn numbers_that_are_secrets_are_masked() {
    let secrets = Redactor::from([&secret("pin", "12345678")]);
    assert_eq!(secrets.redact_value(&json!({"pin": 12345678, "port": 80})), json!({"pin": REDACTED, "port": 80}));
}

#[test]
fn overlapping_values_leave_no_end() {
    let secrets = Redactor::from([&secret("a", "abcdefgh"), &secret("b", "efghijkl"), &secret("c", "abcdefghij")]);
    assert_eq!(secrets.redact("<abcdefghijkl>"), format!("<{REDACTED}>"));
    assert_eq!(secrets.redact("abcdefgh efghijkl"), format!("{REDACTED} {REDACTED}"));
}

#[test]
fn a_value_longer_than_the_search_text_is_masked_to_its_end() {
    // All parts differ, so that the text is found only at its start.
    let long: String = (0..MAX_VALUE_BYTES / 8 + 13).map(|number| format!("{number:07}.")).collect();
    let long = format!("{long}end");
    let secrets = Redactor::from([&secret("bundle", &long)]);
    assert_eq!(secrets.redact(&format!("<{long}> is no bundle")), format!("<{REDACTED}> is no bundle"));
    assert_eq!(secrets.redact(&STANDARD.encode(&long)), REDACTED, "in its other form as well");
    // A truncated copy, and one with another text after its start: everything after the start is masked, at character
    // boundaries.
    assert_eq!(secrets.redact(&long[..long.len() - 9]), REDACTED);
    let other = format!("{}{} behind it", &long[..MAX_VALUE_BYTES], "ä".repeat(200));
    let scrubbed = secrets.redact(&other);
    assert!(scrubbed.starts_with(REDACTED) && scrubbed.ends_with(" behind it"), "{scrubbed}");
}

#[test]
fn short_and_public_values_are_no_secrets() {
    let mut token = secret("token", "eyJhbGciOi.long");
    token["type"] = "kubernetes.io/service-account-token".into();
    token["data"]["namespace"] = STANDARD.encode("default").into();
    let secrets = Redactor::from([&token, &secret("user", "root")]);
    assert_eq!(secrets.redact("root in default with eyJhbGciOi.long"), format!("root in default with {REDACTED}"));
}

/// Ten thousand Secrets with the same start. Comparing all of them with each other would take minutes.
#[test]
fn many_secrets_with_an_equal_start_are_found_quickly() {
    let value = |number: usize| format!("postgres://shop:{number:064}@db/shop");
    let mut secrets = Redactor::default();
    (0..10_000).for_each(|number| {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"url": value(number)}});
        secrets.add_object(&secret);
    });
    for number in (0..3_000).step_by(7) {
        assert_eq!(secrets.redact(&format!("no {}!", value(number))), format!("no {REDACTED}!"));
    }
    let other = value(20_001);
    assert_eq!(secrets.redact(&other), other);
}

proptest! {
    #[test]
    fn no_value_survives(values in prop::collection::vec("[a-cé]{6,9}", 1..6), text in "[a-cé ]{0,40}", at in 0usize..6) {
        let objects: Vec<Value> = values.iter().map(|v| secret("k", v)).collect();
        let secrets = Redactor::from(&objects);
        let text = format!("{text}{}{text}", values[at % values.len()]);
        let clean = secrets.redact(&text);
        for value in &values {
            prop_assert!(!clean.contains(value.as_str()), "{clean} holds {value}");
        }
        prop_assert!(clean.contains(REDACTED));
    }

    #[test]
    fn text_without_secrets_stays(text in "\\PC{0,60}") {
        prop_assert_eq!(Redactor::from([&secret("k", "hunter2-not-in-text-ever")]).redact(&text), text);
    }
}

#[test]
fn extracted_parts_of_values_are_masked() {
    let login = STANDARD.encode("robot:token-of-the-robot");
    for (value, part) in [
        ("user=x;pass=inner-token", "inner-token"),
        ("postgres://shop:inner-token@db/shop", "inner-token"),
        ("users:\n- name: admin\n  user: {token: inner-token}\n", "inner-token"),
        (r#"{"auths": {"r": {"password": "inner-token"}}}"#, "inner-token"),
        (&format!(r#"{{"auths": {{"r": {{"auth": "{login}"}}}}}}"#), "token-of-the-robot"),
    ] {
        let secrets = Redactor::from([&secret("all", value)]);
        assert_eq!(secrets.redact(&format!("pw={part}.")), format!("pw={REDACTED}."), "{value}");
    }
    // Words beside a secret are not secret.
    let secrets = Redactor::from([&secret("all", "server: example\ntoken: inner-token\n")]);
    assert_eq!(secrets.redact("the token of a server"), "the token of a server");
}

#[test]
fn names_in_the_record_of_a_coupling_are_no_secrets() {
    let record = STANDARD.encode(r#"{"inventory":[{"name":"settings-of-web"}]}"#);
    let config = STANDARD.encode(r#"{"password":"hunter2-hunter2"}"#);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "integration.rock8s.com/coupling",
        "data": {"record": record, "config": config}});
    let secrets = Redactor::from([&secret]);
    assert_eq!(secrets.redact("settings-of-web is forbidden"), "settings-of-web is forbidden");
    assert!(!secrets.redact("the password is hunter2-hunter2").contains("hunter2"));
}

#[test]
fn a_write_to_a_secret_is_masked_though_its_body_does_not_say_what_it_is() {
    let of = json!({"group": "", "version": "v1", "resource": "secrets"});
    let merge = json!({"of": of, "patchType": "merge", "body": {"stringData": {"p": "hunter2"}}});
    let operations = json!([{"op": "replace", "path": "/data/p", "value": "hunter2"}]);
    let wanted = json!({"of": of, "patchType": "json", "body": operations});
    let plan = json!(Mutation::patch(&SECRETS, "shop", "db", PatchType::Merge, json!({"data": {"p": "hunter2"}})));
    let create = json!(Mutation::create(&SECRETS, json!({"metadata": {"name": "db"}, "data": {"p": "hunter2"}})));
    for written in [merge, wanted, plan, create] {
        let masked = redact_secrets(&json!({"mutations": [written]})).to_string();
        assert!(!masked.contains("hunter2") && masked.contains(REDACTED), "{masked}");
    }
    let other =
        json!({"of": {"group": "x.io", "version": "v1", "resource": "secrets"}, "body": {"data": {"p": "open"}}});
    assert_eq!(redact_secrets(&other), other);
}
