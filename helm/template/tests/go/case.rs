//! A template, its data, and Go's result.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use switchboard_template::{ExecutionOptions, Functions, MissingKey, TemplateSet, Value};

use crate::{data, functions};

pub struct TemplateCase {
    pub json: Json,
}

#[derive(Debug, PartialEq, Eq)]
pub struct TemplateResult {
    pub out: Vec<u8>,
    pub err: String,
}

/// Returns the case files, sorted.
pub fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

impl TemplateCase {
    /// Reads the cases of a file and adds the file's common settings to each.
    pub fn read(file: &Path) -> Vec<TemplateCase> {
        let file: Json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let cases = file["cases"].as_array().unwrap().iter().cloned();
        cases
            .map(|mut json| {
                for (key, value) in file["all"].as_object().into_iter().flatten() {
                    json.as_object_mut().unwrap().entry(key).or_insert_with(|| value.clone());
                }
                json["kind"] = json!("text");
                TemplateCase { json }
            })
            .collect()
    }

    fn text(&self, key: &str) -> &str {
        self.json[key].as_str().unwrap_or_default()
    }

    pub fn expected(&self) -> TemplateResult {
        TemplateResult::from_json(&self.json)
    }

    /// Runs the template with this engine.
    pub fn run(&self) -> TemplateResult {
        let functions = match self.text("functions") {
            "test" => functions::table(),
            "" => Functions::new(),
            other => panic!("no functions {other}"),
        };
        let name = if self.text("name").is_empty() { "t" } else { self.text("name") };
        let mut set = TemplateSet::new(name, Arc::new(functions));
        if let Some(delimiters) = self.json["delims"].as_array() {
            set.set_delimiters(delimiters[0].as_str().unwrap(), delimiters[1].as_str().unwrap());
        }
        if let Err(error) = set.parse(name, self.text("template")) {
            return TemplateResult { out: Vec::new(), err: error.to_string() };
        }
        for (name, text) in self.json["more"].as_object().into_iter().flatten() {
            if let Err(error) = set.parse(name, text.as_str().unwrap()) {
                return TemplateResult { out: Vec::new(), err: error.to_string() };
            }
        }
        let missing_key = match self.text("option") {
            "missingkey=zero" => MissingKey::Zero,
            "missingkey=error" => MissingKey::Error,
            _ => MissingKey::Invalid,
        };
        let value = self.json.get("data").map_or(Value::Nil, data::decode);
        let mut out = Vec::new();
        let options = ExecutionOptions { missing_key, ..ExecutionOptions::default() };
        let outcome = Arc::new(set).execute(name, &value, &options, &mut out);
        TemplateResult { out, err: outcome.err().map(|error| error.to_string()).unwrap_or_default() }
    }

    /// Returns a description of the difference to Go's result, if any.
    pub fn mismatch(&self) -> Option<String> {
        let (ours, gos) = (self.run(), self.expected());
        (ours != gos).then(|| format!("{}: {:?}\n  ours {ours}\n  Go's {gos}", self.json["id"], self.text("template")))
    }
}

impl TemplateResult {
    pub fn from_json(json: &Json) -> TemplateResult {
        let out = match json["bytes"].as_str() {
            Some(bytes) => STANDARD.decode(bytes).unwrap(),
            None => json["out"].as_str().unwrap_or_default().as_bytes().to_vec(),
        };
        TemplateResult { out, err: json["err"].as_str().unwrap_or_default().to_string() }
    }
}

impl std::fmt::Display for TemplateResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", String::from_utf8_lossy(&self.out), self.err)
    }
}
