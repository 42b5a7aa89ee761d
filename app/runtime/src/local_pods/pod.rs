//! Pure decisions: which pods run as which commands, and the status they get.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_kernel::config::Config;
use switchboard_kernel::operator::OperatorName;

use super::process::ProcessExit;

/// Operator whose settings hold the commands.
const OPERATOR: &str = "plugs";
/// Annotation with the listen address of a local process.
const ADDRESS: &str = "integration.rock8s.com/address";

/// Commands by image, and their working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageCommands {
    by_image: BTreeMap<String, Vec<String>>,
    /// Folder of the configuration, so that relative paths do not depend on the working directory of `up`.
    pub folder: PathBuf,
}

/// The setting `settings.commands` is invalid.
#[derive(Debug, thiserror::Error)]
#[error(
    "operators.plugs.settings.commands{0}\nhint: write it as `commands: {{registry/image:tag: [program, argument]}}`"
)]
pub struct ImageCommandsError(String);

impl ImageCommands {
    /// Reads `operators.plugs.settings.commands` of a configuration in `folder`.
    ///
    /// # Errors
    /// [`ImageCommandsError`] states what is wrong.
    pub fn of(config: &Config, folder: &Path) -> Result<Self, ImageCommandsError> {
        let operator = config.operators.get(&OperatorName::new(OPERATOR));
        let Some(commands) = operator.and_then(|operator| operator.settings.get("commands")) else {
            return Ok(Self::default());
        };
        let commands = commands.as_object().ok_or_else(|| ImageCommandsError(" must be a map".to_string()))?;
        let word = |image: &str, word: &Value| {
            let text = word.as_str().filter(|text| !text.is_empty()).map(str::to_string);
            text.ok_or_else(|| ImageCommandsError(format!(".{image} must be a list of strings")))
        };
        let mut read = BTreeMap::new();
        for (image, command) in commands {
            let words: Result<Vec<String>, ImageCommandsError> = match command {
                Value::Array(words) if !words.is_empty() => words.iter().map(|one| word(image, one)).collect(),
                one => word(image, one).map(|one| vec![one]),
            };
            let mut words = words?;
            // A bare name is looked up in `PATH`; any other value is a path.
            if words[0].contains('/') {
                words[0] = folder.join(&words[0]).display().to_string();
            }
            read.insert(image.clone(), words);
        }
        Ok(Self { by_image: read, folder: folder.to_path_buf() })
    }

    /// Whether no image is mapped.
    pub fn is_empty(&self) -> bool {
        self.by_image.is_empty()
    }
}

/// Action for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodAction {
    /// Start the pod's command.
    Start { uid: String, namespace: String, name: String, command: Vec<String>, env: BTreeMap<String, String> },
    /// End the process of a pod that is deleted or finished.
    Stop { uid: String },
}

/// Returns the actions for the existing pods and the running processes.
pub fn plan(pods: &[Value], running: &BTreeSet<String>, commands: &ImageCommands) -> Vec<PodAction> {
    let mut acts = Vec::new();
    let mut images = BTreeSet::new();
    for pod in pods {
        let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let (uid, phase) = (text("/metadata/uid"), text("/status/phase"));
        let Some(command) = commands.by_image.get(&text("/spec/containers/0/image")) else { continue };
        let over = matches!(phase.as_str(), "Failed" | "Succeeded");
        if over || pod.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
            continue;
        }
        images.insert(uid.clone());
        if !running.contains(&uid) {
            let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
            acts.push(PodAction::Start { uid, namespace, name, command: command.clone(), env: env(pod) });
        }
    }
    acts.extend(running.difference(&images).map(|uid| PodAction::Stop { uid: uid.clone() }));
    acts
}

/// Returns the variables of a pod's first container, without those that select code to run.
fn env(pod: &Value) -> BTreeMap<String, String> {
    let environment = pod.pointer("/spec/containers/0/env").and_then(Value::as_array).into_iter().flatten();
    let environment =
        environment.filter_map(|one| Some((one["name"].as_str()?.to_string(), one["value"].as_str()?.to_string())));
    let forbidden = |name: &str| {
        name == "PATH"
            || ["LD_", "DYLD_", "PYTHON", "NODE_", "PERL", "RUBY", "BASH_"].iter().any(|start| name.starts_with(start))
    };
    environment.filter(|(name, _)| !forbidden(name)).collect()
}

/// Returns the patch that sets the listen address of a pod.
pub fn address(address: &str) -> Value {
    json!({"metadata": {"annotations": {ADDRESS: address}}})
}

/// Returns the status of a pod with a running process.
pub fn running_status(program: &str, now: Timestamp) -> Value {
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
    json!({"status": {
        "phase": "Running",
        "message": format!("running as local process {program}"),
        "podIP": "127.0.0.1",
        "podIPs": [{"ip": "127.0.0.1"}],
        "startTime": now,
        "conditions": [condition("PodScheduled"), condition("Initialized"), condition("ContainersReady"), condition("Ready")],
    }})
}

/// Returns the status of a pod whose process ended.
pub fn ended_status(how: &ProcessExit) -> Value {
    let phase = if how.success { "Succeeded" } else { "Failed" };
    json!({"status": {"phase": phase, "reason": "ProcessEnded", "message": how.message, "conditions": []}})
}

#[cfg(test)]
mod tests;
