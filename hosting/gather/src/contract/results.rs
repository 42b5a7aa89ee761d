//! `controller-results.yaml`: how each controller of a run did.

use serde::{Deserialize, Serialize};

use super::ContractError;
use super::text::text;

/// How the controllers of a run did. The exit code does not say: a panic exits with 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerResults {
    /// One per controller the operator knows.
    pub controller_results: Vec<ControllerResult>,
}

/// How one controller did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerResult {
    /// Its name.
    #[serde(deserialize_with = "text")]
    pub controller_name: String,
    /// How it ended.
    pub status: ControllerStatus,
    /// What went wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ControllerError>,
    /// What a panic left behind.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub panic_stack: String,
}

/// One thing that went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ControllerError {
    /// In the operator's words.
    #[serde(deserialize_with = "text")]
    pub message: String,
}

/// How a controller ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ControllerStatus {
    /// It was not said.
    #[default]
    Unknown,
    /// Well.
    Succeeded,
    /// It was not run.
    Skipped,
    /// With errors.
    Failed,
    /// It panicked.
    Panicked,
    /// A word we do not know.
    Other(String),
}

impl ControllerResults {
    /// Reads `controller-results.yaml`.
    ///
    /// # Errors
    /// When it is not YAML, or of another shape.
    pub fn read(text: &str) -> Result<Self, ContractError> {
        super::read("controller results", text)
    }

    /// The file's text, sorted as the original sorts: by name, status and panic.
    pub fn to_yaml(&self) -> String {
        let mut sorted = self.clone();
        let word = |result: &ControllerResult| String::from(result.status.clone());
        sorted.controller_results.sort_by(|a, b| {
            let names = a.controller_name.cmp(&b.controller_name);
            names.then_with(|| word(a).cmp(&word(b))).then_with(|| a.panic_stack.cmp(&b.panic_stack))
        });
        super::write(&sorted)
    }

    /// Those that did not end well.
    pub fn failures(&self) -> impl Iterator<Item = &ControllerResult> {
        let well =
            |status: &ControllerStatus| matches!(status, ControllerStatus::Succeeded | ControllerStatus::Skipped);
        self.controller_results.iter().filter(move |result| !well(&result.status))
    }
}

/// Whether a write is a part of what was meant: its controller panicked, or any did and the write does not say whose it is.
/// Events never say, change nothing, and are true of themselves.
pub fn is_left_of_panic(results: &[ControllerResult], controller: &str, is_event: bool) -> bool {
    let mut panicked = results.iter().filter(|result| result.status == ControllerStatus::Panicked);
    match controller {
        "" => !is_event && panicked.next().is_some(),
        _ => panicked.any(|result| result.controller_name == controller),
    }
}

impl From<String> for ControllerStatus {
    fn from(word: String) -> Self {
        match word.as_str() {
            "" | "Unknown" => Self::Unknown,
            "Succeeded" => Self::Succeeded,
            "Skipped" => Self::Skipped,
            "Failed" => Self::Failed,
            "Panicked" => Self::Panicked,
            _ => Self::Other(word),
        }
    }
}

impl From<ControllerStatus> for String {
    fn from(status: ControllerStatus) -> Self {
        match status {
            ControllerStatus::Other(word) => word,
            known => format!("{known:?}"),
        }
    }
}
