//! Comparisons with the running Go oracle.

#[path = "shared_data.rs"]
mod shared_data;

use std::path::Path;

use serde_json::{Value as Json, json};
use shared_data::shared_data;

use crate::case::{TemplateCase, files};
use crate::generator::Generator;
use crate::oracle;

/// Random templates of one run. `make fuzz` tests more of them: `SEEDS=first..last`.
const SEEDS: std::ops::Range<u64> = 0..4_000;

/// Number of templates in one request to the oracle.
const BATCH: usize = 4_000;

fn seeds() -> std::ops::Range<u64> {
    let Ok(given) = std::env::var("SEEDS") else { return SEEDS };
    let (first, last) = given.split_once("..").expect("SEEDS is first..last");
    first.parse().unwrap()..last.parse().unwrap()
}

const OPTIONS: &[&str] = &["missingkey=default", "missingkey=zero", "missingkey=error"];

#[test]
fn recorded_results_match_go() {
    for file in files() {
        let cases = TemplateCase::read(&file);
        let answers = oracle::run_raw(&cases);
        if std::env::var_os("UPDATE").is_some() {
            record(&file, &answers);
            continue;
        }
        for (case, answer) in cases.iter().zip(oracle::run(&cases)) {
            assert_eq!(case.expected(), answer, "{}", case.json["id"]);
        }
    }
}

/// Writes the results to the file, one case per line.
fn record(file: &Path, answers: &[Json]) {
    let json: Json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let lines: Vec<String> = json["cases"]
        .as_array()
        .unwrap()
        .iter()
        .zip(answers)
        .map(|(case, answer)| {
            let mut case = case.as_object().unwrap().clone();
            for key in ["out", "bytes", "err"] {
                case.remove(key);
                let recorded = answer.get(key).filter(|recorded| recorded.as_str() != Some(""));
                case.extend(recorded.map(|recorded| (key.to_string(), recorded.clone())));
            }
            format!("    {}", Json::Object(case))
        })
        .collect();
    let text = format!("{{\n  \"all\": {},\n  \"cases\": [\n{}\n  ]\n}}\n", json["all"], lines.join(",\n"));
    std::fs::write(file, text).unwrap();
}

#[test]
fn random_templates_match_go() {
    let seeds: Vec<u64> = seeds().collect();
    for batch in seeds.chunks(BATCH) {
        compare(batch);
    }
}

fn compare(seeds: &[u64]) {
    let cases: Vec<TemplateCase> = seeds
        .iter()
        .map(|&seed| TemplateCase {
            json: json!({
                "kind": "text",
                "id": format!("seed {seed}"),
                "template": Generator::new(seed).template(),
                "data": Generator::data(),
                "functions": "test",
                "option": OPTIONS[seed as usize % OPTIONS.len()],
            }),
        })
        .collect();
    let mut failed = 0;
    let mut wrong = Vec::new();
    for (case, gos) in cases.iter().zip(oracle::run(&cases)) {
        let ours = case.run();
        failed += usize::from(!gos.err.is_empty());
        if ours != gos {
            wrong.push(format!("{}: {}\n  ours {ours}\n  Go's {gos}", case.json["id"], case.json["template"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), seeds.len(), wrong.join("\n"));
    let shares = seeds.len() / 10..seeds.len() * 9 / 10;
    assert!(shares.contains(&failed), "{failed} fail: the generator finds too few of one sort");
}

#[test]
fn shared_cases_match_go() {
    let Some(folder) = shared_data("templates") else { return };
    let read = |name: &str| -> Json {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap()
    };
    let (cases, expected) = (read("text-template.cases.json"), read("text-template.expected.json"));
    for (case, expected) in cases["cases"].as_array().unwrap().iter().zip(expected.as_array().unwrap()) {
        let json = json!({
            "id": case["id"], "template": case["tmpl"], "data": cases["data"], "functions": "test",
            "delims": case["delims"], "option": case["option"], "out": expected["Out"], "err": expected["Err"],
        });
        assert_eq!(TemplateCase { json }.mismatch(), None);
    }
}
