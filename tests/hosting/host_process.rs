//! A `switchboard` process that hosts operators, and queries to it.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use switchboard_kernel::decision::Decision;
use switchboard_kernel::journal::{Journal, JournalEntry};
use switchboard_suite::{process, tool};

use crate::cluster::until;

/// Limits without unnecessary delays.
pub const FAST_LIMITS: &str =
    "limits: {debounce: 0s, coolDown: 0s, resync: never, backoff: {first: 100ms, max: 500ms}}";

/// Returns the path of a program built by `tests/real/build`.
pub fn program(name: &str) -> PathBuf {
    tool::programs().join(name)
}

/// Runs a command to its end.
pub fn switchboard(arguments: &[&str]) -> Output {
    Command::new(process::binary().unwrap()).args(arguments).output().unwrap()
}

/// A hosting process, killed when dropped.
pub struct HostProcess {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl HostProcess {
    /// Starts `switchboard run` with a configuration.
    pub fn run(config: &str) -> Self {
        Self::start(&["run"], Some(config))
    }

    /// Starts a command, with `--config` and `--state-dir` added.
    pub fn start(words: &[&str], config: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(process::binary().unwrap());
        command.args(words).arg("--state-dir").arg(folder.path().join("state"));
        if let Some(config) = config {
            let file = folder.path().join("switchboard.yaml");
            fs::write(&file, config).unwrap();
            command.arg("--config").arg(file);
        }
        let said = File::create(folder.path().join("said")).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn().unwrap();
        let mut hosted = Self { child, folder };
        until("a kernel that answers", || {
            let ended = hosted.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended with {ended:?}: {}", hosted.log());
            hosted.query(&["top"]).status.success()
        });
        hosted
    }

    /// Returns the log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("said")).unwrap()
    }

    pub fn query(&self, words: &[&str]) -> Output {
        let state = self.folder.path().join("state").display().to_string();
        switchboard(&[words, &["--state-dir", &state]].concat())
    }

    pub fn json(&self, words: &[&str]) -> Value {
        let output = self.query(&[words, &["-o", "json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// Returns the operator's row of `top`.
    pub fn row(&self, operator: &str) -> Value {
        let top = self.json(&["top"]);
        let rows = top["operators"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == operator).cloned().unwrap_or_default()
    }

    /// Waits until the row satisfies a condition, and returns it.
    pub fn until_row(&self, operator: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut row = Value::Null;
        until(&format!("{operator} as wanted, last {}", self.row(operator)), || {
            row = self.row(operator);
            wanted(&row)
        });
        row
    }

    /// Waits until the operator is Ready, with no unit pending, running or triggered, and returns its row.
    pub fn until_idle(&self, operator: &str) -> Value {
        let mut row = Value::Null;
        until(&format!("{operator} at rest, last {}", self.row(operator)), || {
            let waits = self.json(&["why-not", operator]);
            let idle = waits["units"].as_array().unwrap().iter().all(|unit| unit["wait"]["reason"] == "nothingChanged");
            row = self.row(operator);
            idle && row["state"] == "Ready"
        });
        row
    }

    /// Shuts the process down, and returns its decisions, oldest first.
    pub fn stop(mut self) -> Vec<Decision> {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        let ended = self.child.wait().unwrap();
        assert!(ended.success(), "{ended}: {}", self.log());
        let journal = Journal::read(&self.folder.path().join("state/journal")).unwrap();
        let decision = |entry| if let JournalEntry::Decision(decision) = entry { Some(*decision) } else { None };
        let mut decisions: Vec<Decision> = journal.newest().filter_map(decision).collect();
        decisions.reverse();
        decisions
    }
}
