//! A kernel at work on a cluster of its own, and what people ask it.

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

use crate::process::{CONTEXT, Serving, switchboard};

/// What has not come about after this will not.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// A configuration that hosts nobody.
pub const NOBODY: &str = "operators: {}\n";

/// `switchboard up` with a configuration, in a folder of its own.
pub struct Board {
    pub serving: Serving,
    pub folder: TempDir,
}

impl Board {
    /// Starts with that configuration.
    pub fn up(config: &str) -> Self {
        Self::up_with(config, |_| ())
    }

    /// The same, with files beside the configuration.
    pub fn up_with(config: &str, prepare: impl Fn(&Path)) -> Self {
        Self::logging(config, "", prepare)
    }

    /// The same, with a log that says so much.
    pub fn logging(config: &str, level: &str, prepare: impl Fn(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        fs::write(folder.path().join("switchboard.yaml"), config).unwrap();
        let said = fs::File::create(folder.path().join("said")).unwrap();
        let mut command = switchboard(&["up", "--ephemeral", "--config"]);
        command.arg(folder.path().join("switchboard.yaml")).arg("--state-dir").arg(folder.path().join("state"));
        command.env("SWITCHBOARD_LOG", level);
        let serving = Serving::start_with(command, Stdio::from(said));
        Self { serving, folder }
    }

    /// A file of the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the process said so far.
    pub fn said(&self) -> String {
        fs::read_to_string(self.file("said")).unwrap()
    }

    /// A configuration that reaches this cluster from outside.
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

    /// Puts a guest that wants to be greeted.
    pub async fn guest(&self, name: &str) {
        let labels = json!({"greeter.example.com/greet": "yes"});
        let guest = json!({"metadata": {"name": name, "labels": labels}, "data": {"name": name}});
        self.put(guest).await;
    }

    /// Puts the words of the greeting.
    pub async fn words(&self) {
        self.put(json!({"metadata": {"name": "greeting"}, "data": {"words": "Good day"}})).await;
    }

    async fn put(&self, object: Value) {
        let object = serde_json::from_value(object).unwrap();
        self.maps().await.create(&PostParams::default(), &object).await.unwrap();
    }

    /// The text of a guest's greeting, once it is there.
    pub async fn greeting(&self, guest: &str) -> String {
        let maps = self.maps().await;
        let name = format!("{guest}-greeting");
        eventually("a greeting", || async { maps.get_opt(&name).await.unwrap()?.data?.remove("text") }).await
    }

    /// Asks the kernel, as a user does.
    pub fn ask(&self, arguments: &[&str]) -> Output {
        ask(&self.file("state"), arguments)
    }

    /// The same as JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ask(&[arguments, &["-o", "json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// The row of `top` of an operator, once it is as wanted.
    pub async fn row(&self, operator: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let look = || async {
            let top = self.json(&["top"]);
            let row = top["operators"].as_array()?.iter().find(|row| row["name"] == operator)?.clone();
            wanted(&row).then_some(row)
        };
        eventually(&format!("{operator} as wanted"), look).await
    }

    /// What `why-not` says of an operator's first unit, once it waits for that reason.
    pub async fn waits(&self, operator: &str, why: &str) -> String {
        eventually(why, || async {
            let report = self.json(&["why-not", operator]);
            let held = report["units"].as_array()?.iter().any(|unit| unit["wait"]["why"] == why);
            held.then(|| masked(&self.ask(&["why-not", operator])))
        })
        .await
    }
}

/// Asks the kernel of a state directory.
pub fn ask(state: &Path, arguments: &[&str]) -> Output {
    let mut command: Command = switchboard(arguments);
    command.arg("--state-dir").arg(state).output().unwrap()
}

/// Looks again and again until there is something.
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

/// What was printed, without what differs from run to run.
pub fn masked(output: &Output) -> String {
    let mut text = String::from_utf8(output.stdout.clone()).unwrap();
    for (pattern, mask) in [
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
        (r"\b\d[\d.]*(us|ms|s|m\d\ds|h\d\dm|d\d\dh)( ago)?(\s|,)", "SPAN$2$3"),
        (r"\b[\d.]+(B|Ki|Mi)\b", "SIZE"),
        (r"(revision|decision) \d+", "$1 N"),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    ] {
        text = Regex::new(pattern).unwrap().replace_all(&text, mask).into_owned();
    }
    text
}
