//! Running kernel on an embedded cluster, and commands that query it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use regex::Regex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{CONTEXT, ServerProcess, switchboard};

/// Timeout for every expectation.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// Configuration without operators.
pub const NO_OPERATORS: &str = "operators: {}\n";

/// `switchboard up` with a configuration, in its own folder.
pub struct UpProcess {
    pub serving: ServerProcess,
    pub folder: TempDir,
}

impl UpProcess {
    /// Starts with a configuration.
    pub fn up(config: &str) -> Self {
        Self::up_with(config, |_| ())
    }

    /// Starts with a configuration and files next to it.
    pub fn up_with(config: &str, prepare: impl Fn(&Path)) -> Self {
        Self::logging(config, "", prepare)
    }

    /// Starts with a configuration, files next to it, and a log level.
    pub fn logging(config: &str, level: &str, prepare: impl Fn(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        fs::write(folder.path().join("switchboard.yaml"), config).unwrap();
        let stderr_text = fs::File::create(folder.path().join("said")).unwrap();
        let mut command = switchboard(&["up", "--ephemeral", "--config"]);
        command.arg(folder.path().join("switchboard.yaml")).arg("--state-dir").arg(folder.path().join("state"));
        command.env("SWITCHBOARD_LOG", level);
        let serving = ServerProcess::start_with(command, Stdio::from(stderr_text));
        Self { serving, folder }
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the output on stderr so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.file("said")).unwrap()
    }

    /// Writes a configuration for another process that uses this cluster.
    pub fn outside(&self, operators: &str) -> PathBuf {
        let kubeconfig = self.serving.kubeconfig.display();
        let text = format!("clusters:\n  default:\n    kubeconfig: {kubeconfig}\n{operators}");
        let file = self.file("outside.yaml");
        fs::write(&file, text).unwrap();
        file
    }

    pub async fn maps(&self) -> Api<ConfigMap> {
        Api::default_namespaced(self.serving.client(CONTEXT).await)
    }

    /// Creates a guest for the greeter.
    pub async fn guest(&self, name: &str) {
        let labels = json!({"greeter.example.com/greet": "yes"});
        let guest = json!({"metadata": {"name": name, "labels": labels}, "data": {"name": name}});
        self.put(guest).await;
    }

    /// Creates the text of the greeting.
    pub async fn words(&self) {
        self.put(json!({"metadata": {"name": "greeting"}, "data": {"words": "Good day"}})).await;
    }

    async fn put(&self, object: Value) {
        let object = serde_json::from_value(object).unwrap();
        self.maps().await.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Waits for a guest's greeting and returns its text.
    pub async fn greeting(&self, guest: &str) -> String {
        let maps = self.maps().await;
        let name = format!("{guest}-greeting");
        eventually("a greeting", || async { maps.get_opt(&name).await.unwrap()?.data?.remove("text") }).await
    }

    /// Runs a command against the kernel.
    pub fn ask(&self, arguments: &[&str]) -> Output {
        ask(&self.file("state"), arguments)
    }

    /// Runs a command with JSON output against the kernel.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ask(&[arguments, &["-o", "json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// Waits until the row of an operator in `top` matches.
    pub async fn row(&self, operator: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let look = || async {
            let top = self.json(&["top"]);
            let row = top["operators"].as_array()?.iter().find(|row| row["name"] == operator)?.clone();
            wanted(&row).then_some(row)
        };
        eventually(&format!("the row of {operator}"), look).await
    }

    /// Waits until the operator's first unit waits for a reason, and returns the output of `why-not`.
    pub async fn waits(&self, operator: &str, why: &str) -> String {
        eventually(why, || async {
            let report = self.json(&["why-not", operator]);
            let held_mib = report["units"].as_array()?.iter().any(|unit| unit["wait"]["reason"] == why);
            held_mib.then(|| masked(&self.ask(&["why-not", operator])))
        })
        .await
    }
}

/// Runs a command against the kernel of a state directory.
pub fn ask(state: &Path, arguments: &[&str]) -> Output {
    let mut command: Command = switchboard(arguments);
    command.arg("--state-dir").arg(state).output().unwrap()
}

/// Polls until there is a result.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, look: impl Fn() -> F) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not come about");
        tokio::time::sleep(POLL).await;
    }
}

/// Returns the output with varying parts masked.
pub fn masked(output: &Output) -> String {
    let mut text = String::from_utf8(output.stdout.clone()).unwrap();
    for (pattern, mask) in [
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
        (r"\b\d[\d.]*(us|ms|s|m\d\ds|h\d\dm|d\d\dh)( ago)?(\s|,)", "SPAN$2$3"),
        (r"\b[\d.]+(B|Ki|Mi)\b", "SIZE"),
        (r"(revision|decision) \d+", "$1 N"),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
        // Commands in hints reach the same kernel.
        (r" --state-dir [^`\s]+", ""),
    ] {
        text = Regex::new(pattern).unwrap().replace_all(&text, mask).into_owned();
    }
    text
}
