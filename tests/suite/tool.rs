//! Command-line clients (kubectl, helm) with their own home, one kubeconfig and one namespace.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::real;

/// Runs one program against one server.
#[derive(Debug)]
pub struct CliTool {
    program: PathBuf,
    kubeconfig: PathBuf,
    /// Namespace of every run.
    pub namespace: String,
    home: tempfile::TempDir,
}

/// Output of a run.
#[derive(Debug, Clone)]
pub struct ToolOutput {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Returns the directory of programs built by `tests/real/build`.
pub fn programs() -> PathBuf {
    let output =
        Command::new(real::workspace().join("tests/real/build")).output().expect("tests/real/build can be run");
    assert!(output.status.success(), "tests/real/build: {}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}

impl CliTool {
    /// Creates a client `name` of `tests/real/build` for the server of `kubeconfig`.
    pub fn new(name: &str, kubeconfig: &Path, namespace: &str) -> CliTool {
        CliTool {
            program: programs().join(name),
            kubeconfig: kubeconfig.to_path_buf(),
            namespace: namespace.to_string(),
            home: tempfile::tempdir().expect("a temporary directory can be made"),
        }
    }

    /// Returns a command that is not started yet, for long runs.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .args(["--namespace", &self.namespace])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .current_dir(real::workspace());
        command
    }

    /// Runs with `input` on standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> ToolOutput {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        stdin.write_all(input.as_bytes()).expect("the program reads its input");
        drop(stdin);
        tool_output(child.wait_with_output().expect("the program ends"))
    }

    /// Runs without input.
    pub fn run(&self, arguments: &[&str]) -> ToolOutput {
        self.run_with_input(arguments, "")
    }

    /// Runs a command that must succeed, and returns standard output. A failure reports all output.
    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        self.run(arguments).succeeded(arguments)
    }

    /// Like [`CliTool::ok`], with input.
    #[track_caller]
    pub fn ok_with(&self, arguments: &[&str], input: &str) -> String {
        self.run_with_input(arguments, input).succeeded(arguments)
    }
}

impl ToolOutput {
    /// Returns the standard output of a run that must succeed.
    #[track_caller]
    pub fn succeeded(self, arguments: &[&str]) -> String {
        assert_eq!(self.code, 0, "{}\n{}{}", arguments.join(" "), self.out, self.err);
        self.out
    }
}

fn tool_output(output: Output) -> ToolOutput {
    ToolOutput {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
