//! An Argo CD instance: controller and repo-server as local processes, with the configuration in a namespace.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::git::GitServer;

pub struct ArgoCd {
    process: Option<Child>,
    program: PathBuf,
    kubeconfig: PathBuf,
    folder: PathBuf,
    pub namespace: String,
}

impl ArgoCd {
    /// Starts an instance in a namespace that `fleet add` has prepared. The instance trusts the test's git servers.
    pub fn start(program: &Path, kubeconfig: &Path, folder: PathBuf, namespace: &str, git: &GitServer) -> ArgoCd {
        for name in ["tls", "ssh"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        // Files that Argo CD usually mounts from its ConfigMaps.
        std::fs::write(folder.join("tls/127.0.0.1"), &git.authority).unwrap();
        std::fs::write(folder.join("ssh/ssh_known_hosts"), format!("{}\n", git.known_hosts)).unwrap();
        let mut instance = ArgoCd {
            process: None,
            program: program.to_path_buf(),
            kubeconfig: kubeconfig.to_path_buf(),
            folder,
            namespace: namespace.to_string(),
        };
        instance.start_process();
        instance
    }

    pub fn start_process(&mut self) {
        let log = File::options().create(true).append(true).open(self.folder.join("log")).unwrap();
        let process = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--namespace", &self.namespace, "--directory"])
            .arg(&self.folder)
            // Identifies the cluster that Argo CD runs on.
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.process = Some(process.expect("`tests/real/build` builds argocd"));
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Returns the end of the log, for a failed test.
    pub fn log(&self) -> String {
        let text = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

impl Drop for ArgoCd {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("-- {}\n{}", self.namespace, self.log());
        }
        self.kill();
    }
}
