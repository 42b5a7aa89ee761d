//! kube-apiserver, etcd and kube-controller-manager as loopback processes for a test.

use std::ffi::OsStr;
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

/// Real components, stopped when dropped. The shared ones of `SWITCHBOARD_REAL_DIR` keep running.
#[derive(Debug)]
pub struct RealCluster {
    dir: PathBuf,
    own: Option<tempfile::TempDir>,
}

/// Error starting the components.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// A directory or process could not be created.
    #[error("could not run {0}")]
    Run(&'static str, #[source] std::io::Error),
    /// `tests/real/up` failed.
    #[error("tests/real/up failed: {0}")]
    Up(String),
}

/// Audit policy: metadata of each request, at the start and at the end of the response.
const AUDIT_POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}]}"#;

/// Maximum number of start attempts for a killed component.
const STARTS: usize = 3;

/// Returns the root of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether a process still holds resources. Sockets are closed after the memory is freed, so only the port of a dead
/// process is free.
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next()).is_some_and(|state| !"ZX".contains(state))
}

impl RealCluster {
    /// Builds missing components and starts them.
    pub fn start() -> Result<RealCluster, RealError> {
        let (dir, own) = match std::env::var_os("SWITCHBOARD_REAL_DIR") {
            Some(dir) => (PathBuf::from(dir), None),
            None => {
                let own = tempfile::tempdir().map_err(|e| RealError::Run("a temporary directory", e))?;
                (own.path().to_path_buf(), Some(own))
            }
        };
        let real = RealCluster { dir, own };
        real.run_script("")
    }

    /// Starts separate components, regardless of `SWITCHBOARD_REAL_DIR`.
    pub fn start_own() -> Result<RealCluster, RealError> {
        let own = tempfile::tempdir().map_err(|e| RealError::Run("a temporary directory", e))?;
        RealCluster { dir: own.path().to_path_buf(), own: Some(own) }.run_script("")
    }

    /// Starts separate components with an audit log.
    pub fn start_audited() -> Result<RealCluster, RealError> {
        let own = tempfile::tempdir().map_err(|e| RealError::Run("a temporary directory", e))?;
        let policy = own.path().join("audit-policy.yaml");
        std::fs::write(&policy, AUDIT_POLICY).map_err(|e| RealError::Run("a temporary directory", e))?;
        let real = RealCluster { dir: own.path().to_path_buf(), own: Some(own) };
        let log = real.dir.join("audit.log");
        real.run_script(&format!("--audit-policy-file={} --audit-log-path={}", policy.display(), log.display()))
    }

    fn run_script(self, flags: &str) -> Result<RealCluster, RealError> {
        let mut script = self.script("tests/real/up");
        if !flags.is_empty() {
            script.env("SWITCHBOARD_REAL_APISERVER_FLAGS", flags);
        }
        let output = script.output().map_err(|e| RealError::Run("tests/real/up", e))?;
        if !output.status.success() {
            return Err(RealError::Up(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(self)
    }

    /// Returns the audited requests so far, in order.
    pub fn audit(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.dir.join("audit.log")).unwrap_or_default();
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns the process id of a component, such as `kube-apiserver`.
    pub fn process(&self, component: &str) -> Option<u32> {
        let file = std::fs::read_to_string(self.dir.join(format!("{component}.pid"))).ok()?;
        file.lines().next()?.parse().ok()
    }

    /// Kills a component, restarts it, and waits until it serves.
    pub fn restart(&self, component: &str) -> Result<(), RealError> {
        let run = |error| RealError::Run("a component again", error);
        let pid = self.process(component).ok_or_else(|| RealError::Up(format!("no {component} runs")))?;
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).map_err(run)?;
        let line: Vec<&OsStr> =
            line.split(|byte| *byte == 0).filter(|part| !part.is_empty()).map(OsStr::from_bytes).collect();
        Command::new("kill").args(["-9", &pid.to_string()]).status().map_err(run)?;
        while is_running(&pid.to_string()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        for _ in 0..STARTS {
            if self.start_component(component, &line)? {
                return Ok(());
            }
        }
        Err(RealError::Up(format!("{component} does not come back: {}", self.last_lines(component))))
    }

    /// Starts a component and returns whether it serves. On a busy machine a component may give up; in a cluster, the
    /// kubelet would restart it.
    fn start_component(&self, component: &str, line: &[&OsStr]) -> Result<bool, RealError> {
        let run = |error| RealError::Run("a component again", error);
        // Started by a short-lived shell, so that no zombie is left.
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(r#"log=$1; shift; setsid nohup "$@" >>"$log" 2>&1 </dev/null & echo $!"#).arg("sh");
        let begun = shell.arg(self.dir.join(format!("{component}.log"))).args(line).output().map_err(run)?;
        let pid = String::from_utf8_lossy(&begun.stdout).trim().to_string();
        let named = format!("{pid}\n{}\n", line.first().map_or("", |name| name.to_str().unwrap_or("")));
        std::fs::write(self.dir.join(format!("{component}.pid")), named).map_err(run)?;
        let port = line.iter().skip_while(|part| **part != "--secure-port").nth(1);
        let port = port.and_then(|port| port.to_str()?.parse::<u16>().ok());
        let serves = || match (component, port) {
            // The port is open long before the component is ready.
            ("kube-apiserver", _) => self.is_ready(),
            (_, Some(port)) => TcpStream::connect(("127.0.0.1", port)).is_ok(),
            (_, None) => true,
        };
        while is_running(&pid) {
            if serves() {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(false)
    }

    fn is_ready(&self) -> bool {
        let mut ask = Command::new("kubectl");
        ask.arg("--kubeconfig").arg(self.kubeconfig()).args(["--request-timeout", "5s", "get", "--raw", "/readyz"]);
        ask.output().is_ok_and(|answer| answer.status.success())
    }

    /// Returns the last log lines of a component, for a failed test.
    pub fn last_lines(&self, component: &str) -> String {
        let text = std::fs::read_to_string(self.dir.join(format!("{component}.log"))).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Returns the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    fn script(&self, name: &str) -> Command {
        let mut command = Command::new(workspace().join(name));
        command.env("SWITCHBOARD_REAL_DIR", &self.dir);
        command
    }
}

impl Drop for RealCluster {
    fn drop(&mut self) {
        if self.own.is_some() {
            // Errors are ignored; the next `tests/real/down` on that directory reports them.
            let _ = self.script("tests/real/down").status();
        }
    }
}
