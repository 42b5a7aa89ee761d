//! Model test of the loader: random commits of two writers, queries, evictions, late transactions and trims.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::tests::{ReadSet, delete, drive, key, put, query, store_name};
use super::*;
use crate::row::{RowFilter, RowWrite};
use crate::store::{MemoryRowStore, MemorySession, RowFetch};
use crate::timestamp::Timestamp;

#[derive(Clone, Debug)]
enum Step {
    /// A writer commits.
    Commit(Vec<Change>),
    /// A transaction begins, and commits at a later step with this number.
    Begin,
    End(usize, Vec<Change>),
    /// A unit reads.
    Read(usize),
    /// A unit that read this does not read it any more.
    Forget(usize),
    Session,
    Trim,
}

#[derive(Clone, Debug)]
struct Change {
    id: u8,
    /// Owner and size; `None` for a deletion.
    values: Option<(u8, i64)>,
}

impl Change {
    fn write(&self) -> RowWrite {
        let id = self.id.to_string();
        match self.values {
            Some((owner, size)) => put(&id, &owner.to_string(), size),
            None => delete(&id),
        }
    }
}

/// Returns every kind of read: by key, by one and two columns, of all rows, of several values, with a limit, and counts.
fn reads() -> Vec<RowRead> {
    let mut reads: Vec<RowRead> = (0..6).map(|id: u8| RowRead::Row(key(&id.to_string()))).collect();
    for owner in ["0", "1"] {
        let by = RowFilter::by("owner", owner);
        let filters = [
            by.clone(),
            by.clone().and("size", 1),
            by.clone().limit(2),
            by.clone().below(1),
            by.clone().below(3),
            by.is_any_of("size", [0, 2]),
        ];
        reads.extend(filters.into_iter().map(|filter| RowRead::Rows(query(filter))));
    }
    reads.extend([RowFilter::all(), RowFilter::all().limit(3)].map(|filter| RowRead::Rows(query(filter))));
    reads
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let change = (0..6_u8, proptest::option::weighted(0.8, (0..2_u8, 0..3_i64)));
    let changes = proptest::collection::vec(change.prop_map(|(id, values)| Change { id, values }), 1..4);
    let step = prop_oneof![
        4 => changes.clone().prop_map(Step::Commit),
        1 => Just(Step::Begin),
        1 => (0..3_usize, changes).prop_map(|(at, changes)| Step::End(at, changes)),
        4 => (0..reads().len()).prop_map(Step::Read),
        1 => (0..reads().len()).prop_map(Step::Forget),
        4 => Just(Step::Session),
        1 => Just(Step::Trim),
    ];
    proptest::collection::vec(step, 1..60)
}

/// Content of a read: revisions of its rows, or whether there are few.
fn content(read: &RowRead, session: &MemorySession) -> String {
    let batch = match read {
        RowRead::Row(key) => session.fetch_now(RowFetch { rows: vec![key.clone()], queries: vec![] }),
        RowRead::Rows(query) => session.fetch_now(RowFetch { rows: vec![], queries: vec![query.clone()] }),
    };
    let result = batch.results.into_iter().map(|(_, result)| match result {
        FetchedRows::Rows(rows) => format!("{rows:?}"),
        FetchedRows::Below(below) => format!("{below}"),
    });
    result.chain(batch.rows.into_iter().map(|(_, row)| format!("{row:?}"))).collect()
}

fn cached(read: &RowRead, snapshot: &RowSnapshot) -> Option<String> {
    Some(match read {
        RowRead::Row(key) => format!("{:?}", snapshot.row(key)?),
        RowRead::Rows(query) => match snapshot.rows(query)? {
            RowAnswer::Rows(rows) => format!("{rows:?}"),
            RowAnswer::Below(below) => format!("{below}"),
        },
    })
}

/// Checks the steps. `keys_only` plants the bug of a loader that reports changed rows but no changed results.
fn check(steps: Vec<Step>, max_bytes: usize, keys_only: bool) {
    let (store, all) = (MemoryRowStore::new(store_name()), reads());
    let (mut loader, mut readers) = (RowLoader::new(max_bytes), ReadSet::default());
    let mut open = Vec::new();
    // Content of every read when it was loaded or last reported.
    let mut known: BTreeMap<RowRead, String> = BTreeMap::new();
    for step in steps {
        match step {
            Step::Commit(changes) => {
                store.commit_now(&changes.iter().map(Change::write).collect::<Vec<_>>());
            }
            Step::Begin => open.push(store.begin_transaction()),
            Step::End(at, changes) if at < open.len() => {
                let transaction = open.remove(at);
                store.commit_transaction(transaction, &changes.iter().map(Change::write).collect::<Vec<_>>());
            }
            Step::End(..) => {}
            Step::Read(at) => {
                readers.0.insert(all[at].clone());
                loader.need(all[at].clone());
            }
            Step::Forget(at) => {
                readers.0.remove(&all[at]);
                known.remove(&all[at]);
            }
            Step::Trim => store.trim_log(),
            Step::Session => {
                loader.notify();
                let mut dropped = Vec::new();
                let mut effects = drive(&mut loader, &store, Timestamp(0), &readers, &mut dropped);
                if effects.iter().any(|effect| effect.is_resync) {
                    // Every reader runs again, and waits for what it reads.
                    readers.0.iter().for_each(|read| loader.need(read.clone()));
                    effects.extend(drive(&mut loader, &store, Timestamp(0), &readers, &mut dropped));
                }
                if keys_only {
                    effects.iter_mut().for_each(|effect| effect.changes.queries.clear());
                }
                let (_, session) = store.begin_now(None);
                let snapshot = loader.cache().snapshot();
                let resync = effects.iter().any(|effect| effect.is_resync);
                for read in &all {
                    // guarantees_a_snapshot_equals_a_full_read
                    let now = content(read, &session);
                    if let Some(cached) = cached(read, &snapshot) {
                        assert_eq!(cached, now, "{read:?}");
                    }
                    // guarantees_every_changed_result_is_reported
                    let is_reported = resync
                        || effects.iter().any(|effect| match read {
                            RowRead::Row(key) => effect.changes.rows.iter().any(|(one, _)| one == key),
                            RowRead::Rows(query) => effect.changes.queries.contains_key(query),
                        });
                    if let Some(before) = known.get(read) {
                        assert!(*before == now || is_reported, "{read:?} changed from {before} to {now}");
                    }
                    if readers.0.contains(read) {
                        known.insert(read.clone(), now);
                    }
                }
                assert!(loader.cache().bytes() <= max_bytes);
                assert!(dropped.iter().all(|read| !readers.0.contains(read)));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn guarantees_a_snapshot_equals_a_full_read(steps in steps()) {
        check(steps, MAX_ROW_CACHE_BYTES, false);
    }

    #[test]
    fn guarantees_every_changed_result_is_reported(steps in steps()) {
        // Most values are evicted after each session.
        check(steps, 500, false);
    }
}

#[test]
fn a_loader_that_triggers_by_key_alone_is_found() {
    let enters = || {
        let change = Change { id: 0, values: Some((0, 0)) };
        vec![Step::Read(6), Step::Session, Step::Commit(vec![change]), Step::Session]
    };
    check(enters(), MAX_ROW_CACHE_BYTES, false);
    assert!(std::panic::catch_unwind(|| check(enters(), MAX_ROW_CACHE_BYTES, true)).is_err());
}
