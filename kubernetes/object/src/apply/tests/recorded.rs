//! Sequences of writes with the recorded results of kube-apiserver's field manager: `cases/apply/*.jsonl`, one step per
//! line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;

/// Returns a schema in two versions, which differ in the parts that are atomic.
pub(super) fn schema(version: &str) -> Schema {
    let text = match version {
        "ex.io/v1" => include_str!("../../../cases/apply/schema-v1.json"),
        _ => include_str!("../../../cases/apply/schema-v2.json"),
    };
    Schema::from_json(&serde_json::from_str(text).unwrap())
}

fn files() -> Vec<PathBuf> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/apply");
    // More cases can be generated with the same schema and checked without adding them to the repository.
    let more = std::env::var_os("APPLY_CASES").map(PathBuf::from);
    let carried = std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path());
    carried.chain(more).filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect()
}

/// Sorts the lines of a message, because Go orders them at random.
fn sorted_lines(message: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = message.lines().collect();
    lines.sort_unstable();
    lines
}

pub(super) fn same_refusal(status: &Status, step: &Value) -> bool {
    let expected = step["Error"].as_str().unwrap();
    // An undeclared field ends the walk, and the fields visited before it are random.
    if expected.contains("field not declared in schema") {
        return status.message.contains("field not declared in schema");
    }
    let mut causes: Vec<String> = status
        .details
        .iter()
        .flat_map(|d| d["causes"].as_array().into_iter().flatten())
        .map(|c| format!("{}|{}", c["field"].as_str().unwrap(), c["message"].as_str().unwrap()))
        .collect();
    let mut wanted: Vec<&str> = step["Causes"].as_array().into_iter().flatten().map(|c| c.as_str().unwrap()).collect();
    causes.sort_unstable();
    wanted.sort_unstable();
    let code = step["Code"].as_u64().unwrap();
    causes == wanted
        && (code == 0 || (u64::from(status.code) == code && status.reason == step["Reason"]))
        && sorted_lines(&status.message) == sorted_lines(expected)
}

fn run(step: &Value, schemas: &[(String, Option<Arc<Schema>>)]) -> Result<Value, Status> {
    let text = |name: &str| step[name].as_str().unwrap();
    let version = text("Version");
    let deduced = ["ex.io/v1", "ex.io/v2"].map(|v| (v.to_string(), None));
    let schemas = if step["Deduced"] == true { &deduced } else { schemas };
    let own = schemas.iter().find(|(v, _)| v == version).unwrap().1.as_deref();
    let typed = KindSchema { definitions: &DEFINITIONS, schema: own, custom: true, versions: schemas };
    let writer = WriteOrigin {
        manager: text("Manager"),
        api_version: version,
        kind: "Thing",
        subresource: text("Subresource"),
        now: text("Now"),
    };
    let reset = ResetFields::custom(version, writer.subresource, true);
    let live = Some(&step["Live"]).filter(|live| !live.is_null());
    if step["Op"] == "apply" {
        return apply(live, &step["Input"], writer, typed, step["Force"] == true, &reset);
    }
    let mut new = step["Input"].clone();
    update(live, &mut new, writer, typed, &reset);
    Ok(new)
}

#[test]
fn recorded_writes_match_upstream() {
    let schemas: Vec<_> = ["ex.io/v1", "ex.io/v2"].map(|v| (v.to_string(), Some(Arc::new(schema(v))))).into();
    let (mut steps, mut wrong) = (0, Vec::new());
    for file in files() {
        for (line, text) in std::fs::read_to_string(&file).unwrap().lines().enumerate() {
            let step: Value = serde_json::from_str(text).unwrap();
            steps += 1;
            let answer = run(&step, &schemas);
            let right = match &answer {
                Ok(object) => step["Error"] == "" && *object == step["Result"],
                Err(status) => step["Error"] != "" && same_refusal(status, &step),
            };
            if !right {
                let expected = if step["Error"] == "" { step["Result"].to_string() } else { step["Error"].to_string() };
                let got = answer.map_or_else(|status| status.message, |object| object.to_string());
                let input = &step["Input"];
                wrong.push(format!(
                    "{}:{}: {} by {} at {} {:?}\nlive     {}\ninput    {input}\nexpected {expected}\ngot      {got}\n",
                    file.display(),
                    line + 1,
                    step["Op"],
                    step["Manager"],
                    step["Version"],
                    step["Subresource"],
                    step["Live"],
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {steps} steps differ; the first:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(3)].join("\n")
    );
}
