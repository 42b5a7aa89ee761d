//! Where the server is, said once it answers.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use switchboard_cluster::listener::Listener;

use crate::talk::say;

/// Nobody could be told.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not write the kubeconfig's path to stdout\nhint: stdout is closed or full; let it go to a reader or a file with room"
)]
pub struct AnnounceError(#[source] io::Error);

/// The path is data and goes to stdout; the rest is talk.
pub fn announce(file: &Path, listener: &Listener) -> Result<(), AnnounceError> {
    let file = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
    say(format_args!("serving at https://{}", listener.address()));
    say(format_args!("hint: export KUBECONFIG={}", file.display()));
    let mut out = io::stdout().lock();
    writeln!(out, "{}", file.display()).and_then(|()| out.flush()).map_err(AnnounceError)
}
