//! Tests of the row cache and its loader.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::row::{ColumnType, ColumnValue, RowColumn, RowFilter, RowOperation, RowPrecondition, RowTable, RowWrite};
use crate::store::{MemoryRowStore, StoreName};
use crate::timestamp::Timestamp;

const COLUMNS: &[RowColumn] = &[
    RowColumn { name: "id", column_type: ColumnType::Text, is_key: true },
    RowColumn { name: "owner", column_type: ColumnType::Text, is_key: false },
    RowColumn { name: "size", column_type: ColumnType::Integer, is_key: false },
];
pub(super) static PARCELS: RowTable = RowTable { name: "parcel", columns: COLUMNS };

pub(super) fn store_name() -> StoreName {
    StoreName::new("database")
}

pub(super) fn key(id: &str) -> ObjectKey {
    PARCELS.row_key(&store_name(), id)
}

pub(super) fn query(filter: RowFilter) -> ListQuery {
    filter.query(PARCELS.key(&store_name()))
}

pub(super) fn put(id: &str, owner: &str, size: i64) -> RowWrite {
    let values: Vec<ColumnValue> = vec![id.into(), owner.into(), size.into()];
    let operation = RowOperation::Put(values.into());
    RowWrite { table: &PARCELS, key: key(id), operation, precondition: RowPrecondition::Unconditional }
}

pub(super) fn delete(id: &str) -> RowWrite {
    RowWrite { operation: RowOperation::Delete, ..put(id, "", 0) }
}

/// Reads that count as having readers.
#[derive(Default)]
pub(super) struct ReadSet(pub BTreeSet<RowRead>);

impl RowReaders for ReadSet {
    fn reads_row(&self, key: &ObjectKey) -> bool {
        self.0.contains(&RowRead::Row(key.clone()))
    }

    fn reads_rows(&self, query: &ListQuery) -> bool {
        self.0.contains(&RowRead::Rows(query.clone()))
    }
}

/// Runs sessions until the loader is quiet, and returns their effects.
pub(super) fn drive(
    loader: &mut RowLoader,
    store: &MemoryRowStore,
    now: Timestamp,
    readers: &ReadSet,
    dropped: &mut Vec<RowRead>,
) -> Vec<PublishedRows> {
    let (mut session, mut effects) = (None, Vec::new());
    loop {
        let commands = loader.poll(now, false, readers, dropped);
        if commands.is_empty() {
            return effects;
        }
        for command in commands {
            match command {
                RowCommand::Begin(since) => {
                    let (log, begun) = store.begin_now(since.as_ref());
                    session = Some(begun);
                    effects.extend(loader.opened(now, log, readers));
                }
                RowCommand::Fetch(fetch) => {
                    let batch = session.as_ref().unwrap().fetch_now(fetch);
                    effects.extend(loader.fetched(now, batch, readers));
                }
                RowCommand::End => session = None,
            }
        }
    }
}

fn loaded(reads: &[RowRead], max_bytes: usize) -> (RowLoader, MemoryRowStore, ReadSet) {
    let store = MemoryRowStore::new(store_name());
    store.commit_now(&[put("a", "ada", 1), put("b", "ada", 2), put("c", "bob", 3)]);
    let (mut loader, readers) = (RowLoader::new(max_bytes), ReadSet(reads.iter().cloned().collect()));
    reads.iter().for_each(|read| loader.need(read.clone()));
    drive(&mut loader, &store, Timestamp(0), &readers, &mut Vec::new());
    assert!(reads.iter().all(|read| loader.cache().has(read)) || max_bytes < MAX_ROW_CACHE_BYTES);
    (loader, store, readers)
}

/// Commits, and returns the changed rows and queries.
fn changes(
    (loader, store, readers): &mut (RowLoader, MemoryRowStore, ReadSet),
    writes: &[RowWrite],
) -> (Vec<String>, Vec<String>) {
    store.commit_now(writes);
    loader.notify();
    let effects = drive(loader, store, Timestamp(0), readers, &mut Vec::new());
    assert!(effects.iter().all(|effect| !effect.is_resync));
    let rows = effects.iter().flat_map(|effect| &effect.changes.rows).map(|(key, _)| key.name.to_string());
    let queries = effects.iter().flat_map(|effect| effect.changes.queries.keys()).map(ToString::to_string);
    (rows.collect(), queries.collect())
}

#[test]
fn a_row_that_enters_or_leaves_a_result_changes_it() {
    let read = RowRead::Rows(query(RowFilter::by("owner", "ada")));
    let mut all = loaded(&[read], MAX_ROW_CACHE_BYTES);
    let ada = "parcel.rows with owner=ada".to_string();
    assert_eq!(changes(&mut all, &[put("c", "ada", 3)]), (vec!["c".to_string()], vec![ada.clone()]));
    assert_eq!(changes(&mut all, &[put("c", "bob", 3)]), (vec!["c".to_string()], vec![ada.clone()]));
    assert_eq!(changes(&mut all, &[put("a", "ada", 9)]), (vec!["a".to_string()], vec![ada.clone()]));
    assert_eq!(changes(&mut all, &[delete("a")]), (vec!["a".to_string()], vec![ada]));
    assert_eq!(changes(&mut all, &[put("d", "bob", 1)]), (vec![], vec![]));
}

#[test]
fn a_count_is_reported_only_when_it_crosses_its_maximum() {
    let below = RowRead::Rows(query(RowFilter::by("owner", "ada").below(3)));
    let mut all = loaded(&[below], MAX_ROW_CACHE_BYTES);
    let crossed = vec!["parcel.rows with owner=ada (fewer than 3)".to_string()];
    assert_eq!(changes(&mut all, &[put("a", "ada", 7)]).1, Vec::<String>::new());
    assert_eq!(changes(&mut all, &[put("d", "ada", 1)]).1, crossed);
    assert_eq!(changes(&mut all, &[put("e", "ada", 1)]).1, Vec::<String>::new());
    assert_eq!(changes(&mut all, &[delete("e")]).1, Vec::<String>::new());
    assert_eq!(changes(&mut all, &[put("d", "bob", 1)]).1, crossed);
}

#[test]
fn a_change_of_an_evicted_row_is_reported() {
    let reads = [RowRead::Row(key("a")), RowRead::Rows(query(RowFilter::by("owner", "ada")))];
    let mut all = loaded(&reads, 1);
    assert!(reads.iter().all(|read| !all.0.cache().has(read)) && all.0.cache().bytes() == 0);
    let ada = "parcel.rows with owner=ada".to_string();
    assert_eq!(changes(&mut all, &[put("a", "bob", 1)]), (vec!["a".to_string()], vec![ada]));
}

#[test]
fn a_trimmed_log_is_a_resync() {
    let (mut loader, store, readers) = loaded(&[RowRead::Row(key("a"))], MAX_ROW_CACHE_BYTES);
    store.commit_now(&[put("a", "bob", 1)]);
    store.trim_log();
    loader.notify();
    let effects = drive(&mut loader, &store, Timestamp(0), &readers, &mut Vec::new());
    assert!(effects.iter().any(|effect| effect.is_resync));
    assert!(loader.cache().snapshot().is_empty());
}

#[test]
fn an_idle_loader_reads_nothing() {
    let (mut loader, store, readers) = loaded(&[RowRead::Row(key("a"))], MAX_ROW_CACHE_BYTES);
    assert!(loader.is_quiet() && loader.next().is_none());
    assert!(drive(&mut loader, &store, Timestamp(99_999), &readers, &mut Vec::new()).is_empty());
}

#[test]
fn a_failed_session_is_retried_with_the_same_reads() {
    let (mut loader, store, mut readers) = loaded(&[], MAX_ROW_CACHE_BYTES);
    let read = RowRead::Row(key("a"));
    readers.0.insert(read.clone());
    loader.need(read.clone());
    let began = loader.poll(Timestamp(5), false, &readers, &mut Vec::new());
    assert_eq!(began, [RowCommand::Begin(None)]);
    let (log, _session) = store.begin_now(None);
    assert!(loader.opened(Timestamp(5), log, &readers).is_none());
    loader.failed(Timestamp(5));
    let _ = loader.poll(Timestamp(5), false, &readers, &mut Vec::new());
    assert!(!loader.is_quiet() && loader.next() == Some(Timestamp(105)));
    drive(&mut loader, &store, Timestamp(105), &readers, &mut Vec::new());
    assert!(loader.cache().has(&read));
}
