//! Error output of the command: what failed, the causes, and a hint.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use switchboard_cluster::auth::kubeconfig::KubeconfigError;
use switchboard_cluster::listener::ListenError;
use switchboard_cluster::store::OpenError;
use switchboard_gather::SourceError;
use switchboard_hosted::HostingError;
use switchboard_kernel::journal::JournalError;
use switchboard_kernel::listener::ListenError as AskError;
use switchboard_sandbox::SandboxError;

use crate::kernel::KernelError;
use crate::stderr::print_stderr;

/// Error that ends a command.
pub type CommandError = Box<dyn Error + Send + Sync>;

/// Prints the error with its causes and returns the exit code.
pub fn report(error: &(dyn Error + 'static)) -> ExitCode {
    print_stderr(message(error));
    ExitCode::FAILURE
}

/// Formats an error with its causes and one hint. Of several hints, the one nearest to the root cause wins.
pub fn message(error: &(dyn Error + 'static)) -> String {
    let text = error.to_string();
    let (what, mut own) = split_hint(&text);
    // A report of several errors brings its own prefix.
    let mut told = if what.starts_with("error: ") { what.to_string() } else { format!("error: {what}") };
    let deeper: Vec<String> = causes(error).skip(1).map(ToString::to_string).collect();
    for cause in &deeper {
        let (cause, hint) = split_hint(cause);
        // A transparent error repeats the message of its source.
        if !told.ends_with(cause) {
            told.push_str(&format!("\n  {cause}"));
        }
        own = hint.or(own);
    }
    let hint = own.or_else(|| hint(error)).unwrap_or(LAST_HINT);
    told.push_str(&format!("\nhint: {hint}"));
    told
}

/// Hint for errors without a specific one.
const LAST_HINT: &str = "`switchboard doctor` checks configuration, clusters, rights and machine; SWITCHBOARD_LOG=debug has the same command say more";

/// Splits a message from the hint at its end.
fn split_hint(text: &str) -> (&str, Option<&str>) {
    text.split_once("\nhint: ").map_or((text, None), |(what, hint)| (what, Some(hint)))
}

/// Iterates over the error and its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| <dyn Error>::source(*error))
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
        Some("stop the other process, or give another directory with --state-dir DIR")
    } else if let Some(error) = error.downcast_ref::<AskError>() {
        kernel_hint(error, kind)
    } else if let Some(KernelError::Refused(_)) = error.downcast_ref::<KernelError>() {
        Some("`switchboard top` names the operators, `switchboard why-not OPERATOR` their units")
    } else if let Some(hint) = causes(error).find_map(program_hint) {
        Some(hint)
    } else if let Some(hint) = causes(error).find_map(crate::gitops::hint) {
        Some(hint)
    } else if let Some(hint) = causes(error).find_map(server_hint) {
        Some(hint)
    } else if error.is::<KubeconfigError>() {
        Some("give a file that may be written with --kubeconfig FILE")
    } else {
        None
    };
    special.or_else(|| kind.and_then(system_hint))
}

fn store_hint(error: &OpenError) -> Option<&'static str> {
    Some(match error {
        OpenError::Locked { .. } => "stop the other process, or give another directory with --data-dir DIR",
        OpenError::Damaged { .. } | OpenError::Missing { .. } => {
            "nothing was changed; put the data directory back from a copy, or begin afresh with --data-dir DIR"
        }
        OpenError::Newer { .. } => "start the version that wrote it, or a newer one",
        OpenError::Io { .. } => return None,
    })
}

fn port_hint(error: &ListenError, kind: Option<ErrorKind>) -> Option<&'static str> {
    let ListenError::Bind { address, .. } = error else { return None };
    Some(match kind {
        Some(ErrorKind::AddrInUse) => "another server has this port; --listen 127.0.0.1:0 picks a free one",
        Some(ErrorKind::PermissionDenied) if address.port() < 1024 => {
            "ports below 1024 are for privileged users; take a higher one, such as --listen 127.0.0.1:6443"
        }
        _ => "give an address of this machine with --listen ADDR:PORT",
    })
}

fn program_hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    match (error.downcast_ref::<HostingError>(), error.downcast_ref::<SandboxError>()) {
        (Some(HostingError::NoProgram(_)), _) => {
            Some("`command` is a path from the root or from the configuration's folder, or a name in PATH")
        }
        (Some(HostingError::NoFile(_)), _) => Some(
            "paths under `files` begin at the root or at the configuration's folder; leave out what the program does not need",
        ),
        (Some(HostingError::NoAccount), _) => Some("name one as `serviceAccount: namespace/name`"),
        (_, Some(SandboxError::Unsupported { .. } | SandboxError::Setup { .. })) => Some(
            "docs/HOSTING.md says what a sandbox needs; `sandbox: off` runs this operator without one, with all that this user may",
        ),
        _ => None,
    }
}

fn kernel_hint(error: &AskError, kind: Option<ErrorKind>) -> Option<&'static str> {
    match error {
        AskError::Port(..) => Some("`listen` in the configuration says where; port 0 takes any free one"),
        // The operating system returns this kind for a path that is too long.
        AskError::Socket(..) if kind == Some(ErrorKind::InvalidInput) => {
            Some("give a directory with a shorter path with --state-dir DIR")
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
            401 => Some("the credentials of the kubeconfig are not accepted: are they expired, or of another cluster?"),
            403 => Some("this user may not do that; `kubectl auth can-i --list` shows what it may"),
            404 => Some("is it the right cluster and namespace? `kubectl api-resources` shows the kinds there are"),
            409 => Some("somebody else wrote at the same time; try again"),
            413 | 422 => Some("the object is not as the server wants it; `kubectl explain KIND` says how it should be"),
            429 | 500..=599 => Some("the server is busy or unwell; try again in a moment"),
            _ => None,
        },
        kube::Error::HyperError(_) | kube::Error::Service(_) => {
            Some("does the cluster run, and does this machine reach the address in the kubeconfig?")
        }
        _ => None,
    }
}

fn dump_hint(error: &SourceError) -> Option<&'static str> {
    match error {
        SourceError::Archive { .. } => {
            Some("give the directory `oc adm must-gather` wrote, or a whole .tar or .tar.gz of it")
        }
        SourceError::Open { .. } | SourceError::List { .. } => Some("check the path and that it may be read"),
        SourceError::TooLarge { .. } => Some("serve a part of it: a folder that holds `namespaces`"),
    }
}

fn system_hint(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound => "check the path: it is not there",
        ErrorKind::IsADirectory => "a directory is where a file should be; give another path",
        ErrorKind::InvalidData => "is it the right file? it is not text",
        ErrorKind::BrokenPipe => "whoever read the output has gone away",
        ErrorKind::ConnectionRefused => "nobody listens there; is the other side running?",
        ErrorKind::TimedOut => "the other side did not answer in time; try again, and check the way to it",
        ErrorKind::PermissionDenied => "check who owns it and that this user may read and write there",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full; make room, or use another one",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only; use another one",
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "a file is where a directory should be; give another path"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
