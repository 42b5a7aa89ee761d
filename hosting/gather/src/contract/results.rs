//! `controller-results.yaml`: the results of the controllers in a run.

use serde::{Deserialize, Serialize};

use super::ContractError;
use super::text::text;

/// Results of the controllers in a run. The exit code does not show them: it is 0 even after a panic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerResults {
    /// Results, one per controller of the operator.
    pub controller_results: Vec<ControllerResult>,
}

/// Result of one controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerResult {
    /// Name of the controller.
    #[serde(deserialize_with = "text")]
    pub controller_name: String,
    /// Status.
    pub status: ControllerStatus,
    /// Errors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ControllerError>,
    /// Stack of a panic.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub panic_stack: String,
}

/// An error of a controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ControllerError {
    /// Error message from the operator.
    #[serde(deserialize_with = "text")]
    pub message: String,
}

/// Status of a controller after a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ControllerStatus {
    /// No status was reported.
    #[default]
    Unknown,
    /// The controller succeeded.
    Succeeded,
    /// The controller did not run.
    Skipped,
    /// The controller reported errors.
    Failed,
    /// The controller panicked.
    Panicked,
    /// A status that Switchboard does not know.
    Other(String),
}

impl ControllerResults {
    /// Parses `controller-results.yaml`.
    ///
    /// # Errors
    /// If the text is not YAML or a field has the wrong type.
    pub fn read(text: &str) -> Result<Self, ContractError> {
        super::read("controller results", text)
    }

    /// Returns the file's text, sorted by name, status and panic as in multi-operator-manager.
    pub fn to_yaml(&self) -> String {
        let mut sorted = self.clone();
        let word = |result: &ControllerResult| String::from(result.status.clone());
        sorted.controller_results.sort_by(|a, b| {
            let names = a.controller_name.cmp(&b.controller_name);
            names.then_with(|| word(a).cmp(&word(b))).then_with(|| a.panic_stack.cmp(&b.panic_stack))
        });
        super::write(&sorted)
    }

    /// Returns the results of controllers that did not succeed.
    pub fn failures(&self) -> impl Iterator<Item = &ControllerResult> {
        let well =
            |status: &ControllerStatus| matches!(status, ControllerStatus::Succeeded | ControllerStatus::Skipped);
        self.controller_results.iter().filter(move |result| !well(&result.status))
    }
}

/// Whether a write may be incomplete: its controller panicked, or any controller did and the write does not name its
/// own. Events never name one, but they change nothing and are complete by themselves.
pub fn is_cut_short_by_panic(results: &[ControllerResult], controller: &str, is_event: bool) -> bool {
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
