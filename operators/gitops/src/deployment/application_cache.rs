//! Cache of Applications. It is lost with the process and filled again after a restart.
//!
//! Argo CD updates every Application at every comparison, every few minutes, often with nothing new but the time. An
//! Application that matched its row and has not changed since needs no query.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use switchboard_kernel::operator::Unit;
use switchboard_sql::{ChangeEvent, DbTimestamp};

use crate::deployment::{application, status};
use crate::moves::is_owned_by_move;

/// Maximum number of cached Applications. The others are queried at every comparison.
const MAX_STATUSES: usize = 50_000;

/// Maximum number of Applications without a row that are tracked. The others are released after these.
const MAX_ORPHANS: usize = 1_000;

/// Maximum number of tracked invalidations. Beyond that, all are forgotten, and results of earlier reads are not
/// cached.
const MAX_INVALIDATED: usize = 10_000;

/// Digest of an Application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApplicationFingerprint {
    /// Row that the label refers to.
    row: String,
    digest: Vec<u8>,
}

impl ApplicationFingerprint {
    /// Returns the fingerprint of an Application; `None` if its label refers to no row.
    pub(crate) fn of(object: &Value) -> Option<ApplicationFingerprint> {
        let meta = &object["metadata"];
        let all = json!([
            meta["namespace"],
            meta["name"],
            meta["deletionTimestamp"],
            is_owned_by_move(object),
            object["spec"],
            status::without_compare_time(object["status"].clone())
        ]);
        let digest = digest(&SHA256, all.to_string().as_bytes()).as_ref().to_vec();
        application::row_of(object).map(|row| ApplicationFingerprint { row: row.to_string(), digest })
    }
}

/// Fingerprint of an Application that matched its row.
struct CachedStatus {
    digest: Vec<u8>,
    /// Unit of an Application that the agent created, until the unit has read the row.
    created_unit: Option<Unit>,
}

/// Cache of Applications.
#[derive(Default)]
pub(crate) struct ApplicationCache {
    /// Applications that matched their rows, by row.
    statuses: BTreeMap<String, CachedStatus>,
    /// Number of invalidations.
    invalidations: u64,
    /// Number of the last invalidation by row. Rows that are not listed were last invalidated at `invalidated_all_at`
    /// or before.
    invalidated: BTreeMap<String, u64>,
    invalidated_all_at: u64,
    /// Time since when an Application has no row, by namespace and name.
    orphans: BTreeMap<(String, String), DbTimestamp>,
}

impl ApplicationCache {
    /// Whether an Application is unchanged since it matched its row. If not, returns the number of invalidations.
    pub(crate) fn is_known(&self, fingerprint: Option<&ApplicationFingerprint>) -> Result<(), u64> {
        let known = fingerprint.and_then(|fingerprint| {
            self.statuses.get(&fingerprint.row).filter(|statuses| statuses.digest == fingerprint.digest)
        });
        known.map(|_| ()).ok_or(self.invalidations)
    }

    /// Returns the number of invalidations.
    pub(crate) fn invalidations(&self) -> u64 {
        self.invalidations
    }

    /// Stores that an Application matches its row, unless the row was invalidated since it was read.
    pub(crate) fn store(&mut self, fingerprint: ApplicationFingerprint, invalidations: u64) {
        self.insert(fingerprint, None, invalidations);
    }

    /// Stores that an Application is about to be created as its row demands, so that its unit needs no query.
    pub(crate) fn store_created(&mut self, fingerprint: ApplicationFingerprint, unit: Unit, invalidations: u64) {
        self.clear_orphan(unit.namespace(), unit.name());
        self.insert(fingerprint, Some(unit), invalidations);
    }

    fn insert(&mut self, fingerprint: ApplicationFingerprint, created_unit: Option<Unit>, invalidations: u64) {
        if invalidations < self.invalidated_all_at
            || self.invalidated.get(&fingerprint.row).is_some_and(|last| *last > invalidations)
        {
            return;
        }
        self.statuses.insert(fingerprint.row, CachedStatus { digest: fingerprint.digest, created_unit });
        if self.statuses.len() > MAX_STATUSES {
            self.statuses.pop_first();
        }
    }

    /// Invalidates the Applications of changed rows. Returns the units of Applications that the agent created and whose
    /// rows were never read: the row may be deleted already, and no other event triggers them.
    #[must_use]
    pub(crate) fn invalidate_changed(&mut self, events: &[ChangeEvent]) -> Vec<Unit> {
        let mut unverified = Vec::new();
        for event in events {
            match event {
                ChangeEvent::Resync => unverified.extend(self.invalidate_all()),
                ChangeEvent::Row { table, key } if table == "application" => unverified.extend(self.invalidate(key)),
                ChangeEvent::Row { .. } => {}
            }
        }
        unverified
    }

    fn invalidate(&mut self, row: &str) -> Option<Unit> {
        self.invalidations += 1;
        let statuses = self.statuses.remove(row);
        self.invalidated.insert(row.to_string(), self.invalidations);
        if self.invalidated.len() > MAX_INVALIDATED {
            (self.invalidated, self.invalidated_all_at) = (BTreeMap::new(), self.invalidations);
        }
        statuses?.created_unit
    }

    fn invalidate_all(&mut self) -> Vec<Unit> {
        self.invalidations += 1;
        (self.invalidated, self.invalidated_all_at) = (BTreeMap::new(), self.invalidations);
        std::mem::take(&mut self.statuses).into_values().filter_map(|statuses| statuses.created_unit).collect()
    }

    /// Returns the time since when an Application has no row; `None` if too many others are tracked.
    pub(crate) fn orphan_since(&mut self, namespace: &str, name: &str, now: DbTimestamp) -> Option<DbTimestamp> {
        let key = (namespace.to_string(), name.to_string());
        let is_full = self.orphans.len() >= MAX_ORPHANS;
        if is_full && !self.orphans.contains_key(&key) {
            return None;
        }
        Some(*self.orphans.entry(key).or_insert(now))
    }

    /// Records that an Application has a row or is deleted.
    pub(crate) fn clear_orphan(&mut self, namespace: &str, name: &str) {
        self.orphans.remove(&(namespace.to_string(), name.to_string()));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn fingerprint_of(at: &str, health: &str) -> ApplicationFingerprint {
        let object = json!({"metadata": {"labels": {"databaseID": "row"}},
            "status": {"reconciledAt": at, "health": {"status": health}}});
        ApplicationFingerprint::of(&object).unwrap()
    }

    #[test]
    fn only_an_unchanged_status_of_an_unchanged_row_is_known() {
        let mut application_cache = ApplicationCache::default();
        let before = application_cache.is_known(Some(&fingerprint_of("8:00", "Healthy"))).unwrap_err();
        application_cache.store(fingerprint_of("8:00", "Healthy"), before);
        assert_eq!(
            application_cache.is_known(Some(&fingerprint_of("8:03", "Healthy"))),
            Ok(()),
            "a new time alone is no change"
        );
        assert!(application_cache.is_known(Some(&fingerprint_of("8:03", "Degraded"))).is_err());
        let _ = application_cache
            .invalidate_changed(&[ChangeEvent::Row { table: "application".into(), key: "other".into() }]);
        assert_eq!(application_cache.is_known(Some(&fingerprint_of("8:03", "Healthy"))), Ok(()));
        let _ = application_cache
            .invalidate_changed(&[ChangeEvent::Row { table: "application".into(), key: "row".into() }]);
        assert!(application_cache.is_known(Some(&fingerprint_of("8:03", "Healthy"))).is_err());
        application_cache.store(fingerprint_of("8:03", "Healthy"), before);
        assert!(
            application_cache.is_known(Some(&fingerprint_of("8:03", "Healthy"))).is_err(),
            "the row may have changed meanwhile"
        );
        let now = application_cache.invalidations();
        let _ = application_cache
            .invalidate_changed(&[ChangeEvent::Row { table: "application".into(), key: "other".into() }]);
        application_cache.store(fingerprint_of("8:03", "Healthy"), now);
        assert_eq!(
            application_cache.is_known(Some(&fingerprint_of("8:03", "Healthy"))),
            Ok(()),
            "other rows do not matter"
        );
        let _ = application_cache.invalidate_changed(&[ChangeEvent::Resync]);
        application_cache.store(fingerprint_of("8:03", "Healthy"), now);
        assert!(
            application_cache.is_known(Some(&fingerprint_of("8:03", "Healthy"))).is_err(),
            "any row may have changed meanwhile"
        );
    }

    #[test]
    fn nothing_is_cached_after_too_many_invalidations() {
        let mut application_cache = ApplicationCache::default();
        let before = application_cache.invalidations();
        for row in 0..=MAX_INVALIDATED {
            let _ = application_cache
                .invalidate_changed(&[ChangeEvent::Row { table: "application".into(), key: format!("row-{row}") }]);
        }
        application_cache.store(fingerprint_of("8:00", "Healthy"), before);
        assert!(application_cache.is_known(Some(&fingerprint_of("8:00", "Healthy"))).is_err());
        application_cache.store(fingerprint_of("8:00", "Healthy"), application_cache.invalidations());
        assert_eq!(application_cache.is_known(Some(&fingerprint_of("8:00", "Healthy"))), Ok(()));
    }

    #[test]
    fn a_created_application_is_rechecked_when_its_row_changes() {
        let mut application_cache = ApplicationCache::default();
        let row = || [ChangeEvent::Row { table: "application".into(), key: "row".into() }];
        let unit = Unit::object("argocd", "web");
        application_cache.store_created(
            fingerprint_of("8:00", "Healthy"),
            unit.clone(),
            application_cache.invalidations(),
        );
        assert_eq!(application_cache.is_known(Some(&fingerprint_of("8:00", "Healthy"))), Ok(()));
        assert_eq!(application_cache.invalidate_changed(&row()), std::slice::from_ref(&unit));
        assert_eq!(application_cache.invalidate_changed(&row()), []);
        application_cache.store_created(
            fingerprint_of("8:00", "Healthy"),
            unit.clone(),
            application_cache.invalidations(),
        );
        assert_eq!(application_cache.invalidate_changed(&[ChangeEvent::Resync]), std::slice::from_ref(&unit));
        application_cache.store_created(fingerprint_of("8:00", "Healthy"), unit, application_cache.invalidations());
        application_cache.store(fingerprint_of("8:00", "Healthy"), application_cache.invalidations());
        assert_eq!(application_cache.invalidate_changed(&row()), [], "it was looked up meanwhile");
    }
}
