//! What goes first when a tenant's whole namespace goes.

use super::Known;

/// How long until it is looked again whether all is gone that was deployed to an environment.
pub const LOOK_AGAIN_MS: u64 = 500;

/// Whether an environment that goes has to wait. With its namespace go the deployments, too, and only through the environment can
/// what they deployed be removed; whoever deletes an environment alone leaves what is there where it is.
pub fn waits(is_leaving: bool, known: &[Known]) -> bool {
    is_leaving && known.iter().any(|known| !known.applications.is_empty())
}
