//! Who comes at the same time reads and commits together, and is none the wiser.

use futures::future::join_all;
use switchboard_ledger::ids::OperationState;
use switchboard_ledger::rows::*;
use switchboard_ledger::{Change, Filter, Key, Ledger, LedgerError, Row, Sealing};

use crate::base::{Base, key, on_both};
use crate::samples;

on_both! {
    those_who_read_at_once_share_transactions
    whoever_reads_sees_what_was_committed_before
    those_who_commit_at_once_share_transactions
    who_is_refused_takes_nobody_along
    a_row_is_written_by_one_of_those_who_come_at_once
    whoever_holds_a_row_is_not_committed_with_who_writes_it
    rows_of_every_table_are_written_and_read_at_once
    many_keys_are_asked_for_at_once
    what_is_counted_is_counted_for_each
}

/// How many come at once.
const MANY: usize = 60;
/// They come in more than one go, but never each for itself.
const FEW: u64 = MANY as u64 / 2;

async fn ready(base: &Base) -> Ledger {
    let ledger = base.open(Sealing::with_keys(&key(1)).unwrap()).await;
    ledger.migrate().await.unwrap();
    ledger.commit(&samples::all()).await.unwrap();
    ledger
}

/// Does something for each number, all at once.
async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(work: impl Fn(usize) -> F) -> Vec<T> {
    let tasks: Vec<_> = (0..MANY).map(|number| tokio::spawn(work(number))).collect();
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

fn operation(number: usize) -> Operation {
    Operation { gc_expiration_s: Some(number as i64), ..samples::operation(&format!("op-{number}")) }
}

async fn with_operations(base: &Base) -> Ledger {
    let ledger = ready(base).await;
    let all: Vec<Change> = (0..MANY).map(|number| Change::insert(&operation(number))).collect();
    ledger.commit(&all).await.unwrap();
    ledger
}

async fn those_who_read_at_once_share_transactions(base: Base) {
    let ledger = with_operations(&base).await;
    let before = ledger.counts();
    let read = |number: usize| {
        let ledger = ledger.clone();
        async move {
            let mut view = ledger.view().await.unwrap();
            let own: Option<Operation> = view.get(&operation(number).key()).await.unwrap();
            let other: Option<Operation> = view.get(&Key::from("nobody")).await.unwrap();
            let all: Vec<Operation> = view.list(&Filter::all().is("resource_id", "app").limit(3)).await.unwrap();
            let user: Option<ClusterUser> = view.get(&Key::from("u")).await.unwrap();
            (own, other, all.iter().map(|row| row.id.as_str().to_string()).collect::<Vec<_>>(), user)
        }
    };
    for (number, (own, other, all, user)) in at_once(read).await.into_iter().enumerate() {
        assert_eq!((own, other), (Some(operation(number)), None));
        assert_eq!(all, ["op", "op-0", "op-1"], "in the order of their keys");
        assert_eq!(user, Some(samples::user("u")));
    }
    let now = ledger.counts();
    assert_eq!(now.views - before.views, MANY as u64);
    assert!(now.transactions - before.transactions < FEW, "{before:?}, {now:?}");
    assert!(now.questions - before.questions < 4 * MANY as u64, "what all ask is asked once: {before:?}, {now:?}");
}

async fn whoever_reads_sees_what_was_committed_before(base: Base) {
    let ledger = ready(&base).await;
    let write_and_read = |number: usize| {
        let ledger = ledger.clone();
        async move {
            let mut row = operation(number);
            ledger.commit(&[Change::insert(&row)]).await.unwrap();
            for _ in 0..5 {
                let next = Operation { gc_expiration_s: row.gc_expiration_s.map(|n| n + 1), ..row.clone() };
                ledger.commit(&[Change::update(&row, &next)]).await.unwrap();
                row = next;
                assert_eq!(ledger.get::<Operation>(&row.key()).await.unwrap().as_ref(), Some(&row));
            }
        }
    };
    at_once(write_and_read).await;
}

async fn those_who_commit_at_once_share_transactions(base: Base) {
    let ledger = ready(&base).await;
    let before = ledger.counts();
    let commit = |number: usize| {
        let ledger = ledger.clone();
        async move {
            let id = format!("app-{number}");
            let owner = ApplicationOwner { application: id.as_str().into(), ..samples::owner() };
            let changes = [Change::insert(&samples::application(&id)), Change::insert(&owner)];
            ledger.commit(&[&changes[..], &[Change::insert(&operation(number))]].concat()).await
        }
    };
    assert!(at_once(commit).await.into_iter().all(|made| made.is_ok()));
    let now = ledger.counts();
    assert_eq!(now.commits - before.commits, MANY as u64);
    assert!(now.transactions - before.transactions < FEW, "{before:?}, {now:?}");
    assert_eq!(ledger.list::<Operation>(&Filter::all()).await.unwrap().len(), MANY + 1);
    assert_eq!(ledger.list::<ApplicationOwner>(&Filter::all()).await.unwrap().len(), MANY + 1);
}

async fn who_is_refused_takes_nobody_along(base: Base) {
    let ledger = with_operations(&base).await;
    let commit = |number: usize| {
        let ledger = ledger.clone();
        async move {
            let was = operation(number);
            let done = Operation { state: OperationState::Completed, ..was.clone() };
            let other = Operation { resource_id: "other".into(), ..was.clone() };
            let update = Change::update(&was, &done);
            let new = Change::insert(&samples::user(&format!("user-{number}")));
            let nobody = ApplicationOwner { application: "nobody".into(), ..samples::owner() };
            let changes = match number % 6 {
                0 => vec![new, Change::update(&other, &done)],
                1 => vec![new, update, Change::insert(&nobody)],
                2 => vec![new, Change::insert(&was)],
                3 => vec![new, Change::hold(&other)],
                _ => vec![new, update],
            };
            ledger.commit(&changes).await
        }
    };
    let all = at_once(commit).await;
    for (number, made) in all.into_iter().enumerate() {
        let row: Operation = ledger.get(&operation(number).key()).await.unwrap().unwrap();
        let user: Option<ClusterUser> = ledger.get(&Key::from(format!("user-{number}").as_str())).await.unwrap();
        match number % 6 {
            0 | 3 => assert!(matches!(made, Err(LedgerError::Changed { table: "operation", .. })), "{made:?}"),
            1 => assert!(matches!(made, Err(LedgerError::Dangling { table: "applicationowner", .. })), "{made:?}"),
            2 => assert!(matches!(made, Err(LedgerError::Taken { table: "operation", .. })), "{made:?}"),
            _ => assert!(made.is_ok(), "{made:?}"),
        }
        let is_made = number % 6 > 3;
        assert_eq!(row.state == OperationState::Completed, is_made, "{number}");
        assert_eq!(user.is_some(), is_made, "whole or not at all: {number}");
    }
}

async fn a_row_is_written_by_one_of_those_who_come_at_once(base: Base) {
    let ledger = ready(&base).await;
    let was = samples::operation("op");
    let commit = |number: usize| {
        let (ledger, was) = (ledger.clone(), was.clone());
        let next = Operation { gc_expiration_s: Some(1000 + number as i64), ..was.clone() };
        async move { ledger.commit(&[Change::update(&was, &next)]).await }
    };
    let all = at_once(commit).await;
    let made: Vec<usize> = all.iter().enumerate().filter(|(_, made)| made.is_ok()).map(|(number, _)| number).collect();
    assert_eq!(made.len(), 1);
    let now: Operation = ledger.get(&was.key()).await.unwrap().unwrap();
    assert_eq!(now.gc_expiration_s, Some(1000 + made[0] as i64));
    assert!(all.iter().flat_map(|made| made.as_ref().err()).all(LedgerError::is_conflict));
}

async fn whoever_holds_a_row_is_not_committed_with_who_writes_it(base: Base) {
    let ledger = ready(&base).await;
    let was = samples::operation("op");
    let commit = |number: usize| {
        let (ledger, was) = (ledger.clone(), was.clone());
        async move {
            let own = Change::insert(&operation(number));
            let next = Operation { state: OperationState::Completed, ..was.clone() };
            let other = if number == MANY / 2 { Change::update(&was, &next) } else { Change::hold(&was) };
            ledger.commit(&[other, own]).await.is_ok()
        }
    };
    let all = at_once(commit).await;
    assert!(all[MANY / 2], "only one wants to write it");
    // Whoever held it came before that one, and whoever came after is refused with all of its list.
    let there = ledger.list::<Operation>(&Filter::all()).await.unwrap().len() - 1;
    assert_eq!(there, all.iter().filter(|made| **made).count());
}

async fn rows_of_every_table_are_written_and_read_at_once(base: Base) {
    let ledger = ready(&base).await;
    async fn round<R: Row>(ledger: &Ledger, make: impl Fn(usize) -> R, other: impl Fn(&R) -> R) {
        let rows: Vec<R> = (0..8).map(make).collect();
        let keys: Vec<Key> = rows.iter().map(Row::key).collect();
        let put = |row: &R| vec![Change::put(row)];
        let all = |changes: Vec<Vec<Change>>| async move {
            for made in join_all(changes.iter().map(|list| ledger.commit(list))).await {
                made.unwrap();
            }
        };
        all(rows.iter().map(put).collect()).await;
        let found: Vec<R> = ledger.view().await.unwrap().get_each(&keys).await.unwrap();
        assert_eq!(found, rows);
        let others: Vec<R> = rows.iter().map(other).collect();
        all(rows.iter().zip(&others).map(|(was, row)| vec![Change::update(was, row)]).collect()).await;
        let found: Vec<R> = ledger.view().await.unwrap().get_each(&keys).await.unwrap();
        assert_eq!(found, others);
        all(others.iter().map(|row| vec![Change::ensure(row)]).collect()).await;
        all(others.iter().map(|row| vec![Change::delete(row)]).collect()).await;
        let found: Vec<R> = ledger.view().await.unwrap().get_each(&keys).await.unwrap();
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
    let apps: Vec<Change> = (0..8).map(|number| Change::insert(&samples::application(&id(number)))).collect();
    ledger.commit(&apps).await.unwrap();
    let state = |number: usize| ApplicationState { application: id(number).as_str().into(), ..samples::state() };
    round(&ledger, state, |row| ApplicationState { status: None, ..row.clone() }).await;
    let owner = |number: usize| ApplicationOwner { application: id(number).as_str().into(), ..samples::owner() };
    round(&ledger, owner, |row| ApplicationOwner { created_on: row.created_on.plus_ms(1), ..row.clone() }).await;
}

async fn many_keys_are_asked_for_at_once(base: Base) {
    let ledger = with_operations(&base).await;
    let mut view = ledger.view().await.unwrap();
    let keys = (0..MANY).rev().map(|number| operation(number).key()).chain([Key::from("nobody")]);
    let rows: Vec<Operation> = view.get_each(&keys.collect::<Vec<_>>()).await.unwrap();
    assert_eq!(rows, (0..MANY).rev().map(operation).collect::<Vec<_>>(), "in the order of the questions");
    assert_eq!(view.get_each::<Operation>(&[]).await.unwrap(), []);
    let filters = [Filter::all().is("resource_id", "app").limit(2), Filter::all().is("resource_id", "none")];
    let rows: Vec<Operation> = view.list_each(&filters).await.unwrap();
    assert_eq!(rows.len(), 2);
}

async fn what_is_counted_is_counted_for_each(base: Base) {
    let ledger = with_operations(&base).await;
    let count = |number: usize| {
        let ledger = ledger.clone();
        async move {
            let of = if number.is_multiple_of(2) { "app" } else { "none" };
            ledger.view().await.unwrap().count::<Operation>("resource_id", of).await.unwrap()
        }
    };
    for (number, count) in at_once(count).await.into_iter().enumerate() {
        assert_eq!(count, if number.is_multiple_of(2) { MANY as u64 + 1 } else { 0 });
    }
}
