//! The real kube-apiserver, etcd and kube-controller-manager as loopback processes for the time of a test.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Real components that run until dropped; one given by `SWITCHBOARD_REAL_DIR` is shared and left running.
#[derive(Debug)]
pub struct Real {
    dir: PathBuf,
    own: Option<tempfile::TempDir>,
}

/// Why the real components are not there.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// A directory or process could not be made.
    #[error("could not run {0}")]
    Run(&'static str, #[source] std::io::Error),
    /// `real/up` said no.
    #[error("real/up failed: {0}")]
    Up(String),
}

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Real {
    /// Builds what is not built, and starts it.
    pub fn start() -> Result<Real, RealError> {
        let (dir, own) = match std::env::var_os("SWITCHBOARD_REAL_DIR") {
            Some(dir) => (PathBuf::from(dir), None),
            None => {
                let own = tempfile::tempdir().map_err(|e| RealError::Run("a temporary directory", e))?;
                (own.path().to_path_buf(), Some(own))
            }
        };
        let real = Real { dir, own };
        let output = real.script("real/up").output().map_err(|e| RealError::Run("real/up", e))?;
        if !output.status.success() {
            return Err(RealError::Up(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(real)
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    fn script(&self, name: &str) -> Command {
        let mut command = Command::new(workspace().join(name));
        command.env("SWITCHBOARD_REAL_DIR", &self.dir);
        command
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        if self.own.is_some() {
            // Nothing can be done about a failure here; the next `real/down` on that directory reports it.
            let _ = self.script("real/down").status();
        }
    }
}
