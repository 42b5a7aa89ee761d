//! Backend and agent as processes of their own.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use super::stage::{INSTANCES, Stage};

pub struct Role {
    process: Option<Child>,
    log: PathBuf,
    name: &'static str,
}

impl Role {
    /// Starts `switchboard gitops backend` or `agent`. It trusts the stage's git server.
    pub fn start(stage: &Stage, name: &'static str) -> Role {
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
        Role { process: Some(process), log, name }
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let text = std::fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            eprintln!("-- {}\n{}", self.name, lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
}

/// Who is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    Backend,
    Agent,
    Both,
}

/// Both.
pub struct Roles {
    backend: Role,
    agent: Role,
}

impl Roles {
    pub fn start(stage: &Stage) -> Roles {
        Roles { backend: Role::start(stage, "backend"), agent: Role::start(stage, "agent") }
    }

    /// Kills one of them or both, wherever they are, and starts them again.
    pub fn bounce(&mut self, stage: &Stage, whom: Whom) {
        if whom != Whom::Agent {
            self.backend.kill();
        }
        if whom != Whom::Backend {
            self.agent.kill();
        }
        if whom != Whom::Agent {
            self.backend = Role::start(stage, "backend");
        }
        if whom != Whom::Backend {
            self.agent = Role::start(stage, "agent");
        }
    }
}
