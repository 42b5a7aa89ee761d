//! Order of deletion when an environment is deleted together with its deployments.

use super::EnvironmentRows;

/// Interval for polling whether the deployments of an environment are removed.
pub const POLL_MS: u64 = 500;

/// Whether a deleted environment must wait. If its namespace is deleted, the deployments are deleted as well, and their
/// resources can only be removed through the environment. The same holds while a removal is in progress, whose
/// Application has no row any more. If only the environment is deleted, deployed resources are kept.
pub fn must_wait(is_leaving: bool, is_removing: bool, known: &[EnvironmentRows]) -> bool {
    is_removing || is_leaving && known.iter().any(|known| !known.applications.is_empty())
}
