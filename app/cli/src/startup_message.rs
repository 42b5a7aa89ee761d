//! Message with the address of a server that is ready.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use switchboard_cluster::listener::Listener;
use switchboard_runtime::stderr::print_stderr;

/// The path could not be written to stdout.
#[derive(Debug, thiserror::Error)]
#[error("could not write the kubeconfig's path to stdout\nhint: redirect stdout to a reader or a file with free space")]
pub struct AnnounceError(#[source] io::Error);

/// Prints the path of the kubeconfig to stdout, and the address and a hint to stderr.
pub fn print(file: &Path, listener: &Listener) -> Result<(), AnnounceError> {
    let file = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
    print_stderr(format_args!("serving at https://{}", listener.address()));
    print_stderr(format_args!("hint: export KUBECONFIG={}", file.display()));
    let mut out = io::stdout().lock();
    writeln!(out, "{}", file.display()).and_then(|()| out.flush()).map_err(AnnounceError)
}
