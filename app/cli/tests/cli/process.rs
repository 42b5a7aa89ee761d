//! The command as a process: started, asked, stopped.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// The context of the first cluster.
pub const CONTEXT: &str = "switchboard";

/// The command, not yet started.
pub fn switchboard(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(arguments).env_remove("SWITCHBOARD_LOG");
    command
}

/// The command run to its end.
pub fn run(arguments: &[&str]) -> Output {
    switchboard(arguments).output().unwrap()
}

/// What a process said beside its data.
pub fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A server that is stopped when the test ends, whatever happens.
pub struct Serving {
    child: Child,
    pub kubeconfig: PathBuf,
}

impl Serving {
    /// Starts a command that serves, on a free port unless it says otherwise, and waits until it does.
    pub fn start(command: Command) -> Self {
        Self::start_with(command, Stdio::piped())
    }

    /// The same, with a stderr of the test's own.
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

    /// Sends SIGTERM; returns the exit code and what was said.
    pub fn stop(mut self) -> (Option<i32>, String) {
        Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        let code = self.child.wait().unwrap().code();
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut said).unwrap();
        }
        (code, said)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
