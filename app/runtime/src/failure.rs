//! Error messages: what failed, the causes, and a hint.

use std::error::Error;
use std::io::{self, ErrorKind};

use switchboard_cluster::auth::kubeconfig::KubeconfigError;
use switchboard_cluster::listener::ListenError;
use switchboard_cluster::store::OpenError;
use switchboard_gather::SourceError;
use switchboard_hosted::HostingError;
use switchboard_kernel::journal::JournalError;
use switchboard_kernel::listener::ListenError as AskError;
use switchboard_object::causes::causes;
use switchboard_sandbox::SandboxError;

use crate::state_dir::KernelError;

/// Error that ends a command or a start.
pub type CommandError = Box<dyn Error + Send + Sync>;

/// Formats an error with its causes and one hint. Of several hints, the one nearest to the root cause wins.
pub fn message(error: &(dyn Error + 'static)) -> String {
    let text = error.to_string();
    let (what, mut own) = split_hint(&text);
    // A report of several errors brings its own prefix.
    let mut printed = if what.starts_with("error: ") { what.to_string() } else { format!("error: {what}") };
    let deeper: Vec<String> = causes(error).skip(1).map(ToString::to_string).collect();
    for cause in &deeper {
        let (cause, hint) = split_hint(cause);
        // A transparent error repeats the message of its source.
        if !printed.ends_with(cause) {
            printed.push_str(&format!("\n  {cause}"));
        }
        own = hint.or(own);
    }
    let hint = own.or_else(|| hint(error)).unwrap_or(LAST_HINT);
    printed.push_str(&format!("\nhint: {hint}"));
    printed
}

/// Hint for errors without a specific one.
pub const LAST_HINT: &str = "check configuration, clusters, permissions and machine with `switchboard doctor`; set SWITCHBOARD_LOG=debug for more output";

/// Splits a message from the hint at its end.
fn split_hint(text: &str) -> (&str, Option<&str>) {
    text.split_once("\nhint: ").map_or((text, None), |(what, hint)| (what, Some(hint)))
}

/// Returns the hint for a common error, chosen by the failed operation, else by the I/O error.
fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let kind = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    let special = if let Some(error) = error.downcast_ref::<OpenError>() {
        store_hint(error)
    } else if let Some(error) = error.downcast_ref::<ListenError>() {
        port_hint(error, kind)
    } else if let Some(error) = error.downcast_ref::<SourceError>() {
        dump_hint(error)
    } else if let Some(JournalError::Busy(_)) = error.downcast_ref::<JournalError>() {
        Some("stop the other process, or pass another directory with --state-dir DIR")
    } else if let Some(JournalError::Format { .. }) = error.downcast_ref::<JournalError>() {
        Some("use the version that wrote it, delete the journal, or pass another directory with --state-dir DIR")
    } else if let Some(error) = error.downcast_ref::<AskError>() {
        kernel_hint(error, kind)
    } else if let Some(KernelError::Refused(_)) = error.downcast_ref::<KernelError>() {
        Some("`switchboard top` lists the operators, `switchboard why-not OPERATOR` their units")
    } else if let Some(hint) = causes(error).find_map(program_hint) {
        Some(hint)
    } else if let Some(hint) = causes(error).find_map(crate::gitops::hint::hint) {
        Some(hint)
    } else if let Some(hint) = causes(error).find_map(server_hint) {
        Some(hint)
    } else if let Some(error) = error.downcast_ref::<KubeconfigError>() {
        Some(match error {
            KubeconfigError::Foreign { .. } => "pass another file with --kubeconfig FILE, or move this file away",
            KubeconfigError::Write { .. } => "pass a writable file with --kubeconfig FILE",
        })
    } else {
        None
    };
    special.or_else(|| kind.and_then(system_hint))
}

fn store_hint(error: &OpenError) -> Option<&'static str> {
    Some(match error {
        OpenError::Locked { .. } => "stop the other process, or pass another directory with --data-dir DIR",
        OpenError::Damaged { .. } | OpenError::Missing { .. } => {
            "nothing was changed; restore the data directory from a backup, or start with a new one: --data-dir DIR"
        }
        OpenError::Newer { .. } => "start the version that wrote it, or a newer version",
        OpenError::Io { .. } => return None,
    })
}

fn port_hint(error: &ListenError, kind: Option<ErrorKind>) -> Option<&'static str> {
    let ListenError::Bind { address, .. } = error else { return None };
    Some(match kind {
        Some(ErrorKind::AddrInUse) => "another process uses this port; --listen 127.0.0.1:0 selects a free port",
        Some(ErrorKind::PermissionDenied) if address.port() < 1024 => {
            "ports below 1024 need privileges; use a higher port, such as --listen 127.0.0.1:6443"
        }
        _ => "pass an address of this machine with --listen ADDR:PORT",
    })
}

fn program_hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    match (error.downcast_ref::<HostingError>(), error.downcast_ref::<SandboxError>()) {
        (Some(HostingError::NoProgram(_)), _) => {
            Some("set `command` to an absolute path, a path relative to the configuration file, or a name in PATH")
        }
        (Some(HostingError::NoFile(_)), _) => Some(
            "use absolute paths under `files`, or paths relative to the configuration file; list only files that the program needs",
        ),
        (Some(HostingError::NoAccount), _) => Some("set `serviceAccount: namespace/name`"),
        (_, Some(SandboxError::Unsupported { .. } | SandboxError::Setup { .. })) => Some(
            "see docs/reference/hosting.md for the requirements of a sandbox; `sandbox: off` runs this operator without a sandbox, with the permissions of this user",
        ),
        _ => None,
    }
}

fn kernel_hint(error: &AskError, kind: Option<ErrorKind>) -> Option<&'static str> {
    match error {
        AskError::Port(..) => Some("change `listen` in the configuration; port 0 selects a free port"),
        // The operating system returns this kind for a path that is too long.
        AskError::Socket(..) if kind == Some(ErrorKind::InvalidInput) => {
            Some("pass a directory with a shorter path with --state-dir DIR")
        }
        AskError::Socket(..) => None,
    }
}

/// Returns the hint for an error of an API server or of the connection to it.
fn server_hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    // A boxed error downcasts only as its box.
    let boxed = || error.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
    match error.downcast_ref::<kube::Error>().or_else(boxed)? {
        kube::Error::Api(status) => match status.code {
            401 => Some("check the credentials of the kubeconfig: they may be expired, or for another cluster"),
            403 => Some(
                "request the permission from an administrator; `kubectl auth can-i --list` shows the permissions of this user",
            ),
            404 => Some("check cluster and namespace; `kubectl api-resources` lists the served kinds"),
            409 => Some("another writer changed the object at the same time; try again"),
            413 | 422 => Some("correct the object; `kubectl explain KIND` shows its fields"),
            429 | 500..=599 => Some("the server is overloaded or failing; try again later"),
            _ => None,
        },
        kube::Error::HyperError(_) | kube::Error::Service(_) => {
            Some("check that the cluster is running, and that this machine can reach the address in the kubeconfig")
        }
        _ => None,
    }
}

fn dump_hint(error: &SourceError) -> Option<&'static str> {
    match error {
        SourceError::Archive { .. } => {
            Some("pass the directory that `oc adm must-gather` wrote, or a complete .tar or .tar.gz of it")
        }
        SourceError::Open { .. } | SourceError::List { .. } => Some("check the path and its mode"),
        SourceError::TooLarge { .. } => Some("serve a part of it: a folder with a subfolder `namespaces`"),
    }
}

fn system_hint(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound => "check the path: it does not exist",
        ErrorKind::IsADirectory => "the path is a directory; pass the path of a file",
        ErrorKind::InvalidData => "check the path: the file is not text",
        ErrorKind::BrokenPipe => "the reader of the output closed the pipe",
        ErrorKind::ConnectionRefused => "check that the server is running: nothing listens on this address",
        ErrorKind::TimedOut => "check the network and try again: the server did not answer in time",
        ErrorKind::PermissionDenied => "check owner and mode: this user must be able to read and write it",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free disk space, or use another disk",
        ErrorKind::ReadOnlyFilesystem => "use a writable file system",
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => "the path is a file; pass the path of a directory",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
