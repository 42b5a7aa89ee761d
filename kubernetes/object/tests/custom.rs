//! Custom resources against schemas, with responses recorded from kube-apiserver, one file per schema.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

use serde_json::{Map, Value, json};
use switchboard_object::field::FieldError;
use switchboard_object::schema::{CustomSchema, DecodeError};

/// Recorded response: unknown fields, and the object or the error.
#[derive(Debug, PartialEq)]
struct RecordedAnswer {
    warnings: Vec<String>,
    outcome: RecordedOutcome,
}

#[derive(Debug, PartialEq)]
enum RecordedOutcome {
    Stored(Value),
    Invalid(Vec<String>),
    Refused(String),
}

#[test]
fn custom_resources_match_the_recordings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/custom");
    let mut wrong = Vec::new();
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let document: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let schema = CustomSchema::new(&document["schema"], true);
        for (index, case) in document["cases"].as_array().unwrap().iter().enumerate() {
            checked += 1;
            let (found, expected) = (answer(&schema, case), recorded_answer(case));
            if found != expected {
                let name = path.file_name().unwrap().to_string_lossy().to_string();
                let object = &case["object"];
                wrong.push(format!("{name} {index} {object}\n  found    {found:?}\n  expected {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn answer(schema: &CustomSchema, case: &Value) -> RecordedAnswer {
    // Rules see the type and the name.
    let mut object = case["object"].clone();
    object["apiVersion"] = json!("schema.example.com/v1");
    object["kind"] = json!("Kind");
    object["metadata"]["name"] = json!("o1");
    let mut warnings = match schema.read(&mut object) {
        Ok(warnings) => warnings,
        Err(DecodeError::Value(text)) => {
            return RecordedAnswer { warnings: vec![], outcome: RecordedOutcome::Refused(text) };
        }
        Err(other) => panic!("{other}"),
    };
    schema.default(&mut object);
    let (errors, old_failures) = schema.validate(&object, case.get("old"), &|_, _| Vec::new());
    let outcome = match errors.as_slice() {
        [] => RecordedOutcome::Stored(without_type(object)),
        errors => {
            let mut texts: Vec<String> = errors.iter().map(display_error).collect();
            texts.sort();
            RecordedOutcome::Invalid(texts)
        }
    };
    warnings.extend(old_failures);
    RecordedAnswer { warnings, outcome }
}

fn display_error(error: &FieldError) -> String {
    format!("{}|{}|{}", error.field, error.kind.reason(), error.message())
}

fn without_type(mut object: Value) -> Value {
    let map = object.as_object_mut().unwrap();
    map.remove("apiVersion");
    map.remove("kind");
    map["metadata"].as_object_mut().unwrap().remove("name");
    map.retain(|key, value| key != "metadata" || *value != json!({}));
    object
}

fn recorded_answer(case: &Value) -> RecordedAnswer {
    let texts = |key: &str| -> Vec<String> {
        case[key].as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_string()).collect()
    };
    let outcome = if case.get("errors").is_some() {
        RecordedOutcome::Invalid(texts("errors"))
    } else if let Some(text) = case.get("refused") {
        let text = text.as_str().unwrap();
        RecordedOutcome::Refused(
            text.split_once(" cannot be handled as a KIND: ").map_or(text, |(_, tail)| tail).to_string(),
        )
    } else {
        RecordedOutcome::Stored(
            case["result"].as_object().cloned().map(Value::Object).unwrap_or(Value::Object(Map::new())),
        )
    };
    RecordedAnswer { warnings: texts("warnings"), outcome }
}
