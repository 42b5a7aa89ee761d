//! How the command says that it failed: what, why, and a hint.

use std::error::Error;
use std::process::ExitCode;

/// Prints the error with its causes and returns the exit code.
pub fn report(error: &(dyn Error + 'static)) -> ExitCode {
    let text = error.to_string();
    let (what, hints) = text.split_once("\nhint: ").unwrap_or((&text, ""));
    eprintln!("error: {what}");
    let mut cause = error.source();
    while let Some(found) = cause {
        eprintln!("  {found}");
        cause = found.source();
    }
    let own = if hints.is_empty() { hint(error) } else { Some(hints.to_string()) };
    if let Some(hint) = own {
        eprintln!("hint: {hint}");
    }
    ExitCode::FAILURE
}

/// What helps with the faults people meet.
fn hint(error: &(dyn Error + 'static)) -> Option<String> {
    use switchboard_cluster::listener::ListenError;
    use switchboard_gather::SourceError;
    match error.downcast_ref::<SourceError>() {
        Some(SourceError::Archive { .. }) => {
            return Some("give the directory `oc adm must-gather` wrote, or a whole .tar or .tar.gz of it".into());
        }
        Some(SourceError::Open { .. }) => return Some("check the path and that it may be read".into()),
        _ => {}
    }
    match error.downcast_ref::<ListenError>() {
        Some(ListenError::Bind { source, .. }) if source.kind() == std::io::ErrorKind::AddrInUse => {
            Some("another server has this port; --listen 127.0.0.1:0 picks a free one".into())
        }
        Some(ListenError::Bind { .. }) => Some("give an address of this machine with --listen ADDR:PORT".into()),
        _ => None,
    }
}
