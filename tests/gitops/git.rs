//! Git repositories of the test, served over HTTPS and SSH.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A git server, stopped when dropped.
pub struct GitServer {
    process: Child,
    folder: PathBuf,
    pub https: String,
    pub ssh: String,
    pub authority: String,
    pub known_hosts: String,
}

impl GitServer {
    pub fn start(argocd: &Path, folder: PathBuf) -> GitServer {
        std::fs::create_dir_all(&folder).unwrap();
        let mut process = Command::new(argocd)
            .args(["git", "--directory"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`tests/real/build` builds argocd");
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let listening: Value = serde_json::from_str(&line).expect("the git server says where it listens");
        let text = |key: &str| listening[key].as_str().unwrap().to_string();
        GitServer {
            process,
            folder,
            https: text("https"),
            ssh: text("ssh"),
            authority: text("authority"),
            known_hosts: text("knownHosts"),
        }
    }

    /// Commits these files to branch `main`, replacing all others, and returns the revision.
    pub fn commit(&self, repository: &str, files: &[(&str, &str)]) -> String {
        let (bare, work) =
            (self.folder.join(format!("{repository}.git")), self.folder.join(format!("{repository}.work")));
        if !bare.exists() {
            git(&self.folder, &["init", "--quiet", "--bare", "--initial-branch=main", bare.to_str().unwrap()]);
            git(&self.folder, &["clone", "--quiet", bare.to_str().unwrap(), work.to_str().unwrap()]);
            git(&work, &["checkout", "--quiet", "-B", "main"]);
        }
        for entry in std::fs::read_dir(&work).unwrap().flatten().filter(|entry| entry.file_name() != ".git") {
            if entry.path().is_dir() {
                std::fs::remove_dir_all(entry.path()).unwrap();
            } else {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        for (name, text) in files {
            let file = work.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        git(&work, &["add", "--all"]);
        let author = [
            "-c",
            "user.name=test",
            "-c",
            "user.email=test@localhost",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "change",
        ];
        git(&work, &author);
        git(&work, &["push", "--quiet", "origin", "main"]);
        git(&work, &["rev-parse", "HEAD"])
    }

    /// Sets the credentials of repositories whose name begins with `private`.
    pub fn set_password(&self, user: &str, password: &str) {
        std::fs::write(self.folder.join("password"), format!("{user}:{password}\n")).unwrap();
    }

    /// Creates the only key with SSH access, and returns its private part.
    pub fn set_key(&self) -> String {
        let file = self.folder.join("key");
        let _ = std::fs::remove_file(&file);
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(&file).status();
        assert!(made.expect("ssh-keygen").success());
        std::fs::copy(file.with_extension("pub"), self.folder.join("authorized_keys")).unwrap();
        std::fs::read_to_string(&file).unwrap()
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let done =
        Command::new("git").current_dir(folder).args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_string()
}
