//! What goes first when an environment goes together with what was deployed through it.

use super::Known;

/// How long until it is looked again whether all is gone that was deployed to an environment.
pub const LOOK_AGAIN_MS: u64 = 500;

/// Whether an environment that goes has to wait. With its namespace go the deployments, too, and only through the environment can
/// what they deployed be removed; so it can while a removal is under way, whose Application has no row any more. Whoever deletes an
/// environment alone leaves what is there where it is.
pub fn waits(is_leaving: bool, is_removing: bool, known: &[Known]) -> bool {
    is_removing || is_leaving && known.iter().any(|known| !known.applications.is_empty())
}
