//! What the documents tell a reader to type is typed here, line by line.
//!
//! `switchboard` lines are run always; `kubectl` lines with the feature `real`, against the server that the last
//! `switchboard up` or `serve` above them started. What asks a kernel must be understood always, and answered with
//! the feature `real`, when there is something to ask about. `make` targets are checked by `tests/tidy.rs`.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use switchboard_suite::process;

const DOCUMENTS: [&str; 3] = ["README.md", "docs/CLUSTER.md", "docs/OPERATORS.md"];

/// What is not answered within this will not be.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// The command line is not understood.
const USAGE: i32 = 64;

/// A server that a document started, and the kernel that it let run over it.
struct Server {
    child: Child,
    kubeconfig: String,
    kernel: Option<Kernel>,
}

struct Kernel(Child);

impl Drop for Kernel {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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

fn switchboard(line: &str, folder: &Path) -> Command {
    let mut command = Command::new(process::binary().unwrap());
    command.args(line.split_whitespace().skip(1)).env("XDG_DATA_HOME", folder.join("share")).current_dir(folder);
    command
}

fn start(line: &str, folder: &Path) -> Server {
    let mut child = switchboard(line, folder)
        .args(["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut kubeconfig = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut kubeconfig).unwrap();
    assert!(!kubeconfig.is_empty(), "`{line}` did not start");
    Server { child, kubeconfig: kubeconfig.trim().to_string(), kernel: None }
}

/// Starts a kernel over a server, and waits until it says what it hosts.
fn host(line: &str, folder: &Path, server: &Server) -> Kernel {
    let mut command = switchboard(line, folder);
    let mut child = command.env("KUBECONFIG", &server.kubeconfig).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let kernel = Kernel(child);
    let mut lines = said.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("hosting ")), "`{line}` did not start");
    // Nobody may be kept waiting for a reader of what it says.
    std::thread::spawn(move || lines.for_each(drop));
    kernel
}

/// Asks a kernel until it answers; a journal is written a moment after the cluster.
fn ask(line: &str, folder: &Path, server: &Server) {
    let end = Instant::now() + PATIENCE;
    loop {
        let ran = switchboard(line, folder).env("KUBECONFIG", &server.kubeconfig).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        let code = ran.status.code();
        assert!(code.is_some_and(|code| code != USAGE), "`{line}` was not understood: {said}");
        if matches!(code, Some(0 | 2)) || !cfg!(feature = "real") {
            return;
        }
        assert!(Instant::now() < end, "`{line}` failed: {said}");
        std::thread::sleep(POLL);
    }
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
        for given in ["tests", "examples"] {
            std::os::unix::fs::symlink(root().join(given), folder.path().join(given)).unwrap();
        }
        let mut server = None;
        for line in commands(document) {
            match line.split_whitespace().next() {
                Some("make") => {}
                Some("switchboard") => match (line.split_whitespace().nth(1), &mut server) {
                    (Some("up" | "serve"), _) => {
                        drop(server.take());
                        server = Some(start(&line, folder.path()));
                    }
                    (Some("run"), Some(server)) => server.kernel = Some(host(&line, folder.path(), server)),
                    (_, Some(server)) => ask(&line, folder.path(), server),
                    (_, None) => panic!("{document}: `{line}` comes before there is a server"),
                },
                Some("kubectl") => {
                    let server = server.get_or_insert_with(|| start("switchboard up --ephemeral", folder.path()));
                    run(&line, folder.path(), server);
                }
                other => panic!("{document}: nobody runs {other:?}"),
            }
        }
    }
}
