//! A conformance case: one YAML file with requests and the answers the real server gave.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// One file below `tests/conformance`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConformanceCase {
    /// What the case shows, as one sentence.
    pub title: String,
    /// Requests in order; each may use what earlier ones saved.
    pub steps: Vec<CaseStep>,
}

/// One request, or one reading of a watch opened earlier.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseStep {
    /// `METHOD /path?query`, or `READ <watch>`.
    #[serde(rename = "do")]
    pub act: String,
    /// Content-Type; `application/json` when there is a body and nothing else is said.
    #[serde(rename = "type")]
    pub content_type: Option<String>,
    /// Accept; `application/json` when nothing else is said.
    pub accept: Option<String>,
    /// Further request headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// `user` or `user,group,...` to impersonate; `anonymous` sends no credentials at all.
    #[serde(rename = "as")]
    pub user: Option<String>,
    /// Bearer token to send instead of the administrator's certificate.
    pub token: Option<String>,
    /// Body, sent as JSON.
    pub body: Option<Value>,
    /// Body, sent as it stands.
    pub text: Option<String>,
    /// Keeps the answer open as a watch of this name, for later `READ` steps.
    pub open: Option<String>,
    /// How many watch events to read.
    pub events: Option<usize>,
    /// Keep bookmarks that are not the end of initial events; their number depends on time.
    #[serde(default)]
    pub bookmarks: bool,
    /// Repeat the request until these pointers of the answer have these values (`code` is the status code, null is absent).
    #[serde(default)]
    pub until: BTreeMap<String, Value>,
    /// Variables taken from the answer by JSON pointer.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// Compare only the status code: the step prepares the ground for another.
    #[serde(default)]
    pub quiet: bool,
    /// Compare only these pointers of the body.
    #[serde(default)]
    pub keep: Vec<String>,
    /// Do not compare these pointers of the body.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Decided differences of the embedded server: id in docs/DIFFERENCES.md and pointers into the answer it covers.
    #[serde(default)]
    pub differs: BTreeMap<String, Vec<String>>,
    /// What the real server answered.
    pub answer: Option<CaseAnswer>,
}

/// What a server answered, after masking.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseAnswer {
    /// HTTP status code.
    pub code: u16,
    /// Content-Type, without a `charset` that adds nothing.
    #[serde(rename = "type")]
    pub content_type: Option<String>,
    /// Warning headers in order.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The body: JSON, or a string if it is not JSON.
    #[serde(default)]
    pub body: Value,
    /// Watch events.
    pub events: Option<Vec<Value>>,
}

/// Why a case could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadCaseError {
    /// The directory or file is unreadable.
    #[error("could not read {0}")]
    Read(PathBuf, #[source] std::io::Error),
    /// The file is not a case.
    #[error("{0} is not a case: {1}")]
    Parse(PathBuf, String),
}

impl ConformanceCase {
    /// Reads one file.
    pub fn read(path: &Path) -> Result<ConformanceCase, ReadCaseError> {
        let text = std::fs::read_to_string(path).map_err(|e| ReadCaseError::Read(path.into(), e))?;
        serde_saphyr::from_str(&text).map_err(|e| ReadCaseError::Parse(path.into(), e.to_string()))
    }

    /// Whether the runner must make a namespace for it.
    pub fn needs_namespace(&self) -> bool {
        self.steps.iter().any(|step| {
            step.act.contains("${ns}")
                || step.body.as_ref().is_some_and(|b| b.to_string().contains("${ns}"))
                || step.text.as_ref().is_some_and(|t| t.contains("${ns}"))
        })
    }
}

/// All cases below `root`, by path.
pub fn read_all(root: &Path) -> Result<Vec<(PathBuf, ConformanceCase)>, ReadCaseError> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(dir) = pending.pop() {
        let entries = std::fs::read_dir(&dir).map_err(|e| ReadCaseError::Read(dir.clone(), e))?;
        for entry in entries {
            let path = entry.map_err(|e| ReadCaseError::Read(dir.clone(), e))?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|e| e == "yaml") {
                let case = ConformanceCase::read(&path)?;
                found.push((path, case));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}
