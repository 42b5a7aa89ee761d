//! Processes of the two compared systems.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use switchboard_suite::process::{UpProcess, client, is_ready};
use switchboard_suite::real::workspace;

use crate::measure::BoxError;
use crate::raw::RawEndpoint;

const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Compared system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SystemKind {
    Switchboard,
    Kubernetes,
}

impl SystemKind {
    pub fn is(self, only: &str) -> bool {
        only.is_empty() || format!("{self:?}").eq_ignore_ascii_case(only)
    }
}

/// Running system with an empty store.
pub struct System {
    running: SystemProcesses,
    /// Endpoint of the minimal client.
    pub endpoint: RawEndpoint,
    /// Time from the start of the first process to the first response.
    pub start: Duration,
    pub client: Client,
    _dir: tempfile::TempDir,
}

enum SystemProcesses {
    Ours(UpProcess),
    Real { dir: PathBuf, up: Child },
}

impl System {
    pub async fn start(side: SystemKind) -> Result<System, BoxError> {
        let dir = tempfile::tempdir_in(base())?;
        match side {
            SystemKind::Switchboard => System::ours(dir).await,
            SystemKind::Kubernetes => System::real(dir).await,
        }
    }

    async fn ours(dir: tempfile::TempDir) -> Result<System, BoxError> {
        // Built before the measurement.
        switchboard_suite::process::binary()?;
        // Hosts no operators, because the other system runs no controllers; the sample operator would cache all
        // ConfigMaps.
        let config = dir.path().join("switchboard.yaml");
        std::fs::write(&config, "operators: {}\n")?;
        let begun = Instant::now();
        let mut ours = UpProcess::start_with(&dir.path().join("data"), &["--config".as_ref(), config.as_os_str()])?;
        let client = ours.client().await?;
        let start = begun.elapsed();
        let door = endpoint(ours.kubeconfig()).await?;
        Ok(System { running: SystemProcesses::Ours(ours), endpoint: door, start, client, _dir: dir })
    }

    /// Starts the components twice: the first start creates certificates, which is not part of the measurement.
    async fn real(dir: tempfile::TempDir) -> Result<System, BoxError> {
        let real = dir.path().to_owned();
        if !script("up", &real).status()?.success() || !script("down", &real).status()?.success() {
            return Err("tests/real/up failed".into());
        }
        let kubeconfig = real.join("kubeconfig");
        std::fs::remove_file(&kubeconfig)?;
        let begun = Instant::now();
        let up = script("up", &real).spawn()?;
        let client = loop {
            if let Some(client) = client(&kubeconfig).await
                && is_ready(&client).await
            {
                break client;
            }
            if begun.elapsed() > START_TIMEOUT {
                return Err("the real kube-apiserver did not answer".into());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        let start = begun.elapsed();
        let door = endpoint(&kubeconfig).await?;
        Ok(System { running: SystemProcesses::Real { dir: real, up }, endpoint: door, start, client, _dir: dir })
    }

    /// Returns the resident memory of all processes in bytes.
    pub fn memory(&self) -> Result<u64, BoxError> {
        let pids = match &self.running {
            SystemProcesses::Ours(ours) => vec![ours.id()],
            SystemProcesses::Real { dir, .. } => {
                vec![pid(&dir.join("etcd.pid"))?, pid(&dir.join("kube-apiserver.pid"))?]
            }
        };
        pids.into_iter().map(resident).sum()
    }
}

impl Drop for System {
    fn drop(&mut self) {
        if let SystemProcesses::Real { dir, up } = &mut self.running {
            let _ = up.wait();
            let _ = script("down", dir).status();
        }
    }
}

/// Returns the folder of both systems, on the same disk: `BENCH_DIR` or the temporary directory.
pub fn base() -> PathBuf {
    std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, Into::into)
}

/// Returns a script of tests/real: etcd with flushes, without kube-controller-manager, so that only API server and
/// store are compared.
fn script(name: &str, dir: &Path) -> Command {
    let mut command = Command::new(workspace().join("real").join(name));
    command.env("SWITCHBOARD_REAL_DIR", dir).env("SWITCHBOARD_REAL_ETCD_FLAGS", "");
    command.env("SWITCHBOARD_REAL_CONTROLLERS", "none").stdout(Stdio::null());
    command
}

async fn endpoint(kubeconfig: &Path) -> Result<RawEndpoint, BoxError> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    RawEndpoint::new(&Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?)
}

fn pid(file: &Path) -> Result<u32, BoxError> {
    let text = std::fs::read_to_string(file)?;
    Ok(text.lines().next().unwrap_or_default().parse()?)
}

fn resident(pid: u32) -> Result<u64, BoxError> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}
