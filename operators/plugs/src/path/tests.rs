#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;

/// Results of gjson 1.17.0, recorded on objects in the JSON format of the API machinery.
const RECORDED: &str = include_str!("../../tests/paths/gjson.json");

#[test]
fn paths_answer_what_gjson_answers() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, answers) in recorded["answers"].as_object().unwrap() {
        let document = &recorded["documents"][name];
        for answer in answers.as_array().unwrap() {
            let path = answer["path"].as_str().unwrap();
            let ours = text(document, path).unwrap();
            count += 1;
            if ours.as_deref() != answer["text"].as_str() {
                wrong.push(format!("{name} {path}: {ours:?}, gjson says {}", answer["text"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 250);
}

fn service() -> Value {
    json!({"metadata": {"name": "db", "annotations": {"example.com/a.b": "x", "plain": "y"}},
        "spec": {"ports": [{"name": "sql", "port": 5432}, {"name": "admin", "port": 8080}], "flags": ["-a", "-b=c.d"]}})
}

#[test]
fn kustomize_s_forms_are_understood() {
    let read = |path: &str| text(&service(), path).unwrap();
    let some = |text: &str| Some(text.to_string());
    assert_eq!(read(""), some("db"), "nothing at all is metadata.name");
    assert_eq!(read("spec.ports[1].port"), some("8080"));
    assert_eq!(read("spec.ports.[name=admin].port"), some("8080"));
    assert_eq!(read("spec.ports[name=admin].port"), some("8080"));
    assert_eq!(read("spec.flags.[=-b=c.d]"), some("-b=c.d"));
    assert_eq!(read("spec.ports.[port=5432].name"), some("sql"));
    assert_eq!(read("metadata.annotations[example.com/a.b]"), some("x"));
    assert_eq!(read("metadata.annotations['example.com/a.b']"), some("x"));
    assert_eq!(read("metadata.annotations[\"plain\"]"), some("y"));
    assert_eq!(read(r"metadata.annotations.example\.com/a\.b"), some("x"));
    assert_eq!(read("spec.ports[7].port"), None);
    assert_eq!(read("spec.ports.[name=none].port"), None);
    assert_eq!(read("spec.flags[0]"), some("-a"));
}

#[test]
fn values_keep_their_kind() {
    assert_eq!(read(&service(), "spec.ports.0.port").unwrap(), Some(json!(5432)));
    assert_eq!(read(&service(), "spec.ports.#.name").unwrap(), Some(json!(["sql", "admin"])));
    assert_eq!(read(&service(), "spec.nothing").unwrap(), None);
    assert_eq!(read(&json!({"a": null}), "a").unwrap(), Some(Value::Null));
}

#[test]
fn a_path_that_leads_nowhere_in_any_object_is_an_error() {
    assert_eq!(read(&service(), "spec.ports[0.port"), Err(PathError::Unclosed('[')));
    assert_eq!(read(&service(), "spec.ports.#(name==\"a\""), Err(PathError::Unclosed('(')));
    assert_eq!(read(&service(), &"a.".repeat(4000)), Err(PathError::TooLong(8000)));
}

#[test]
fn work_is_bounded() {
    for costly in [["[@this,@this]"; 200].join("|"), ["@tostr"; 200].join("|"), ["@dig:@this"; 200].join("|")] {
        assert!(read(&service(), &costly) == Err(PathError::TooCostly), "{}", &costly[..20]);
    }
}

proptest::proptest! {
    #[test]
    fn guarantees_no_path_panics(path in "[a-z0-9.|#@!\\[\\](){}\"\\\\*?:=<>%~, ]{0,40}") {
        let _ = text(&service(), &path);
    }

    #[test]
    fn guarantees_a_plain_key_is_found(key in "[a-z][a-z0-9/-]{0,12}") {
        let object = json!({"data": {key.clone(): "v"}});
        let found = text(&object, &format!("data.{key}")).unwrap();
        assert_eq!(found.as_deref(), Some("v"));
    }
}
