//! The command as a process.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// Context of the default cluster.
pub const CONTEXT: &str = "switchboard";

/// Returns the command without starting it.
pub fn switchboard(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(arguments).env_remove("SWITCHBOARD_LOG");
    command
}

/// Runs the command to its end.
pub fn run(arguments: &[&str]) -> Output {
    switchboard(arguments).output().unwrap()
}

/// Returns the stderr of a process.
pub fn stderr_text(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Server process, stopped when the test ends.
pub struct ServerProcess {
    child: Child,
    pub kubeconfig: PathBuf,
}

impl ServerProcess {
    /// Starts a server, on a free port unless the arguments set one, and waits until it is ready.
    pub fn start(command: Command) -> Self {
        Self::start_with(command, Stdio::piped())
    }

    /// Starts a server with the given stderr.
    pub fn start_with(mut command: Command, stderr: Stdio) -> Self {
        if !command.get_args().any(|argument| argument == "--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, kubeconfig: line.trim_end().into() }
    }

    pub async fn client(&self, context: &str) -> Client {
        let options = KubeConfigOptions { context: Some(context.into()), ..KubeConfigOptions::default() };
        let file = Kubeconfig::read_from(Path::new(&self.kubeconfig)).unwrap();
        Client::try_from(Config::from_custom_kubeconfig(file, &options).await.unwrap()).unwrap()
    }

    /// Sends SIGTERM; returns the exit code and the stderr.
    pub fn stop(mut self) -> (Option<i32>, String) {
        Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        let code = self.child.wait().unwrap().code();
        let mut stderr_text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut stderr_text).unwrap();
        }
        (code, stderr_text)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
