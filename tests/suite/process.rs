//! The `switchboard` binary as a process.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// Timeout until the server answers.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(2);

/// `switchboard up`, killed when dropped.
#[derive(Debug)]
pub struct UpProcess {
    process: Child,
    kubeconfig: PathBuf,
}

/// Error starting the server.
#[derive(Debug, thiserror::Error)]
pub enum UpProcessError {
    /// A file or process could not be created.
    #[error("could not run {0}")]
    Run(&'static str, #[source] std::io::Error),
    /// The build failed.
    #[error("could not build the switchboard binary")]
    Build,
    /// The process exited.
    #[error("switchboard ended with {0} instead of serving")]
    Exited(std::process::ExitStatus),
    /// The server does not answer.
    #[error("switchboard did not answer in time")]
    NotReady,
}

/// Returns the binary of the test's profile, built if it is missing or outdated.
pub fn binary() -> Result<&'static Path, UpProcessError> {
    static BINARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    BINARY.get_or_init(build).as_deref().ok_or(UpProcessError::Build)
}

fn build() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("SWITCHBOARD_BIN") {
        return Some(path.into());
    }
    // target/<profile>/deps/<test>
    let exe = std::env::current_exe().ok()?;
    let target = exe.parent()?.parent()?;
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(cargo);
    // With the features of the whole workspace, like `make test`; otherwise all dependencies would be built again.
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["build", "--quiet", "--workspace", "--bin", "switchboard"]);
    command.arg("--target-dir");
    command.arg(target.parent()?);
    if target.file_name()? == "release" {
        command.arg("--release");
    }
    let built = command.stdout(Stdio::null()).status().ok()?.success();
    built.then(|| target.join("switchboard"))
}

impl UpProcess {
    /// Starts a durable server and returns at once; [`UpProcess::client`] waits until it answers.
    pub fn start(data_dir: &Path) -> Result<UpProcess, UpProcessError> {
        UpProcess::start_with(data_dir, &[])
    }

    /// Starts a server with further arguments.
    pub fn start_with(data_dir: &Path, arguments: &[&OsStr]) -> Result<UpProcess, UpProcessError> {
        let kubeconfig = data_dir.with_extension("kubeconfig");
        // The old file contains the old port.
        let _ = std::fs::remove_file(&kubeconfig);
        let mut command = Command::new(binary()?);
        command.arg("up").arg("--data-dir").arg(data_dir).args(["--listen", "127.0.0.1:0"]).args(arguments);
        command.arg("--kubeconfig").arg(&kubeconfig).stdin(Stdio::null()).stdout(Stdio::null());
        if std::env::var_os("SWITCHBOARD_LOG").is_none() {
            command.stderr(Stdio::null());
        }
        let process = command.spawn().map_err(|error| UpProcessError::Run("switchboard", error))?;
        Ok(UpProcess { process, kubeconfig })
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns a client with its own connections once the server is ready.
    pub async fn client(&mut self) -> Result<Client, UpProcessError> {
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait().map_err(|error| UpProcessError::Run("switchboard", error))? {
                return Err(UpProcessError::Exited(status));
            }
            if let Some(client) = client(&self.kubeconfig).await
                && is_ready(&client).await
            {
                return Ok(client);
            }
            tokio::time::sleep(POLL).await;
        }
        Err(UpProcessError::NotReady)
    }

    /// Sends SIGKILL and waits for the exit.
    pub fn kill(&mut self) {
        // Fails only if the process has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for UpProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns a client of the kubeconfig's current context without retries; `None` while the file is incomplete.
pub async fn client(kubeconfig: &Path) -> Option<Client> {
    let file = Kubeconfig::read_from(kubeconfig).ok()?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.ok()?;
    config.default_retry = false;
    Client::try_from(config).ok()
}

/// Whether the server is ready.
pub async fn is_ready(client: &Client) -> bool {
    let request = http::Request::get("/readyz").body(Vec::new()).expect("a constant request is valid");
    client.request_text(request).await.is_ok()
}
