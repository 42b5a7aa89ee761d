//! Credentials that work are tried again, now and then: they expire, and nothing of the tenant's changes when they do.

use ring::digest::{SHA256, digest};
use switchboard_ledger::ids::Uid;

/// How soon at the earliest, as the original.
pub const EVERY_MS: i64 = 10 * 60 * 1000;

/// What is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asking<Q> {
    /// Nothing.
    Nothing,
    /// This.
    Now(Q),
    /// This, now and then: rows say what it was answered last.
    Later(Q),
}

impl<Q> Asking<Q> {
    /// What is to be asked now.
    pub fn now(self) -> Option<Q> {
        match self {
            Asking::Now(question) => Some(question),
            Asking::Nothing | Asking::Later(_) => None,
        }
    }
}

/// How often a resource's credentials are tried: always the same for one, and another for each, up to half as much again. So a server
/// that many of them are for is not asked about all at once.
pub fn every_ms(least_ms: i64, resource: &Uid) -> i64 {
    let digest = digest(&SHA256, resource.as_str().as_bytes());
    let number = digest.as_ref().iter().take(7).fold(0i64, |all, byte| all << 8 | i64::from(*byte));
    least_ms.saturating_add(number % (least_ms / 2).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_not_all_tried_at_once() {
        let all: std::collections::BTreeSet<i64> =
            (0..100).map(|number| every_ms(EVERY_MS, &Uid::from(format!("uid-{number}")))).collect();
        assert!(all.len() > 90, "{all:?}");
        assert!(all.iter().all(|ms| (EVERY_MS..EVERY_MS * 3 / 2).contains(ms)), "{all:?}");
        assert_eq!(every_ms(EVERY_MS, &"uid-1".into()), every_ms(EVERY_MS, &"uid-1".into()));
    }
}
