//! How the command says that it failed: what, why, and a hint.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use switchboard_cluster::auth::kubeconfig::KubeconfigError;
use switchboard_cluster::listener::ListenError;
use switchboard_cluster::store::OpenError;
use switchboard_gather::SourceError;
use switchboard_hosted::GuestError;
use switchboard_kernel::journal::JournalError;
use switchboard_kernel::listener::ListenError as AskError;
use switchboard_sandbox::SandboxError;

use crate::kernel::KernelError;
use crate::talk::say;

/// Why a command ends.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Prints the error with its causes and returns the exit code.
pub fn report(error: &(dyn Error + 'static)) -> ExitCode {
    say(tell(error));
    ExitCode::FAILURE
}

/// What is said of an error: what failed, why, and what helps. Of several hints the one nearest to the cause is said.
pub fn tell(error: &(dyn Error + 'static)) -> String {
    let text = error.to_string();
    let (what, mut own) = apart(&text);
    // A report of several errors begins with the word itself.
    let mut told = if what.starts_with("error: ") { what.to_string() } else { format!("error: {what}") };
    let deeper: Vec<String> = causes(error).skip(1).map(ToString::to_string).collect();
    for cause in &deeper {
        let (cause, hint) = apart(cause);
        // Whoever passes an error on without a word of its own says the same.
        if !told.ends_with(cause) {
            told.push_str(&format!("\n  {cause}"));
        }
        own = hint.or(own);
    }
    let hint = own.or_else(|| hint(error)).unwrap_or(LAST_HINT);
    told.push_str(&format!("\nhint: {hint}"));
    told
}

/// What helps when nobody knows better.
const LAST_HINT: &str = "`switchboard doctor` checks configuration, clusters, rights and machine; SWITCHBOARD_LOG=debug has the same command say more";

/// A text and the hint at its end.
fn apart(text: &str) -> (&str, Option<&str>) {
    text.split_once("\nhint: ").map_or((text, None), |(what, hint)| (what, Some(hint)))
}

/// The error, what caused it, what caused that.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| <dyn Error>::source(*error))
}

/// What helps with the faults people meet: by what failed, else by what the system said.
fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let kind = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    let special = if let Some(error) = error.downcast_ref::<OpenError>() {
        of_store(error)
    } else if let Some(error) = error.downcast_ref::<ListenError>() {
        of_port(error, kind)
    } else if let Some(error) = error.downcast_ref::<SourceError>() {
        of_dump(error)
    } else if let Some(JournalError::Busy(_)) = error.downcast_ref::<JournalError>() {
        Some("stop the other process, or give another directory with --state-dir DIR")
    } else if let Some(error) = error.downcast_ref::<AskError>() {
        of_kernel(error, kind)
    } else if let Some(KernelError::Refused(_)) = error.downcast_ref::<KernelError>() {
        Some("`switchboard top` names the operators, `switchboard why-not OPERATOR` their units")
    } else if let Some(hint) = causes(error).find_map(of_guest) {
        Some(hint)
    } else if let Some(hint) = causes(error).find_map(crate::gitops::hint) {
        Some(hint)
    } else if let Some(hint) = causes(error).find_map(of_server) {
        Some(hint)
    } else if error.is::<KubeconfigError>() {
        Some("give a file that may be written with --kubeconfig FILE")
    } else {
        None
    };
    special.or_else(|| kind.and_then(of_system))
}

fn of_store(error: &OpenError) -> Option<&'static str> {
    Some(match error {
        OpenError::Locked { .. } => "stop the other process, or give another directory with --data-dir DIR",
        OpenError::Damaged { .. } | OpenError::Missing { .. } => {
            "nothing was changed; put the data directory back from a copy, or begin afresh with --data-dir DIR"
        }
        OpenError::Newer { .. } => "start the version that wrote it, or a newer one",
        OpenError::Io { .. } => return None,
    })
}

fn of_port(error: &ListenError, kind: Option<ErrorKind>) -> Option<&'static str> {
    let ListenError::Bind { address, .. } = error else { return None };
    Some(match kind {
        Some(ErrorKind::AddrInUse) => "another server has this port; --listen 127.0.0.1:0 picks a free one",
        Some(ErrorKind::PermissionDenied) if address.port() < 1024 => {
            "ports below 1024 are for privileged users; take a higher one, such as --listen 127.0.0.1:6443"
        }
        _ => "give an address of this machine with --listen ADDR:PORT",
    })
}

fn of_guest(error: &(dyn Error + 'static)) -> Option<&'static str> {
    match (error.downcast_ref::<GuestError>(), error.downcast_ref::<SandboxError>()) {
        (Some(GuestError::NoProgram(_)), _) => {
            Some("`command` is a path from the root or from the configuration's folder, or a name in PATH")
        }
        (Some(GuestError::NoFile(_)), _) => Some(
            "paths under `files` begin at the root or at the configuration's folder; leave out what the program does not need",
        ),
        (Some(GuestError::NoAccount), _) => Some("name one as `serviceAccount: namespace/name`"),
        (_, Some(SandboxError::Lacks { .. } | SandboxError::Failed { .. })) => Some(
            "docs/HOSTING.md says what a sandbox needs; `sandbox: off` runs this operator without one, with all that this user may",
        ),
        _ => None,
    }
}

fn of_kernel(error: &AskError, kind: Option<ErrorKind>) -> Option<&'static str> {
    match error {
        AskError::Port(..) => Some("`listen` in the configuration says where; port 0 takes any free one"),
        // What the system says of a path that is too long.
        AskError::Socket(..) if kind == Some(ErrorKind::InvalidInput) => {
            Some("give a directory with a shorter path with --state-dir DIR")
        }
        AskError::Socket(..) => None,
    }
}

/// What an API server, or the way to it, says.
fn of_server(error: &(dyn Error + 'static)) -> Option<&'static str> {
    // One that is kept in a box of its own is a cause as that box.
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

fn of_dump(error: &SourceError) -> Option<&'static str> {
    match error {
        SourceError::Archive { .. } => {
            Some("give the directory `oc adm must-gather` wrote, or a whole .tar or .tar.gz of it")
        }
        SourceError::Open { .. } | SourceError::List { .. } => Some("check the path and that it may be read"),
        SourceError::TooLarge { .. } => Some("serve a part of it: a folder that holds `namespaces`"),
    }
}

fn of_system(kind: ErrorKind) -> Option<&'static str> {
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
