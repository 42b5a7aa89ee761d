//! Conformance case: a YAML file with requests and the answers of kube-apiserver.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// One file below `tests/conformance`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConformanceCase {
    /// Description in one sentence.
    pub title: String,
    /// Requests in order; each may use values saved by earlier ones.
    pub steps: Vec<CaseStep>,
}

/// One request, or one read of a watch opened earlier.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseStep {
    /// Request as `METHOD /path?query`, or `READ <watch>`.
    #[serde(rename = "do")]
    pub act: String,
    /// Content-Type; `application/json` by default if there is a body.
    #[serde(rename = "type")]
    pub content_type: Option<String>,
    /// Accept header; `application/json` by default.
    pub accept: Option<String>,
    /// Further request headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// User to impersonate, as `user` or `user,group,...`; `anonymous` sends no credentials at all.
    #[serde(rename = "as")]
    pub user: Option<String>,
    /// Bearer token to send instead of the administrator's certificate.
    pub token: Option<String>,
    /// Body, sent as JSON.
    pub body: Option<Value>,
    /// Body, sent unchanged.
    pub text: Option<String>,
    /// Name under which the response stays open as a watch, for later `READ` steps.
    pub open: Option<String>,
    /// Number of watch events to read.
    pub events: Option<usize>,
    /// Whether to keep bookmarks that do not end the initial events; their number depends on time.
    #[serde(default)]
    pub bookmarks: bool,
    /// Values of response fields by JSON pointer until which the request is repeated. `code` is the status code, null
    /// means absent.
    #[serde(default)]
    pub until: BTreeMap<String, Value>,
    /// Variables to save from the response, by JSON pointer.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// Whether to compare only the status code, in a preparatory step.
    #[serde(default)]
    pub quiet: bool,
    /// JSON pointers of the only parts to compare.
    #[serde(default)]
    pub keep: Vec<String>,
    /// JSON pointers of parts that are not compared.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Accepted differences of the embedded server: id in docs/DIFFERENCES.md, and JSON pointers into the answer.
    #[serde(default)]
    pub differs: BTreeMap<String, Vec<String>>,
    /// Answer of kube-apiserver.
    pub answer: Option<CaseAnswer>,
}

/// Answer of a server after masking.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseAnswer {
    /// HTTP status code.
    pub code: u16,
    /// Content-Type, without a redundant `charset`.
    #[serde(rename = "type")]
    pub content_type: Option<String>,
    /// Warning headers in order.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Body as JSON, or as a string if it is not JSON.
    #[serde(default)]
    pub body: Value,
    /// Watch events.
    pub events: Option<Vec<Value>>,
}

/// Error reading a case.
#[derive(Debug, thiserror::Error)]
pub enum ReadCaseError {
    /// The directory or file is unreadable.
    #[error("could not read {0}")]
    Read(PathBuf, #[source] std::io::Error),
    /// The file is not a valid case.
    #[error("{0} is not a case: {1}")]
    Parse(PathBuf, String),
}

impl ConformanceCase {
    /// Reads one file.
    pub fn read(path: &Path) -> Result<ConformanceCase, ReadCaseError> {
        let text = std::fs::read_to_string(path).map_err(|e| ReadCaseError::Read(path.into(), e))?;
        serde_saphyr::from_str(&text).map_err(|e| ReadCaseError::Parse(path.into(), e.to_string()))
    }

    /// Whether the runner must create a namespace for the case.
    pub fn needs_namespace(&self) -> bool {
        self.steps.iter().any(|step| {
            step.act.contains("${ns}")
                || step.body.as_ref().is_some_and(|b| b.to_string().contains("${ns}"))
                || step.text.as_ref().is_some_and(|t| t.contains("${ns}"))
        })
    }
}

/// Reads all cases below `root`, sorted by path.
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
