//! Metrics of a whole process, checked as `promtool check metrics` does.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use switchboard_suite::{process, tool};

/// Timeout until the process serves the metrics of all its roles.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Configuration of the process: a native operator, and both roles of the GitOps Service.
const CONFIG: &str = "listen: 127.0.0.1:0\noperators:\n  greeter: {}\n  engine: {}\ngitops: {}\n";

struct UpProcess(Child);

impl Drop for UpProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn page(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: kernel\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response.split_once("\r\n\r\n").unwrap().1.to_string()
}

/// Returns the problems that promtool reports, a line each.
fn problems(page: &str) -> Vec<String> {
    let mut child =
        Command::new(tool::programs().join("promlint")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "promlint could not parse\n{page}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn promtool_has_no_objection_to_metrics_of_our_own() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("switchboard.yaml"), CONFIG).unwrap();
    let mut child = Command::new(process::binary().unwrap())
        .args(["up", "--listen", "127.0.0.1:0", "--config", "switchboard.yaml", "--example", "gitops"])
        .current_dir(folder.path())
        .env_remove("KUBECONFIG")
        .env("HOME", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let _process = UpProcess(child);
    let line = lines.find(|line| line.starts_with("metrics at http://")).expect("the metrics are served");
    let address = line.trim_start_matches("metrics at http://").trim_end_matches("/metrics").to_string();
    std::thread::spawn(move || lines.for_each(drop));
    let end = Instant::now() + TIMEOUT;
    let complete = loop {
        let page = page(&address);
        if page.contains("\nswitchboard_gitops_scrape_success 1\n") && page.contains("le=\"+Inf\"") {
            break page;
        }
        assert!(Instant::now() < end, "{page}");
        std::thread::sleep(Duration::from_millis(200));
    };
    let found = problems(&complete);
    // Names without our prefix are those of managed-gitops, whose dashboards read them.
    let ours: Vec<&String> = found.iter().filter(|problem| problem.starts_with("switchboard_")).collect();
    assert!(ours.is_empty(), "{ours:#?}");
    let seeded = complete.replace("switchboard_operator_runs_total", "switchboard_operator_runs");
    assert!(
        problems(&seeded).iter().any(|problem| problem.contains("switchboard_operator_runs")),
        "the check can fail"
    );
}
