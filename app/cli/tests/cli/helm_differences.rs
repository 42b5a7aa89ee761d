//! Small charts, one on each line of `helm/chart/tests/small/*.json`, with recorded results of Helm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::template::alone;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../helm/chart/tests/small")
}

fn bytes(file: &Value) -> Vec<u8> {
    match file {
        Value::String(text) => text.clone().into_bytes(),
        // Binary content as a list of bytes.
        Value::Array(list) => list.iter().map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap()).collect(),
        other => panic!("{other} is no file"),
    }
}

/// Writes the files of a case: those of the chart `c`, and, with a leading `/`, those next to it.
fn write(case: &Value, into: &Path) {
    for (name, file) in case["files"].as_object().unwrap() {
        let path = name.strip_prefix('/').map_or_else(|| into.join("c").join(name), |beside| into.join(beside));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes(file)).unwrap();
    }
}

fn template(mut command: Command, case: &Value, folder: &Path) -> Output {
    let texts = case["args"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    command.arg("template").args(texts).current_dir(folder);
    alone(&mut command);
    command.output().unwrap()
}

/// Returns the stderr without varying parts.
fn stderr_text(output: &Output, folder: &Path) -> String {
    String::from_utf8_lossy(&output.stderr).replace(&folder.canonicalize().unwrap().display().to_string(), "{dir}")
}

fn difference(case: &Value) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    write(case, folder.path());
    let output = template(Command::new(env!("CARGO_BIN_EXE_switchboard")), case, folder.path());
    let (printed, stderr_text) = (String::from_utf8_lossy(&output.stdout), stderr_text(&output, folder.path()));
    let (out, err) = (case["out"].as_str().unwrap(), case["err"].as_str().unwrap());
    let same = match err.is_empty() {
        true => output.status.success() && printed == out,
        false => output.status.code() == Some(1) && stderr_text.contains(err),
    };
    let logs =
        || case["logs"].as_array().into_iter().flatten().all(|line| stderr_text.contains(line.as_str().unwrap()));
    (!same || !logs()).then(|| format!("{}:\nprinted:\n{printed}\nsaid:\n{stderr_text}\nHelm: {case}\n", case["name"]))
}

fn record(case: &mut Value) {
    let folder = tempfile::tempdir().unwrap();
    write(case, folder.path());
    let helm = Path::new(&std::env::var("SWITCHBOARD_REAL_BIN").unwrap()).join("helm4");
    let output = template(Command::new(helm), case, folder.path());
    let stderr_text = stderr_text(&output, folder.path());
    let (logs, rest): (Vec<&str>, Vec<&str>) = stderr_text.lines().partition(|line| line.starts_with("level="));
    let err = if output.status.success() {
        String::new()
    } else {
        {
            let shown_text: Vec<&str> = rest.into_iter().filter(|line| !line.starts_with("Flag --")).collect();
            shown_text.join("\n").trim().to_string()
        }
    };
    case["out"] = json!(String::from_utf8_lossy(&output.stdout));
    case["err"] = json!(err);
    let mut logs: Vec<&str> = logs.into_iter().filter(|line| !line.starts_with("level=DEBUG")).collect();
    logs.sort_unstable();
    logs.dedup();
    case["logs"] = json!(logs);
}

fn check(name: &str) {
    let file = folder().join(name);
    let mut cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        cases.iter_mut().for_each(record);
        let lines: Vec<String> = cases.iter().map(Value::to_string).collect();
        fs::write(&file, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
    let differ: Vec<String> = cases.iter().filter_map(difference).collect();
    assert!(
        differ.is_empty() && !cases.is_empty(),
        "{} of {} differ:\n{}",
        differ.len(),
        cases.len(),
        differ.join("\n")
    );
}

#[test]
fn schemas_are_validated_as_with_helm() {
    check("schemas.json");
}

#[test]
fn texts_are_parsed_as_with_helm() {
    check("texts.json");
}

#[test]
fn charts_and_archives_are_loaded_as_with_helm() {
    check("loading.json");
}

#[test]
fn methods_and_messages_are_as_with_helm() {
    check("methods.json");
}

#[test]
fn flags_mean_what_they_mean_to_helm() {
    check("flags.json");
}
