//! A template, its data, and what Go makes of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use switchboard_template::{Functions, MissingKey, Options, Set, Value};

use crate::{data, functions};

pub struct Case {
    pub json: Json,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub out: Vec<u8>,
    pub err: String,
}

/// The files of cases, sorted.
pub fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

impl Case {
    /// The cases of a file; what the file says for all goes into each.
    pub fn read(file: &Path) -> Vec<Case> {
        let file: Json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let cases = file["cases"].as_array().unwrap().iter().cloned();
        cases
            .map(|mut json| {
                for (key, value) in file["all"].as_object().into_iter().flatten() {
                    json.as_object_mut().unwrap().entry(key).or_insert_with(|| value.clone());
                }
                json["kind"] = json!("text");
                Case { json }
            })
            .collect()
    }

    fn text(&self, key: &str) -> &str {
        self.json[key].as_str().unwrap_or_default()
    }

    pub fn expected(&self) -> Answer {
        Answer::from_json(&self.json)
    }

    /// What we make of it.
    pub fn answer(&self) -> Answer {
        let functions = match self.text("functions") {
            "test" => functions::table(),
            "" => Functions::new(),
            other => panic!("no functions {other}"),
        };
        let name = if self.text("name").is_empty() { "t" } else { self.text("name") };
        let mut set = Set::new(name, Arc::new(functions));
        if let Some(delimiters) = self.json["delims"].as_array() {
            set.set_delimiters(delimiters[0].as_str().unwrap(), delimiters[1].as_str().unwrap());
        }
        if let Err(error) = set.parse(name, self.text("template")) {
            return Answer { out: Vec::new(), err: error.to_string() };
        }
        for (name, text) in self.json["more"].as_object().into_iter().flatten() {
            if let Err(error) = set.parse(name, text.as_str().unwrap()) {
                return Answer { out: Vec::new(), err: error.to_string() };
            }
        }
        let missing_key = match self.text("option") {
            "missingkey=zero" => MissingKey::Zero,
            "missingkey=error" => MissingKey::Error,
            _ => MissingKey::Invalid,
        };
        let value = self.json.get("data").map_or(Value::Nil, data::decode);
        let mut out = Vec::new();
        let options = Options { missing_key, ..Options::default() };
        let outcome = Arc::new(set).execute(name, &value, &options, &mut out);
        Answer { out, err: outcome.err().map(|error| error.to_string()).unwrap_or_default() }
    }

    /// What is wrong with our answer.
    pub fn complaint(&self) -> Option<String> {
        let (ours, gos) = (self.answer(), self.expected());
        (ours != gos).then(|| format!("{}: {:?}\n  ours {ours}\n  Go's {gos}", self.json["id"], self.text("template")))
    }
}

impl Answer {
    pub fn from_json(json: &Json) -> Answer {
        let out = match json["bytes"].as_str() {
            Some(bytes) => STANDARD.decode(bytes).unwrap(),
            None => json["out"].as_str().unwrap_or_default().as_bytes().to_vec(),
        };
        Answer { out, err: json["err"].as_str().unwrap_or_default().to_string() }
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", String::from_utf8_lossy(&self.out), self.err)
    }
}
