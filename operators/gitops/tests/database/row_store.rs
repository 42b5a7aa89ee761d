//! The ledger as a store of the kernel.

use std::collections::BTreeSet;
use std::time::Duration;

use switchboard_gitops::rows::{self, ClusterCredentials, ClusterUser, fleet, settings, tenant_clusters};
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::resource::{ListQuery, ObjectKey};
use switchboard_kernel::row::{
    ColumnValue, Row as StoredRow, RowFilter, RowOperation, RowPrecondition, RowWrite, TableRow,
};
use switchboard_kernel::row_cache::{
    MAX_ROW_CACHE_BYTES, PublishedRows, RowAnswer, RowCommand, RowLoader, RowRead, RowReaders,
};
use switchboard_kernel::store::{
    CommitOutcome, FetchedRows, RowBatch, RowFetch, RowSession, RowStore, StoreCursor, StoreName,
};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_sql::row_store::open_row;
use switchboard_sql::{LedgerStore, Row, Sealer};

use crate::database::{TestDatabase, key, on_both};
use crate::samples;

on_both! {
    a_snapshot_of_the_loader_equals_a_full_read
    a_commit_requires_what_was_read
    a_dry_run_checks_and_writes_nothing
    credentials_stay_sealed_until_they_are_opened
    a_commit_notifies
    rows_of_every_table_are_read_and_required
}

/// Number of random steps of the model test.
const STEPS: u64 = 150;

fn name() -> StoreName {
    StoreName::new("database")
}

async fn store(database: &TestDatabase) -> LedgerStore {
    let ledger = database.open(Sealer::with_keys(&key(1)).unwrap()).await;
    ledger.migrate().await.unwrap();
    LedgerStore::new(name(), ledger).await
}

fn user(id: &str, display_name: &str) -> Vec<ColumnValue> {
    vec![id.into(), format!("uid-{id}").as_str().into(), ColumnValue::Timestamp(1_000_000), display_name.into()]
}

fn write(id: &str, operation: RowOperation, precondition: RowPrecondition) -> RowWrite {
    let table = <ClusterUser as TableRow>::TABLE;
    RowWrite { table, key: table.row_key(&name(), id), operation, precondition }
}

fn put(id: &str, display_name: &str) -> RowWrite {
    write(id, RowOperation::Put(user(id, display_name).into()), RowPrecondition::Unconditional)
}

/// Reads outside of the loader.
async fn full_read(store: &LedgerStore, read: &RowRead) -> String {
    let (_, mut session) = store.begin(None).await.unwrap();
    let fetch = match read {
        RowRead::Row(key) => RowFetch { rows: vec![key.clone()], queries: vec![] },
        RowRead::Rows(query) => RowFetch { rows: vec![], queries: vec![query.clone()] },
    };
    let RowBatch { rows, results } = session.fetch(fetch).await.unwrap();
    let result = results.into_iter().map(|(_, result)| match result {
        FetchedRows::Rows(mut rows) => {
            rows.sort_by(|a, b| a.key.cmp(&b.key));
            format!("{rows:?}")
        }
        FetchedRows::Below(below) => format!("{below}"),
    });
    result.chain(rows.into_iter().map(|(_, row)| format!("{row:?}"))).collect()
}

fn cached(loader: &RowLoader, read: &RowRead) -> Option<String> {
    let snapshot = loader.cache().snapshot();
    Some(match read {
        RowRead::Row(key) => format!("{:?}", snapshot.row(key)?),
        RowRead::Rows(query) => match snapshot.rows(query)? {
            RowAnswer::Rows(rows) => format!("{rows:?}"),
            RowAnswer::Below(below) => format!("{below}"),
        },
    })
}

struct AllRead(BTreeSet<RowRead>);

impl RowReaders for AllRead {
    fn reads_row(&self, key: &ObjectKey) -> bool {
        self.0.contains(&RowRead::Row(key.clone()))
    }

    fn reads_rows(&self, query: &ListQuery) -> bool {
        self.0.contains(&RowRead::Rows(query.clone()))
    }
}

async fn drive(loader: &mut RowLoader, store: &LedgerStore, readers: &AllRead) -> Vec<PublishedRows> {
    let (mut session, mut effects): (Option<Box<dyn RowSession>>, _) = (None, Vec::new());
    loop {
        let commands = loader.poll(Timestamp(0), false, readers, &mut Vec::new());
        if commands.is_empty() {
            return effects;
        }
        for command in commands {
            match command {
                RowCommand::Begin(since) => {
                    let (log, begun) = store.begin(since).await.unwrap();
                    session = Some(begun);
                    effects.extend(loader.opened(Timestamp(0), log, readers));
                }
                RowCommand::Fetch(fetch) => {
                    let batch = session.as_mut().unwrap().fetch(fetch).await.unwrap();
                    effects.extend(loader.fetched(Timestamp(0), batch, readers));
                }
                RowCommand::End => session = None,
            }
        }
    }
}

/// Returns numbers that look random and are the same in every run.
fn mix(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
}

async fn a_snapshot_of_the_loader_equals_a_full_read(database: TestDatabase) {
    let store = store(&database).await;
    let table = <ClusterUser as TableRow>::TABLE;
    let by = |name: &str| RowFilter::by("display_name", name);
    let filters = [by("a"), by("b").limit(2), RowFilter::all(), RowFilter::all().is_any_of("display_name", ["a", "c"])];
    let mut reads: Vec<RowRead> =
        filters.into_iter().map(|filter| RowRead::Rows(filter.query(table.key(&name())))).collect();
    let below = RowFilter { below: Some(3), ..by("a") };
    reads.push(RowRead::Rows(below.query(table.key(&name()))));
    reads.extend(["1", "2"].map(|id| RowRead::Row(table.row_key(&name(), id))));
    let readers = AllRead(reads.iter().cloned().collect());
    for max_bytes in [MAX_ROW_CACHE_BYTES, 400] {
        let mut loader = RowLoader::new(max_bytes);
        let mut known = vec![None; reads.len()];
        for step in 0..STEPS {
            let (id, display_name) = ((mix(step * 3) % 6).to_string(), ["a", "b", "c"][mix(step * 3 + 1) as usize % 3]);
            let one = match mix(step * 3 + 2) % 5 {
                0 => write(&id, RowOperation::Delete, RowPrecondition::Unconditional),
                _ => put(&id, display_name),
            };
            assert_eq!(store.commit(&[one], false).await, CommitOutcome::Done);
            if step % 37 == 36 {
                database.execute_sql("update switchboard_change_cut set (made_by, seq) = (select made_by, seq from switchboard_change order by made_by desc, seq desc limit 1) where exists (select 1 from switchboard_change)").await;
                database.execute_sql("delete from switchboard_change").await;
            }
            if step % 3 != 0 {
                continue;
            }
            loader.notify();
            let mut effects = drive(&mut loader, &store, &readers).await;
            // Every reader runs again after a resync, and waits for what was evicted.
            reads.iter().for_each(|read| loader.need(read.clone()));
            let is_resync = effects.iter().any(|effect| effect.is_resync);
            effects.extend(drive(&mut loader, &store, &readers).await);
            for (read, known) in reads.iter().zip(&mut known) {
                let now = full_read(&store, read).await;
                if let Some(cached) = cached(&loader, read) {
                    assert_eq!(cached, now, "{read:?} at step {step}");
                }
                let is_reported = effects.iter().any(|effect| match read {
                    RowRead::Row(key) => effect.changes.rows.iter().any(|(one, _)| one == key),
                    RowRead::Rows(query) => effect.changes.queries.contains_key(query),
                });
                let is_same = known.as_ref().is_none_or(|before| *before == now);
                assert!(is_same || is_reported || is_resync, "{read:?} at step {step}");
                *known = Some(now);
            }
        }
    }
}

async fn a_commit_requires_what_was_read(database: TestDatabase) {
    let store = store(&database).await;
    let table = <ClusterUser as TableRow>::TABLE;
    let read = StoredRow::new(&name(), table, user("u", "a"));
    let typed = ClusterUser::from_row(&read).unwrap();
    assert_eq!((typed.id.to_string(), TableRow::values(&typed)), ("u".to_string(), read.values.to_vec()));
    let insert = |name: &str| write("u", RowOperation::Put(user("u", name).into()), RowPrecondition::Absent);
    assert_eq!(store.commit(&[insert("a")], false).await, CommitOutcome::Done);
    assert!(matches!(store.commit(&[insert("b")], false).await, CommitOutcome::Conflict(_)));
    let was = RowPrecondition::Values(read.values);
    let update = write("u", RowOperation::Put(user("u", "b").into()), was.clone());
    assert_eq!(store.commit(std::slice::from_ref(&update), false).await, CommitOutcome::Done);
    let other = put("v", "b");
    assert!(matches!(store.commit(&[other, update], false).await, CommitOutcome::Conflict(_)));
    let check = write("u", RowOperation::Check(Vec::new()), was.clone());
    assert!(matches!(store.commit(&[check], false).await, CommitOutcome::Conflict(_)));
    let delete = write("u", RowOperation::Delete, was);
    assert!(matches!(store.commit(&[delete], false).await, CommitOutcome::Conflict(_)));
    let of_v = RowRead::Row(table.row_key(&name(), "v"));
    assert_eq!(full_read(&store, &of_v).await, "None");
}

async fn a_dry_run_checks_and_writes_nothing(database: TestDatabase) {
    let store = store(&database).await;
    let table = <ClusterUser as TableRow>::TABLE;
    assert_eq!(store.commit(&[put("u", "a")], true).await, CommitOutcome::Done);
    assert_eq!(full_read(&store, &RowRead::Row(table.row_key(&name(), "u"))).await, "None");
    let was = RowPrecondition::Values(user("u", "a").into());
    let update = write("u", RowOperation::Put(user("u", "b").into()), was);
    assert!(matches!(store.commit(&[update], true).await, CommitOutcome::Conflict(_)));
}

async fn credentials_stay_sealed_until_they_are_opened(database: TestDatabase) {
    let key_line = key(1);
    let ledger = database.open(Sealer::with_keys(&key_line).unwrap()).await;
    ledger.migrate().await.unwrap();
    let sample = samples::credentials("cc");
    ledger.commit(&[switchboard_sql::RowChange::insert(&sample)]).await.unwrap();
    let store = LedgerStore::new(name(), ledger.clone()).await;
    let table = <ClusterCredentials as TableRow>::TABLE;
    let (_, mut session) = store.begin(None).await.unwrap();
    let key = table.row_key(&name(), "cc");
    let batch = session.fetch(RowFetch { rows: vec![key.clone()], queries: vec![] }).await.unwrap();
    drop(session);
    let row = batch.rows[0].1.clone().unwrap();
    let secret = sample.bearer_token.as_ref().unwrap().expose();
    let ColumnValue::Sealed(sealed) = row.value("serviceaccount_bearer_token") else { panic!("it is not sealed") };
    assert!(!sealed.0.contains(secret) && !row.object().value().to_string().contains(secret));
    assert!(ClusterCredentials::from_row(&row).is_err());
    assert_eq!(open_row::<ClusterCredentials>(&row, &Sealer::with_keys(&key_line).unwrap()), Ok(sample.clone()));
    let recorded = StoredRow { values: table.values(&row.object().value()), ..row.clone() };
    let replayed = open_row::<ClusterCredentials>(&recorded, &Sealer::plain());
    assert!(matches!(replayed, Err(DecideError::Failed(why)) if why.contains("not recorded")));
    // The sealed values are a precondition, and a credential of a plan is sealed at the commit.
    let mut values = row.values.to_vec();
    values[table.position("serviceaccount_bearer_token").unwrap()] = ColumnValue::secret("another");
    let operation = RowOperation::Put(values.into());
    let precondition = RowPrecondition::Values(row.values);
    let write = RowWrite { table, key, operation, precondition };
    assert_eq!(store.commit(std::slice::from_ref(&write), false).await, CommitOutcome::Done);
    assert!(matches!(store.commit(&[write], false).await, CommitOutcome::Conflict(_)));
    let now = ledger.get::<ClusterCredentials>(&sample.key()).await.unwrap().unwrap();
    assert_eq!(now.bearer_token.unwrap().expose(), "another");
    assert_eq!(now.kube_config, sample.kube_config);
}

async fn a_commit_notifies(database: TestDatabase) {
    let store = store(&database).await;
    let (log, session) = store.begin(None).await.unwrap();
    drop(session);
    assert!(log.is_resync);
    assert_eq!(store.commit(&[put("u", "a")], false).await, CommitOutcome::Done);
    tokio::time::timeout(Duration::from_secs(30), store.changed()).await.unwrap();
    let (log, _session) = store.begin(Some(StoreCursor(log.cursor.0))).await.unwrap();
    let keys: Vec<String> = log.changed.iter().map(ToString::to_string).collect();
    assert_eq!((keys, log.is_resync), (vec!["clusteruser.rows/u".to_string()], false));
}

async fn rows_of_every_table_are_read_and_required(database: TestDatabase) {
    let ledger = database.ready().await;
    ledger.commit(&samples::all()).await.unwrap();
    let store = LedgerStore::new(name(), ledger).await;
    let (_, mut session) = store.begin(None).await.unwrap();
    let tables = [rows::STORED_TABLES, fleet::STORED_TABLES, settings::STORED_TABLES, tenant_clusters::STORED_TABLES];
    let mut checks = Vec::new();
    for change in samples::all() {
        let table = tables.concat().into_iter().find(|table| table.name == change.table().name).unwrap();
        let key = table.row_key(&name(), &change.key().to_string());
        let batch = session.fetch(RowFetch { rows: vec![key.clone()], queries: vec![] }).await.unwrap();
        let row = batch.rows[0].1.clone().unwrap_or_else(|| panic!("{key} is absent"));
        assert_eq!(row.key, key);
        let precondition = RowPrecondition::Values(row.values);
        checks.push(RowWrite { table, key, operation: RowOperation::Check(Vec::new()), precondition });
    }
    drop(session);
    assert!(checks.len() >= rows::STORED_TABLES.len());
    assert_eq!(store.commit(&checks, false).await, CommitOutcome::Done);
}
