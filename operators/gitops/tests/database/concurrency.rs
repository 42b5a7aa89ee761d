//! Concurrent callers share transactions without affecting each other.

use futures::future::join_all;
use switchboard_gitops::ids::OperationState;
use switchboard_gitops::rows::*;
use switchboard_sql::{Filter, Ledger, LedgerError, Row, RowChange, RowKey, Sealer};

use crate::database::{TestDatabase, key, on_both};
use crate::samples;

on_both! {
    concurrent_readers_share_transactions
    a_view_sees_earlier_commits
    concurrent_commits_share_transactions
    a_rejected_commit_does_not_affect_others
    one_of_several_concurrent_writers_of_a_row_succeeds
    a_required_row_is_not_committed_with_its_writer
    rows_of_every_table_are_written_and_read_in_bulk
    many_keys_are_read_with_one_query
    concurrent_counts_are_separate
}

/// Number of concurrent callers.
const TASKS: usize = 60;
/// Upper bound for the transactions of all callers: several batches, but fewer than one per caller.
const MAX_TRANSACTIONS: u64 = TASKS as u64 / 2;

async fn ready(database: &TestDatabase) -> Ledger {
    let ledger = database.open(Sealer::with_keys(&key(1)).unwrap()).await;
    ledger.migrate().await.unwrap();
    ledger.commit(&samples::all()).await.unwrap();
    ledger
}

/// Runs a task for each number, all concurrently.
async fn concurrently<T: Send + 'static, F: Future<Output = T> + Send + 'static>(work: impl Fn(usize) -> F) -> Vec<T> {
    let tasks: Vec<_> = (0..TASKS).map(|number| tokio::spawn(work(number))).collect();
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

fn operation(number: usize) -> Operation {
    Operation { gc_expiration_s: Some(number as i64), ..samples::operation(&format!("op-{number}")) }
}

async fn with_operations(database: &TestDatabase) -> Ledger {
    let ledger = ready(database).await;
    let all: Vec<RowChange> = (0..TASKS).map(|number| RowChange::insert(&operation(number))).collect();
    ledger.commit(&all).await.unwrap();
    ledger
}

async fn concurrent_readers_share_transactions(database: TestDatabase) {
    let ledger = with_operations(&database).await;
    let before = ledger.counts();
    let read = |number: usize| {
        let ledger = ledger.clone();
        async move {
            let mut view = ledger.view().await.unwrap();
            let own: Option<Operation> = view.get(&operation(number).key()).await.unwrap();
            let other: Option<Operation> = view.get(&RowKey::from("missing")).await.unwrap();
            let all: Vec<Operation> = view.list(&Filter::all().is("resource_id", "app").limit(3)).await.unwrap();
            let user: Option<ClusterUser> = view.get(&RowKey::from("u")).await.unwrap();
            (own, other, all.iter().map(|row| row.id.as_str().to_string()).collect::<Vec<_>>(), user)
        }
    };
    for (number, (own, other, all, user)) in concurrently(read).await.into_iter().enumerate() {
        assert_eq!((own, other), (Some(operation(number)), None));
        assert_eq!(all, ["op", "op-0", "op-1"], "in the order of their keys");
        assert_eq!(user, Some(samples::user("u")));
    }
    let now = ledger.counts();
    assert_eq!(now.views - before.views, TASKS as u64);
    assert!(now.transactions - before.transactions < MAX_TRANSACTIONS, "{before:?}, {now:?}");
    assert!(now.queries - before.queries < 4 * TASKS as u64, "equal queries are sent once: {before:?}, {now:?}");
}

async fn a_view_sees_earlier_commits(database: TestDatabase) {
    let ledger = ready(&database).await;
    let write_and_read = |number: usize| {
        let ledger = ledger.clone();
        async move {
            let mut row = operation(number);
            ledger.commit(&[RowChange::insert(&row)]).await.unwrap();
            for _ in 0..5 {
                let next = Operation { gc_expiration_s: row.gc_expiration_s.map(|n| n + 1), ..row.clone() };
                ledger.commit(&[RowChange::update(&row, &next)]).await.unwrap();
                row = next;
                assert_eq!(ledger.get::<Operation>(&row.key()).await.unwrap().as_ref(), Some(&row));
            }
        }
    };
    concurrently(write_and_read).await;
}

async fn concurrent_commits_share_transactions(database: TestDatabase) {
    let ledger = ready(&database).await;
    let before = ledger.counts();
    let commit = |number: usize| {
        let ledger = ledger.clone();
        async move {
            let id = format!("app-{number}");
            let owner = ApplicationOwner { application: id.as_str().into(), ..samples::owner() };
            let changes = [RowChange::insert(&samples::application(&id)), RowChange::insert(&owner)];
            ledger.commit(&[&changes[..], &[RowChange::insert(&operation(number))]].concat()).await
        }
    };
    assert!(concurrently(commit).await.into_iter().all(|made| made.is_ok()));
    let now = ledger.counts();
    assert_eq!(now.commits - before.commits, TASKS as u64);
    assert!(now.transactions - before.transactions < MAX_TRANSACTIONS, "{before:?}, {now:?}");
    assert_eq!(ledger.list::<Operation>(&Filter::all()).await.unwrap().len(), TASKS + 1);
    assert_eq!(ledger.list::<ApplicationOwner>(&Filter::all()).await.unwrap().len(), TASKS + 1);
}

async fn a_rejected_commit_does_not_affect_others(database: TestDatabase) {
    let ledger = with_operations(&database).await;
    let commit = |number: usize| {
        let ledger = ledger.clone();
        async move {
            let was = operation(number);
            let done = Operation { state: OperationState::Completed, ..was.clone() };
            let other = Operation { resource_id: "other".into(), ..was.clone() };
            let update = RowChange::update(&was, &done);
            let new = RowChange::insert(&samples::user(&format!("user-{number}")));
            let dangling = ApplicationOwner { application: "missing".into(), ..samples::owner() };
            let changes = match number % 6 {
                0 => vec![new, RowChange::update(&other, &done)],
                1 => vec![new, update, RowChange::insert(&dangling)],
                2 => vec![new, RowChange::insert(&was)],
                3 => vec![new, RowChange::require_unchanged(&other)],
                _ => vec![new, update],
            };
            ledger.commit(&changes).await
        }
    };
    let all = concurrently(commit).await;
    for (number, made) in all.into_iter().enumerate() {
        let row: Operation = ledger.get(&operation(number).key()).await.unwrap().unwrap();
        let user: Option<ClusterUser> = ledger.get(&RowKey::from(format!("user-{number}").as_str())).await.unwrap();
        match number % 6 {
            0 | 3 => assert!(matches!(made, Err(LedgerError::Changed { table: "operation", .. })), "{made:?}"),
            1 => assert!(matches!(made, Err(LedgerError::Dangling { table: "applicationowner", .. })), "{made:?}"),
            2 => assert!(matches!(made, Err(LedgerError::Duplicate { table: "operation", .. })), "{made:?}"),
            _ => assert!(made.is_ok(), "{made:?}"),
        }
        let is_made = number % 6 > 3;
        assert_eq!(row.state == OperationState::Completed, is_made, "{number}");
        assert_eq!(user.is_some(), is_made, "not atomic: {number}");
    }
}

async fn one_of_several_concurrent_writers_of_a_row_succeeds(database: TestDatabase) {
    let ledger = ready(&database).await;
    let was = samples::operation("op");
    let commit = |number: usize| {
        let (ledger, was) = (ledger.clone(), was.clone());
        let next = Operation { gc_expiration_s: Some(1000 + number as i64), ..was.clone() };
        async move { ledger.commit(&[RowChange::update(&was, &next)]).await }
    };
    let all = concurrently(commit).await;
    let made: Vec<usize> = all.iter().enumerate().filter(|(_, made)| made.is_ok()).map(|(number, _)| number).collect();
    assert_eq!(made.len(), 1);
    let now: Operation = ledger.get(&was.key()).await.unwrap().unwrap();
    assert_eq!(now.gc_expiration_s, Some(1000 + made[0] as i64));
    assert!(all.iter().flat_map(|made| made.as_ref().err()).all(LedgerError::is_conflict));
}

async fn a_required_row_is_not_committed_with_its_writer(database: TestDatabase) {
    let ledger = ready(&database).await;
    let was = samples::operation("op");
    let commit = |number: usize| {
        let (ledger, was) = (ledger.clone(), was.clone());
        async move {
            let own = RowChange::insert(&operation(number));
            let next = Operation { state: OperationState::Completed, ..was.clone() };
            let other =
                if number == TASKS / 2 { RowChange::update(&was, &next) } else { RowChange::require_unchanged(&was) };
            ledger.commit(&[other, own]).await.is_ok()
        }
    };
    let all = concurrently(commit).await;
    assert!(all[TASKS / 2], "there is a single writer");
    // Lists that require the row to be unchanged succeed before its update and fail as a whole after it.
    let there = ledger.list::<Operation>(&Filter::all()).await.unwrap().len() - 1;
    assert_eq!(there, all.iter().filter(|made| **made).count());
}

async fn rows_of_every_table_are_written_and_read_in_bulk(database: TestDatabase) {
    let ledger = ready(&database).await;
    async fn round<R: Row>(ledger: &Ledger, make: impl Fn(usize) -> R, other: impl Fn(&R) -> R) {
        let rows: Vec<R> = (0..8).map(make).collect();
        let keys: Vec<RowKey> = rows.iter().map(Row::key).collect();
        let put = |row: &R| vec![RowChange::put(row)];
        let all = |changes: Vec<Vec<RowChange>>| async move {
            for made in join_all(changes.iter().map(|list| ledger.commit(list))).await {
                made.unwrap();
            }
        };
        all(rows.iter().map(put).collect()).await;
        let found: Vec<R> = ledger.view().await.unwrap().get_many(&keys).await.unwrap();
        assert_eq!(found, rows);
        let others: Vec<R> = rows.iter().map(other).collect();
        all(rows.iter().zip(&others).map(|(was, row)| vec![RowChange::update(was, row)]).collect()).await;
        let found: Vec<R> = ledger.view().await.unwrap().get_many(&keys).await.unwrap();
        assert_eq!(found, others);
        all(others.iter().map(|row| vec![RowChange::ensure(row)]).collect()).await;
        all(others.iter().map(|row| vec![RowChange::delete(row)]).collect()).await;
        let found: Vec<R> = ledger.view().await.unwrap().get_many(&keys).await.unwrap();
        assert_eq!(found, []);
    }
    let id = |number: usize| format!("id-{number}");
    let credentials = |number: usize| ClusterCredentials {
        namespaces: number.is_multiple_of(2).then(|| "a,b".into()),
        ..samples::credentials(&id(number))
    };
    round(&ledger, credentials, |row| ClusterCredentials { bearer_token: None, allow_insecure: true, ..row.clone() })
        .await;
    round(&ledger, |n| samples::user(&id(n)), |row| ClusterUser { display_name: None, ..row.clone() }).await;
    round(&ledger, operation, |row| Operation { owner: None, gc_expiration_s: None, ..row.clone() }).await;
    let sync = |number: usize| SyncOperation { id: id(number).as_str().into(), ..samples::sync() };
    round(&ledger, sync, |row| SyncOperation { application: None, ..row.clone() }).await;
    round(&ledger, |n| samples::application(&id(n)), |row| Application { spec_field: "é\n'".into(), ..row.clone() })
        .await;
    let repository = |number: usize| RepositoryCredentials {
        id: id(number).as_str().into(),
        url: format!("https://git.example/{number}"),
        ..samples::repository()
    };
    round(&ledger, repository, |row| RepositoryCredentials { password: Some("new".into()), ..row.clone() }).await;
    let api = |number: usize| ApiToDatabase {
        resource_uid: id(number).as_str().into(),
        relation_key: id(number),
        ..samples::api()
    };
    round(&ledger, api, |row| ApiToDatabase { name: "prod".into(), ..row.clone() }).await;
    let mapping = |number: usize| KubernetesToDatabase {
        resource_uid: id(number).as_str().into(),
        relation_key: id(number),
        ..samples::kubernetes()
    };
    round(&ledger, mapping, Clone::clone).await;
    let apps: Vec<RowChange> = (0..8).map(|number| RowChange::insert(&samples::application(&id(number)))).collect();
    ledger.commit(&apps).await.unwrap();
    let state = |number: usize| ApplicationState { application: id(number).as_str().into(), ..samples::state() };
    round(&ledger, state, |row| ApplicationState { status: None, ..row.clone() }).await;
    let owner = |number: usize| ApplicationOwner { application: id(number).as_str().into(), ..samples::owner() };
    round(&ledger, owner, |row| ApplicationOwner { created_on: row.created_on.plus_ms(1), ..row.clone() }).await;
}

async fn many_keys_are_read_with_one_query(database: TestDatabase) {
    let ledger = with_operations(&database).await;
    let mut view = ledger.view().await.unwrap();
    let keys = (0..TASKS).rev().map(|number| operation(number).key()).chain([RowKey::from("missing")]);
    let rows: Vec<Operation> = view.get_many(&keys.collect::<Vec<_>>()).await.unwrap();
    assert_eq!(rows, (0..TASKS).rev().map(operation).collect::<Vec<_>>(), "in the order of the questions");
    assert_eq!(view.get_many::<Operation>(&[]).await.unwrap(), []);
    let filters = [Filter::all().is("resource_id", "app").limit(2), Filter::all().is("resource_id", "none")];
    let rows: Vec<Operation> = view.list_many(&filters).await.unwrap();
    assert_eq!(rows.len(), 2);
}

async fn concurrent_counts_are_separate(database: TestDatabase) {
    let ledger = with_operations(&database).await;
    let count = |number: usize| {
        let ledger = ledger.clone();
        async move {
            let of = if number.is_multiple_of(2) { "app" } else { "none" };
            ledger.view().await.unwrap().count::<Operation>("resource_id", of).await.unwrap()
        }
    };
    for (number, count) in concurrently(count).await.into_iter().enumerate() {
        assert_eq!(count, if number.is_multiple_of(2) { TASKS as u64 + 1 } else { 0 });
    }
}
