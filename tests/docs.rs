//! What the documents tell a reader to type is typed here, line by line.
//!
//! `switchboard` lines are run always; `kubectl` lines with the feature `real`, against the server that the last
//! `switchboard` line above them started; `make` targets are checked by `tests/tidy.rs`.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use switchboard_suite::process;

const DOCUMENTS: [&str; 2] = ["README.md", "docs/CLUSTER.md"];

/// A server that a document started.
struct Server {
    child: Child,
    kubeconfig: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The lines of all shell blocks, without comments.
fn commands(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).map(|line| line.split("  #").next().unwrap_or(line).trim().to_string());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

fn start(line: &str, folder: &Path) -> Server {
    let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
    let mut child = Command::new(process::binary().unwrap())
        .args(arguments)
        .args(["--listen", "127.0.0.1:0"])
        .env("XDG_DATA_HOME", folder.join("share"))
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut kubeconfig = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut kubeconfig).unwrap();
    assert!(!kubeconfig.is_empty(), "`{line}` did not start");
    Server { child, kubeconfig: kubeconfig.trim().to_string() }
}

#[cfg(feature = "real")]
fn run(line: &str, folder: &Path, server: &Server) {
    let ran = Command::new("bash")
        .args(["-c", line])
        .env("KUBECONFIG", &server.kubeconfig)
        .env("HOME", folder)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "`{line}` failed: {said}");
}

#[cfg(not(feature = "real"))]
fn run(_line: &str, _folder: &Path, server: &Server) {
    // Without kubectl, only that there is a kubeconfig to use.
    assert!(Path::new(&server.kubeconfig).exists());
}

#[test]
fn every_command_of_the_documents_works() {
    for document in DOCUMENTS {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root().join("tests"), folder.path().join("tests")).unwrap();
        let mut server = None;
        for line in commands(document) {
            match line.split_whitespace().next() {
                Some("make") => {}
                Some("switchboard") => {
                    drop(server.take());
                    server = Some(start(&line, folder.path()));
                }
                Some("kubectl") => {
                    let server = server.get_or_insert_with(|| start("switchboard up --ephemeral", folder.path()));
                    run(&line, folder.path(), server);
                }
                other => panic!("{document}: nobody runs {other:?}"),
            }
        }
    }
}
