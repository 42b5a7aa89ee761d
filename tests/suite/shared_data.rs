//! Recorded data of other projects, which lies beside the checkout.

use std::path::{Path, PathBuf};

/// Variable that demands the data. Only `.ci/run` sets it: a clone has no data.
const DEMAND: &str = "SWITCHBOARD_SHARED_DATA";

/// Returns a file or folder of the data, if it exists or is demanded. A test without its data does nothing.
pub fn shared_data(part: &str) -> Option<PathBuf> {
    let path = folder(Path::new(env!("CARGO_MANIFEST_DIR"))).join(part);
    let is_required = std::env::var(DEMAND).is_ok_and(|demand| demand == "required");
    let found = available(path, is_required);
    if found.is_none() {
        eprintln!("skipped: {part} does not lie beside the checkout");
    }
    found
}

/// Returns the folder of the data. The including crate may be anywhere in the checkout.
fn folder(krate: &Path) -> PathBuf {
    let checkout = krate.ancestors().find(|folder| folder.join("rust-toolchain.toml").is_file()).unwrap_or(krate);
    checkout.join("../shared/data")
}

/// Returns the path if it exists.
///
/// # Panics
/// If it is required, but does not exist.
pub fn available(path: PathBuf, is_required: bool) -> Option<PathBuf> {
    assert!(path.exists() || !is_required, "{} is missing, and {DEMAND} demands it", path.display());
    path.exists().then_some(path)
}
