//! CustomResourceDefinitions, with responses recorded from kube-apiserver.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

use serde_json::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::schema::{crd_warnings, decode, default_crd, validate_crd};

#[test]
fn definitions_match_the_recordings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/crd");
    let mut wrong = Vec::new();
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let document: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for (index, case) in document["cases"].as_array().unwrap().iter().enumerate() {
            checked += 1;
            let (found, expected) = (answer(&case["crd"]), recorded_result(case));
            if found != expected {
                let name = path.file_name().unwrap().to_string_lossy().to_string();
                let spec = &case["crd"]["spec"];
                wrong.push(format!("{name} {index} {spec}\n  found    {found:#?}\n  expected {expected:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn answer(crd: &Value) -> (Vec<String>, Vec<String>) {
    let kind = GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let (mut crd, mut warnings) = decode(&kind, crd.clone()).unwrap();
    default_crd(&mut crd);
    let errors = validate_crd(&crd);
    let mut texts: Vec<String> =
        errors.iter().map(|e| format!("{}|{}|{}", e.field, e.kind.reason(), masked(&e.message()))).collect();
    texts.sort();
    if texts.is_empty() {
        warnings.extend(crd_warnings(&crd));
    }
    (texts, warnings)
}

fn recorded_result(case: &Value) -> (Vec<String>, Vec<String>) {
    let texts = |key: &str| -> Vec<String> {
        case[key].as_array().into_iter().flatten().map(|text| masked(text.as_str().unwrap())).collect()
    };
    let warnings = if texts("errors").is_empty() { texts("warnings") } else { Vec::new() };
    (texts("errors"), warnings)
}

/// Masks the name of the type of `self`, which ends in the time.
fn masked(text: &str) -> String {
    const NAME: &str = "selfType";
    match text.split_once(NAME) {
        Some((head, tail)) => format!("{head}{NAME}{}", tail.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => text.to_string(),
    }
}
