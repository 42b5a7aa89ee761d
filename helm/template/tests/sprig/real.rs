//! The same cases against the running Go packages, and recorded calls of Helm charts.

#[path = "../go/shared_data.rs"]
mod shared_data;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use shared_data::shared_data;
use switchboard_template::sprig::SprigVersion;
use switchboard_template::{ExecutionOptions, JsonNumbers, TemplateSet, Value};

use super::{CASES, functions, system_inputs};

/// Returns the data of all cases, as the oracle reads it.
pub fn data() -> Json {
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

pub fn run_oracle(lines: &[String]) -> Vec<Json> {
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

/// Returns Go's result in the form of the cases: output quoted as `%q`, or the error.
pub fn output_or_error(answer: &Json) -> (&'static str, String) {
    let out = match answer["bytes"].as_str() {
        Some(bytes) => STANDARD.decode(bytes).unwrap(),
        None => answer["out"].as_str().unwrap().as_bytes().to_vec(),
    };
    match answer["err"].as_str().unwrap() {
        "" => ("out", switchboard_object::quote::quote_bytes(&out)),
        error => ("err", error.to_string()),
    }
}

/// `UPDATE=1` records Go's results.
#[test]
fn recorded_results_match_go() {
    let mut cases: Vec<Json> = serde_json::from_str(CASES).unwrap();
    // The TOML functions are Helm's, not sprig's, so their recorded results stay.
    let is_queried = |case: &&mut Json| !case["tmpl"].as_str().unwrap().contains("Toml");
    let line = |case: &mut Json| {
        let functions = if case["sprig"] == "v2" { "sprig2" } else { "sprig3" };
        json!({"kind": "text", "template": case["tmpl"], "functions": functions, "data": data()}).to_string()
    };
    let answers = run_oracle(&cases.iter_mut().filter(is_queried).map(line).collect::<Vec<_>>());
    let update = std::env::var_os("UPDATE").is_some();
    for (case, answer) in cases.iter_mut().filter(is_queried).zip(&answers) {
        let (key, text) = output_or_error(answer);
        if update {
            let entries = case.as_object_mut().unwrap();
            entries.retain(|key, _| key == "tmpl" || key == "sprig");
            entries.insert(key.to_string(), text.into());
        } else {
            assert_eq!(case[key].as_str(), Some(text.as_str()), "{}", case["tmpl"]);
        }
    }
    assert!(answers.len() > 6_000, "{} answers", answers.len());
    if update {
        let lines: Vec<String> = cases.iter().map(Json::to_string).collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sprig/cases.json");
        std::fs::write(path, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
}

/// Go reads the keys and certificates of this crate and signs with its authorities, which fails unless key and
/// certificate match.
#[test]
fn go_accepts_generated_keys_and_certificates() {
    let (functions, world) = (functions(SprigVersion::V3), system_inputs());
    let lists = r#"(list "10.0.0.1" "::1") (list "a.example" "b") 10"#;
    let with_key = |kind: &str| {
        format!(
            r#"{{{{ $k := genPrivateKey "{kind}" }}}}{{{{ $ca := genCAWithKey "ca" 10 $k }}}}
            {{{{ $c := genSignedCertWithKey "x" {lists} $ca (genPrivateKey "{kind}") }}}}"#
        )
    };
    let random = format!(r#"{{{{ $ca := genCA "my ca" 10 }}}}{{{{ $c := genSignedCert "" {lists} $ca }}}}"#);
    let made = [random, with_key("ecdsa"), with_key("ed25519")].map(|template| {
        let show = "{{ dict \"ca\" $ca.Cert \"cakey\" $ca.Key \"cert\" $c.Cert \"key\" $c.Key | toJson }}";
        let hosts: [&dyn std::any::Any; 1] = [&world];
        let options = ExecutionOptions { hosts: &hosts, ..ExecutionOptions::default() };
        let mut set = TemplateSet::new("t", Arc::clone(&functions));
        set.parse("t", format!("{template}{show}")).unwrap();
        let out = Arc::new(set).render("t", &Value::Nil, &options).unwrap();
        serde_json::from_slice::<Json>(&out).unwrap()
    });
    let check = "{{ $ca := buildCustomCert (b64enc .ca) (b64enc .cakey) }}{{ $c := buildCustomCert (b64enc .cert) (b64enc .key) }}\
                 {{ (genSignedCertWithKey \"y\" (list) (list) 1 $ca .key).Key | eq $c.Key }}";
    let line =
        |data: &Json| json!({"kind": "text", "template": check, "functions": "sprig3", "data": data}).to_string();
    for answer in run_oracle(&made.iter().map(line).collect::<Vec<_>>()) {
        assert_eq!((answer["out"].as_str(), answer["err"].as_str()), (Some("true"), Some("")));
    }
}

/// Calls of charts that only need sprig: no `include`, no `toYaml`, no release.
#[test]
fn chart_calls_match_helm() {
    let Some(folder) = shared_data("templates") else { return };
    let read = |name: &str| -> Json {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap()
    };
    let (cases, expected) = (read("helm-calls.cases.json"), read("helm-calls.expected.json"));
    let values = switchboard_object::yaml::read(cases["values"].as_str().unwrap()).unwrap().value;
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
        "Subcharts",
        "getHostByName",
        "typeOf .Values }",
    ];
    let functions = functions(SprigVersion::V3);
    let (mut count, mut wrong) = (0, Vec::new());
    for (case, expected) in cases["cases"].as_array().unwrap().iter().zip(expected.as_array().unwrap()) {
        let template = case["tmpl"].as_str().unwrap();
        if helms.iter().any(|word| template.contains(word)) || expected["Err"] != "" {
            continue;
        }
        count += 1;
        let world = system_inputs();
        let hosts: [&dyn std::any::Any; 1] = [&world];
        let options = ExecutionOptions { hosts: &hosts, ..ExecutionOptions::default() };
        let mut set = TemplateSet::new("t", Arc::clone(&functions));
        let parsed = set.parse("t", template);
        // Create the data for each call, because some calls change it.
        let data = Value::map([("Values", Value::from_json(&values, JsonNumbers::Float))]);
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
