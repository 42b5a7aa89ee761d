//! Results recorded from Go for selectors, JSONPath and patches, one per line of data/go.jsonl.
#![allow(clippy::unwrap_used)]

use std::io::BufRead;

use serde_json::Value;
use switchboard_object::jsonpath::JsonPathTemplate;
use switchboard_object::patch::{json, merge, strategic};
use switchboard_object::schema::{Definitions, Schema};
use switchboard_object::selector::{FieldSelector, LabelSelector};

/// Variable with the path of another file of recorded results to compare with.
const MORE: &str = "SWITCHBOARD_GO_ANSWERS";

fn ours(definitions: &Definitions, case: &Value) -> Result<String, String> {
    let text = case["text"].as_str().unwrap_or_default();
    let (doc, patch) = (case["doc"].clone(), case["patch"].clone());
    let strategic = |kind: &str| {
        let schema = Schema::from_json(&serde_json::json!({"$ref": kind}));
        strategic::apply(definitions, &schema, doc.clone(), patch.clone())
    };
    let written = |value: Value| switchboard_object::json::to_string(&value);
    match case["kind"].as_str().unwrap() {
        "label" => LabelSelector::parse(text).map(|s| s.to_string()).map_err(|e| e.to_string()),
        "field" => FieldSelector::parse(text).map(|s| s.to_string()).map_err(|e| e.to_string()),
        kind @ ("path" | "path-missing") => {
            let found = JsonPathTemplate::parse(text).and_then(|p| p.print(&doc, kind == "path-missing"));
            found.map_err(|e| e.to_string())
        }
        "jsonpatch" => json::apply(doc, &patch).map(written).map_err(|e| e.to_string()),
        "merge" => merge::apply(doc, patch).map(written).map_err(|e| e.to_string()),
        "pod" => strategic("io.k8s.api.core.v1.Pod").map(written).map_err(|e| e.to_string()),
        "deployment" => strategic("io.k8s.api.apps.v1.Deployment").map(written).map_err(|e| e.to_string()),
        other => panic!("no such kind of case: {other}"),
    }
}

fn check(reader: impl BufRead) {
    let definitions = Definitions::from_json(&serde_json::from_str(switchboard_object::SCHEMAS).unwrap());
    let (mut count, mut wrong) = (0, Vec::new());
    for line in reader.lines() {
        let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
        // Go keeps the order of keys that it did not decode.
        let sorted = |text: &str| serde_json::from_str::<Value>(text).map(|v| switchboard_object::json::to_string(&v));
        let expected = match case["err"].as_str().unwrap() {
            "" if case.get("patch").is_some() => Ok(sorted(case["result"].as_str().unwrap()).unwrap()),
            "" => Ok(case["result"].as_str().unwrap().to_string()),
            error => Err(error.to_string()),
        };
        count += 1;
        let ours = ours(&definitions, &case);
        if ours != expected {
            wrong.push(format!(
                "{} {} {} {}\n  Go:   {expected:?}\n  ours: {ours:?}",
                case["kind"], case["text"], case["doc"], case["patch"]
            ));
        }
    }
    assert!(count > 0, "there are no cases");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn results_match_go() {
    check(std::io::Cursor::new(include_str!("../data/go.jsonl")));
    if let Some(file) = std::env::var_os(MORE) {
        check(std::io::BufReader::new(std::fs::File::open(file).unwrap()));
    }
}
