//! One process in place of a pod.

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

/// How long a process may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(3);

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct How {
    /// For people.
    pub words: String,
    /// Whether it says that all is well.
    pub well: bool,
}

/// Something that is told to whoever runs processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A process ended by itself.
    One { uid: String, namespace: String, name: String, how: How },
    /// All are to end.
    All,
}

/// A process that runs.
pub struct Process {
    /// Where it is told to listen.
    pub address: String,
    group: Option<Pid>,
    gone: oneshot::Receiver<()>,
}

impl Process {
    /// Starts one in a folder, with a free port in `PORT`. What it prints goes to stderr.
    pub async fn start(
        uid: &str,
        namespace: &str,
        name: &str,
        command: &[String],
        folder: &Path,
        env: &BTreeMap<String, String>,
        ended: mpsc::Sender<Ended>,
    ) -> io::Result<Self> {
        // Taken and given back: nobody else is offered it for a while.
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
            // A group of its own: what it starts ends with it, and an interrupt at the terminal is not its own.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (tell, gone) = oneshot::channel();
        let (uid, namespace, name) = (uid.to_string(), namespace.to_string(), name.to_string());
        tokio::spawn(async move {
            let how = match child.wait().await {
                Ok(status) => How { words: format!("the process ended with {status}"), well: status.success() },
                Err(error) => How { words: format!("the process was lost: {error}"), well: false },
            };
            let _ = tell.send(());
            let _ = ended.send(Ended::One { uid, namespace, name, how }).await;
        });
        Ok(Self { address: address.to_string(), group, gone })
    }

    /// Ends it and all that it started.
    pub async fn end(self) {
        let Some(group) = self.group else { return };
        let _ = kill_process_group(group, Signal::TERM);
        if tokio::time::timeout(GRACE, self.gone).await.is_err() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
