//! Local process of one pod.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot};

/// Grace period between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(3);

/// Exit of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessExit {
    /// Description for the status and the output.
    pub message: String,
    /// Whether the exit code is 0.
    pub success: bool,
}

/// Event for the runner of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// A process ended by itself.
    Exited { uid: String, namespace: String, name: String, exit: ProcessExit },
    /// All processes must end.
    Shutdown,
}

/// Running process.
pub struct LocalProcess {
    /// Listen address passed to the process.
    pub address: String,
    group: Option<Pid>,
    gone: oneshot::Receiver<()>,
}

impl LocalProcess {
    /// Starts a process in a folder, with a free port in `PORT`. Its output goes to stderr.
    pub async fn start(
        uid: &str,
        namespace: &str,
        name: &str,
        command: &[String],
        folder: &Path,
        env: &BTreeMap<String, String>,
        ended: mpsc::Sender<ProcessEvent>,
    ) -> io::Result<Self> {
        // The port is released again; the system does not reuse it for a while.
        let address = TcpListener::bind(("127.0.0.1", 0)).await?.local_addr()?;
        let talk = || io::stderr().as_fd().try_clone_to_owned().map(Stdio::from);
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(folder)
            .envs(env)
            .env("PORT", address.port().to_string())
            .stdin(Stdio::null())
            .stdout(talk()?)
            .stderr(talk()?)
            // In its own process group, child processes end with it, and an interrupt of the terminal does not reach
            // it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (tell, gone) = oneshot::channel();
        let (uid, namespace, name) = (uid.to_string(), namespace.to_string(), name.to_string());
        tokio::spawn(async move {
            let exit = match child.wait().await {
                Ok(status) => {
                    ProcessExit { message: format!("the process ended with {status}"), success: status.success() }
                }
                Err(error) => ProcessExit { message: format!("the process was lost: {error}"), success: false },
            };
            let _ = tell.send(());
            let _ = ended.send(ProcessEvent::Exited { uid, namespace, name, exit }).await;
        });
        Ok(Self { address: address.to_string(), group, gone })
    }

    /// Ends the process and all its child processes.
    pub async fn end(self) {
        let Some(group) = self.group else { return };
        let _ = kill_process_group(group, Signal::TERM);
        if tokio::time::timeout(GRACE, self.gone).await.is_err() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
