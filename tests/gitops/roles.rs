//! Backend and agent as separate processes.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use super::fixture::{GitopsFixture, INSTANCES};

pub struct RoleProcess {
    process: Option<Child>,
    log: PathBuf,
    name: &'static str,
}

impl RoleProcess {
    /// Starts `switchboard gitops backend` or `agent`, trusting the fixture's git server.
    pub fn start(stage: &GitopsFixture, name: &'static str) -> RoleProcess {
        let mut command = stage.command(&[name], name == "backend");
        let own = stage.folder.path().join(name);
        std::fs::create_dir_all(&own).unwrap();
        let (log, authority) = (own.join("log"), own.join("authority.pem"));
        std::fs::write(&authority, &stage.git.authority).unwrap();
        command.arg("--engine-kubeconfig").arg(stage.real.kubeconfig()).args([
            "--argocd-namespace",
            INSTANCES[0],
            "--state-dir",
        ]);
        command.arg(own.join("state")).env("GIT_SSL_CAINFO", authority).stdin(Stdio::null()).stdout(Stdio::null());
        let process = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
        RoleProcess { process: Some(process), log, name }
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let text = std::fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            eprintln!("-- {}\n{}", self.name, lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
}

/// Process to kill.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KillTarget {
    Backend,
    Agent,
    Both,
}

/// Backend and agent.
pub struct RoleProcesses {
    backend: RoleProcess,
    agent: RoleProcess,
}

impl RoleProcesses {
    pub fn start(stage: &GitopsFixture) -> RoleProcesses {
        RoleProcesses { backend: RoleProcess::start(stage, "backend"), agent: RoleProcess::start(stage, "agent") }
    }

    /// Kills one process or both at any point, and restarts them.
    pub fn kill_and_restart(&mut self, stage: &GitopsFixture, whom: KillTarget) {
        if whom != KillTarget::Agent {
            self.backend.kill();
        }
        if whom != KillTarget::Backend {
            self.agent.kill();
        }
        if whom != KillTarget::Agent {
            self.backend = RoleProcess::start(stage, "backend");
        }
        if whom != KillTarget::Backend {
            self.agent = RoleProcess::start(stage, "agent");
        }
    }
}
