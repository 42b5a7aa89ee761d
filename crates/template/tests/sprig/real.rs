//! The same cases asked of the living Go packages, and the calls of Helm charts whose answers are at hand.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use switchboard_template::sprig::Sprig;
use switchboard_template::{Numbers, Options, Set, Value, format};

use super::{CASES, functions, world};

/// The data of all cases, as the oracle reads it.
fn data() -> Json {
    json!({
        "nil": null, "str": "text", "empty": "", "int": 7, "neg": -3, "float": 2.5, "yes": true, "no": false,
        "list": ["b", "a", 3, null, "a"], "none": [],
        "strs": {"$type": "[]string", "value": ["x", "y", ""]},
        "ints": {"$type": "[]int", "value": [3, 1, 2]},
        "map": {"a": 1, "b": {"c": "d"}, "n": null, "l": [1, 2]},
        "strmap": {"$type": "map[string]string", "value": {"k": "v"}},
        "nomap": {},
        "bytes": {"$type": "[]uint8", "value": "cmF3/w=="},
        "bad": {"$type": "string", "value": "Yf9i"},
        "i64": {"$type": "int64", "value": 90},
        "u8": {"$type": "uint8", "value": 200},
        "f32": {"$type": "float32", "value": 1.5},
        "big": {"$type": "float64", "value": "1e21"},
        "nested": [[1], {"z": "<&>"}],
    })
}

fn ask(lines: &[String]) -> Vec<Json> {
    let folder = std::env::var("SWITCHBOARD_REAL_BIN").expect("SWITCHBOARD_REAL_BIN: run `make test-real`");
    let program = PathBuf::from(folder).join("oracle");
    let mut child =
        Command::new(program).env("TZ", "UTC").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = lines.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn recorded_answers_are_what_go_says() {
    let cases: Vec<Json> = serde_json::from_str(CASES).unwrap();
    // TOML is Helm's, not sprig's.
    let asked: Vec<&Json> = cases.iter().filter(|case| !case["tmpl"].as_str().unwrap().contains("Toml")).collect();
    let line = |case: &&Json| {
        let functions = if case["sprig"] == "v2" { "sprig2" } else { "sprig3" };
        json!({"kind": "text", "template": case["tmpl"], "functions": functions, "data": data()}).to_string()
    };
    let answers = ask(&asked.iter().map(line).collect::<Vec<_>>());
    assert_eq!(answers.len(), asked.len());
    for (case, answer) in asked.iter().zip(answers) {
        if let Some(expected) = case["err"].as_str() {
            assert_eq!(answer["err"].as_str().unwrap(), expected, "{}", case["tmpl"]);
        } else if answer["bytes"].is_null() {
            let quoted = format::quote::quote(answer["out"].as_str().unwrap().as_bytes());
            assert_eq!(quoted, case["out"].as_str().unwrap(), "{}", case["tmpl"]);
        }
    }
}

/// Calls of charts that need no more than sprig: no `include`, no `toYaml`, nothing of a release.
#[test]
fn calls_of_charts_are_answered_as_helm_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/templates");
    let read = |name: &str| -> Json {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap()
    };
    let (cases, expected) = (read("helm-calls.cases.json"), read("helm-calls.expected.json"));
    let values = switchboard_object::yaml::read(cases["values"].as_str().unwrap()).unwrap().value;
    let values = Value::from_json(&values, Numbers::Float);
    let helms = [
        "include",
        "tpl",
        "required",
        "lookup",
        "Yaml",
        "Toml",
        "fromJson",
        "define",
        "Release",
        "Chart",
        "Files",
        "Capabilities",
        "Template",
    ];
    let functions = functions(Sprig::V3);
    let (mut count, mut wrong) = (0, Vec::new());
    for (case, expected) in cases["cases"].as_array().unwrap().iter().zip(expected.as_array().unwrap()) {
        let template = case["tmpl"].as_str().unwrap();
        if helms.iter().any(|word| template.contains(word)) || expected["Err"] != "" {
            continue;
        }
        count += 1;
        let world = world();
        let hosts: [&dyn std::any::Any; 1] = [&world];
        let options = Options { hosts: &hosts, ..Options::default() };
        let mut set = Set::new("t", Arc::clone(&functions));
        let parsed = set.parse("t", template);
        let data = Value::map([("Values", values.clone())]);
        let found = parsed.and_then(|()| Arc::new(set).render("t", &data, &options));
        let found = found.map(|out| String::from_utf8_lossy(&out).into_owned().replace("<no value>", ""));
        match found {
            Ok(out) if out == expected["Out"].as_str().unwrap() => {}
            other => wrong.push(format!("{template}\n  {other:?}\n  {}", expected["Out"])),
        }
    }
    assert!(count > 150, "{count}");
    assert!(wrong.is_empty(), "{}\n{} of {count}", wrong.join("\n"), wrong.len());
}
