#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn check(before: Option<Value>, after: Option<Value>, expected: &str) {
    let lines = diff(before.as_ref(), after.as_ref());
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(text, expected, "\n{text}");
}

fn deployment(replicas: u32, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "labels": { "app": "web" },
            "uid": image,
            "resourceVersion": image,
            "generation": replicas,
            "creationTimestamp": image,
            "managedFields": [{ "manager": image }],
        },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [
                    { "name": "log", "image": "log:1", "args": ["-v", "-q", "-f", "-x"] },
                    { "name": "web", "args": ["-a", "-b", "-c", "-d"], "image": image },
                ] },
            },
        },
    })
}

fn secret(data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "db" }, "data": data })
}

#[test]
fn created_objects_are_added_and_deleted_ones_removed() {
    let object = json!({ "kind": "ConfigMap", "metadata": { "name": "web", "uid": "u" }, "data": { "a": "1" } });
    check(None, Some(object.clone()), "+data:\n+  a: \"1\"\n+kind: ConfigMap\n+metadata:\n+  name: web\n");
    check(Some(object), None, "-data:\n-  a: \"1\"\n-kind: ConfigMap\n-metadata:\n-  name: web\n");
}

#[test]
fn server_metadata_is_no_difference() {
    let mut after = deployment(3, "web:1");
    after["metadata"]["resourceVersion"] = "9".into();
    after["metadata"]["managedFields"] = json!([]);
    check(Some(deployment(3, "web:1")), Some(after), "");
    check(None, None, "");
}

#[test]
fn a_change_is_shown_with_its_surroundings_and_the_keys_above_it() {
    check(
        Some(deployment(2, "web:1")),
        Some(deployment(3, "web:2")),
        "\x20  name: web
   namespace: shop
 spec:
-  replicas: 2
+  replicas: 3
   selector:
     matchLabels:
       app: web
   template:
 ...
     spec:
       containers:
 ...
       - args:
 ...
         - -b
         - -c
         - -d
-        image: web:1
+        image: web:2
         name: web
",
    );
}

#[test]
fn a_list_reports_created_and_deleted_objects() {
    let args = |args: Value| Some(json!({ "args": args }));
    check(
        args(json!(["a", "b", "c", "d"])),
        args(json!(["a", "c", "x", "d"])),
        " args:\n - a\n-- b\n - c\n+- x\n - d\n",
    );
}

#[test]
fn guarantees_no_value_of_a_secret_is_shown() {
    check(
        Some(secret(json!({ "gone": "cGFzcw==", "kept": "cGFzcw==", "other": "cGFzcw==" }))),
        Some(secret(json!({ "kept": "cGFzcw==", "new": "c2VjcmV0", "other": "c2VjcmV0" }))),
        "\x20apiVersion: v1
 data:
-  gone: <redacted>
   kept: <redacted>
-  other: <redacted>
+  new: <redacted>
+  other: <redacted,differs>
 kind: Secret
 metadata:
   name: db
",
    );
    let list = |value: &str| json!({ "kind": "List", "items": [secret(json!({ "a": "same" })), secret(json!({ "a": value }))] });
    let lines = diff(Some(&list("first")), Some(&list("second")));
    let changed: Vec<_> = lines.iter().filter(|line| line.sign != DiffSign::Same).map(DiffLine::to_string).collect();
    assert_eq!(changed, ["-    a: <redacted>", "+    a: <redacted,differs>"]);
}

#[test]
fn a_secret_in_an_annotation_is_redacted() {
    let applied = |value: &str| {
        let mut object = secret(json!({ "a": "same" }));
        let inner = secret(json!({ "a": value })).to_string();
        object["metadata"]["annotations"] = json!({ "kubectl.kubernetes.io/last-applied-configuration": inner });
        object
    };
    let text: String =
        diff(Some(&applied("cGFzcw==")), Some(&applied("c2VjcmV0"))).iter().map(DiffLine::to_string).collect();
    assert!(text.contains(REDACTED_OTHER) && !text.contains("cGFzcw") && !text.contains("c2VjcmV0"), "{text}");
}

#[test]
fn large_differences_are_shown_as_replacement() {
    let many = |offset: usize| json!({ "data": (0..1_100).map(|n| (n * 2 + offset).to_string()).collect::<Vec<_>>() });
    let lines = diff(Some(&many(0)), Some(&many(1)));
    let signs: Vec<_> = lines.iter().map(|line| line.sign).collect();
    assert_eq!(signs, [vec![DiffSign::Same], vec![DiffSign::Removed; 1_100], vec![DiffSign::Added; 1_100]].concat());
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!("one")), Just(json!(2)), Just(json!("two\nlines\n")), Just(Value::Null)];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::btree_map("[a-d]", inner.clone(), 0..4).prop_map(|fields| json!(fields)),
            proptest::collection::vec(inner, 0..4).prop_map(Value::Array),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn guarantees_the_lines_are_both_objects(before in value(), after in value()) {
        let (old, new) = (yaml::to_string(&before), yaml::to_string(&after));
        let lines = diff(Some(&before), Some(&after));
        prop_assert_eq!(lines.is_empty(), old == new);
        for (text, other) in [(old, DiffSign::Added), (new, DiffSign::Removed)] {
            let mut rest = text.lines();
            for line in lines.iter().filter(|line| line.sign != other && line.text != LEFT_OUT) {
                prop_assert!(rest.any(|text| text == line.text), "{} is not in its place in\n{}", line, text);
            }
        }
    }
}

#[test]
fn secret_looking_text_is_redacted_and_its_change_is_shown() {
    let plug = |password: &str| json!({"kind": "Plug", "spec": {"repo": format!("https://u:{password}@git/x"), "config": {"password": password}}});
    let text: Vec<String> =
        diff(Some(&plug("one-one")), Some(&plug("two-two"))).iter().map(ToString::to_string).collect();
    let text = text.join("\n");
    assert!(!text.contains("one-one") && !text.contains("two-two"), "{text}");
    assert!(text.contains("+    password: <redacted,differs>"), "{text}");
    assert!(text.contains("https://<redacted,differs>@git/x"), "{text}");
}
