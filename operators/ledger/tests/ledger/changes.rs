//! Reading and changing.

use switchboard_ledger::ids::OperationState;
use switchboard_ledger::rows::*;
use switchboard_ledger::{Bound, Change, Filter, Key, Ledger, LedgerError, Row, Sealing, Secret};

use crate::base::{Base, key, on_both};
use crate::samples;

on_both! {
    a_row_of_each_table_comes_back_as_it_was_written
    guarantees_changes_are_made_whole_or_not_at_all
    guarantees_a_row_that_changed_is_not_overwritten
    guarantees_a_view_sees_one_state
    guarantees_no_credential_is_stored_in_clear
    a_credential_that_changed_is_a_row_that_changed
    a_row_may_be_held_without_being_written
    guarantees_no_more_is_there_than_may_be
    what_refers_to_nothing_is_refused
    what_is_referred_to_stays
    what_is_there_once_is_there_once
    a_deletion_may_be_made_twice
    rows_are_added_unless_they_are_there_or_in_place_of_what_is_there
    a_value_that_does_not_fit_is_refused_and_a_reason_is_cut
    pages_skip_nothing_when_earlier_rows_go
    a_filter_asks_for_columns_that_exist
    writers_at_the_same_time_lose_nothing
    null_is_what_the_original_writes_for_nothing
}

async fn with_all(base: &Base) -> Ledger {
    let ledger = base.ready().await;
    ledger.commit(&samples::all()).await.unwrap();
    ledger
}

async fn comes_back<R: Row>(ledger: &Ledger, row: &R) {
    assert_eq!(ledger.get::<R>(&row.key()).await.unwrap().as_ref(), Some(row));
    assert!(ledger.list::<R>(&Filter::all()).await.unwrap().contains(row));
}

async fn a_row_of_each_table_comes_back_as_it_was_written(base: Base) {
    let ledger = with_all(&base).await;
    comes_back(&ledger, &samples::credentials("cc")).await;
    comes_back(&ledger, &samples::engine_cluster()).await;
    comes_back(&ledger, &samples::instance()).await;
    comes_back(&ledger, &samples::environment()).await;
    comes_back(&ledger, &samples::user("u")).await;
    comes_back(&ledger, &samples::access()).await;
    comes_back(&ledger, &samples::operation("op")).await;
    comes_back(&ledger, &samples::application("app")).await;
    comes_back(&ledger, &samples::state()).await;
    comes_back(&ledger, &samples::deployment()).await;
    comes_back(&ledger, &samples::kubernetes()).await;
    comes_back(&ledger, &samples::api()).await;
    comes_back(&ledger, &samples::sync()).await;
    comes_back(&ledger, &samples::repository()).await;
    comes_back(&ledger, &samples::project_repository()).await;
    comes_back(&ledger, &samples::project_environment()).await;
    comes_back(&ledger, &samples::owner()).await;
}

async fn guarantees_changes_are_made_whole_or_not_at_all(base: Base) {
    let ledger = base.ready().await;
    let mut changes = samples::all();
    // The last one refers to an Application that is not there.
    changes.push(Change::insert(&ApplicationOwner { application: "nobody".into(), ..samples::owner() }));
    assert!(ledger.commit(&changes).await.unwrap_err().is_conflict());
    assert!(ledger.list::<ClusterUser>(&Filter::all()).await.unwrap().is_empty());
    assert!(ledger.list::<ClusterCredentials>(&Filter::all()).await.unwrap().is_empty());
}

async fn guarantees_a_row_that_changed_is_not_overwritten(base: Base) {
    let ledger = with_all(&base).await;
    let was = samples::operation("op");
    let begun = Operation { state: OperationState::InProgress, ..was.clone() };
    let failed = Operation { state: OperationState::Failed, ..was.clone() };
    ledger.commit(&[Change::update(&was, &begun)]).await.unwrap();
    let refused = ledger.commit(&[Change::update(&was, &failed)]).await.unwrap_err();
    assert!(matches!(&refused, LedgerError::Changed { table: "operation", key } if key == "op"), "{refused}");
    assert_eq!(ledger.get::<Operation>(&was.key()).await.unwrap(), Some(begun.clone()));
    ledger.commit(&[Change::delete(&begun)]).await.unwrap();
    let gone = ledger.commit(&[Change::update(&begun, &failed)]).await.unwrap_err();
    assert!(matches!(gone, LedgerError::Changed { .. }), "{gone}");
}

async fn guarantees_a_view_sees_one_state(base: Base) {
    let ledger = with_all(&base).await;
    let mut view = ledger.view().await.unwrap();
    let before: Vec<ClusterUser> = view.list(&Filter::all()).await.unwrap();
    ledger.commit(&[Change::insert(&samples::user("v"))]).await.unwrap();
    assert_eq!(view.list::<ClusterUser>(&Filter::all()).await.unwrap(), before);
    view.end();
    assert_eq!(ledger.list::<ClusterUser>(&Filter::all()).await.unwrap().len(), 2);
}

async fn guarantees_no_credential_is_stored_in_clear(base: Base) {
    let ledger = base.open(Sealing::with_keys(&key(1)).unwrap()).await;
    ledger.migrate().await.unwrap();
    ledger.commit(&samples::all()).await.unwrap();
    comes_back(&ledger, &samples::repository()).await;
    comes_back(&ledger, &samples::credentials("cc")).await;
    for sql in [
        "select repo_cred_pass from repositorycredentials",
        "select repo_cred_ssh from repositorycredentials",
        "select kube_config from clustercredentials where clustercredentials_cred_id = 'cc'",
        "select serviceaccount_bearer_token from clustercredentials where clustercredentials_cred_id = 'cc'",
    ] {
        let stored = base.stored(sql).await.unwrap();
        assert!(stored.starts_with("swb1:k1:"), "{sql}: {stored}");
    }
    // Whoever has no key reads nothing, and says which key it takes.
    let blind = base.open(Sealing::plain()).await;
    let refused = blind.list::<RepositoryCredentials>(&Filter::all()).await.unwrap_err();
    assert!(refused.to_string().contains("sealed with key `k1`"), "{refused}");
    // A credential that is copied to another row does not open there.
    base.raw("update clustercredentials set serviceaccount_bearer_token = (select repo_cred_pass from repositorycredentials)")
        .await;
    let moved = ledger.list::<ClusterCredentials>(&Filter::all()).await.unwrap_err();
    assert!(moved.to_string().contains("was not sealed there"), "{moved}");
}

async fn a_credential_that_changed_is_a_row_that_changed(base: Base) {
    let ledger = with_all(&base).await;
    let was = samples::repository();
    let rotated = RepositoryCredentials { password: Some(Secret::from("hunter3")), ..was.clone() };
    ledger.commit(&[Change::update(&was, &rotated)]).await.unwrap();
    let refused = ledger.commit(&[Change::update(&was, &rotated)]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Changed { .. }), "{refused}");
    assert!(!format!("{:?}", Change::update(&was, &rotated)).contains("hunter"));
}

async fn a_row_may_be_held_without_being_written(base: Base) {
    let ledger = with_all(&base).await;
    let environment = samples::environment();
    let added = samples::application("app2");
    ledger.commit(&[Change::hold(&environment), Change::insert(&added)]).await.unwrap();
    let renamed = ManagedEnvironment { name: "prod".into(), ..environment.clone() };
    ledger.commit(&[Change::update(&environment, &renamed)]).await.unwrap();
    let refused =
        ledger.commit(&[Change::hold(&environment), Change::insert(&samples::application("app3"))]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Changed { .. }), "{refused}");
    assert_eq!(ledger.get::<Application>(&Key::from("app3")).await.unwrap(), None);
}

/// However many come at once, and without looking first.
async fn guarantees_no_more_is_there_than_may_be(base: Base) {
    const MOST: u64 = 3;
    let ledger = with_all(&base).await;
    let room =
        |filter: Filter| Change::room(&samples::user("u"), vec![Bound::of(MOST).counting::<ClusterUser>(filter)]);
    let named = || Filter::all().any("display_name", ["shop", "nobody's"]);
    let mut all = tokio::task::JoinSet::new();
    for number in 0..10 {
        let changes = [Change::insert(&samples::user(&format!("r{number}"))), room(named())];
        let ledger = ledger.clone();
        all.spawn(async move { ledger.commit(&changes).await });
    }
    let mut made = 1;
    while let Some(done) = all.join_next().await {
        match done.unwrap() {
            Ok(()) => made += 1,
            Err(refused) => assert!(refused.is_conflict() && matches!(refused, LedgerError::Full { .. }), "{refused}"),
        }
    }
    assert_eq!(made, MOST, "with the one that was there");
    assert_eq!(ledger.list::<ClusterUser>(&named()).await.unwrap().len() as u64, MOST);
    // What the row said when it was read still counts.
    let other = ClusterUser { display_name: Some("bakery".into()), ..samples::user("u") };
    ledger.commit(&[Change::update(&samples::user("u"), &other)]).await.unwrap();
    let refused = ledger.commit(&[room(named())]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Changed { .. }), "{refused}");
}

async fn what_refers_to_nothing_is_refused(base: Base) {
    let ledger = base.ready().await;
    let refused = ledger.commit(&[Change::insert(&samples::environment())]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Dangling { table: "managedenvironment", .. }), "{refused}");
}

async fn what_is_referred_to_stays(base: Base) {
    let ledger = with_all(&base).await;
    let refused = ledger.commit(&[Change::delete(&samples::application("app"))]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Dangling { table: "application", .. }), "{refused}");
}

async fn what_is_there_once_is_there_once(base: Base) {
    let ledger = with_all(&base).await;
    let again = ClusterUser { id: "other".into(), ..samples::user("u") };
    let refused = ledger.commit(&[Change::insert(&again)]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Taken { table: "clusteruser", .. }), "{refused}");
    // The original lets the same permission be written twice.
    let twice = AppProjectManagedEnvironment { id: "apm2".into(), ..samples::project_environment() };
    assert!(ledger.commit(&[Change::insert(&twice)]).await.unwrap_err().is_conflict());
}

async fn a_deletion_may_be_made_twice(base: Base) {
    let ledger = with_all(&base).await;
    for _ in 0..2 {
        ledger.commit(&[Change::delete(&samples::operation("op"))]).await.unwrap();
    }
    assert_eq!(ledger.get::<Operation>(&Key::from("op")).await.unwrap(), None);
}

async fn rows_are_added_unless_they_are_there_or_in_place_of_what_is_there(base: Base) {
    let ledger = with_all(&base).await;
    let other = ApplicationState { status: Some(vec![1]), ..samples::state() };
    ledger.commit(&[Change::ensure(&other)]).await.unwrap();
    comes_back(&ledger, &samples::state()).await;
    ledger.commit(&[Change::put(&other)]).await.unwrap();
    comes_back(&ledger, &other).await;
    ledger.commit(&[Change::delete(&other), Change::put(&samples::state())]).await.unwrap();
    comes_back(&ledger, &samples::state()).await;
}

async fn a_value_that_does_not_fit_is_refused_and_a_reason_is_cut(base: Base) {
    let ledger = with_all(&base).await;
    let long = ClusterUser { display_name: Some("x".repeat(254)), ..samples::user("v") };
    let refused = ledger.commit(&[Change::insert(&long)]).await.unwrap_err();
    assert_eq!(refused.to_string(), "could not write `clusteruser` v: `display_name` has 254 characters and takes 253");
    let nul = ClusterUser { display_name: Some("a\0b".into()), ..samples::user("v") };
    assert!(matches!(ledger.commit(&[Change::insert(&nul)]).await.unwrap_err(), LedgerError::Nul { .. }));
    // Characters, not bytes, are what a column counts.
    let wide = ClusterUser { display_name: Some("ü".repeat(253)), ..samples::user("v") };
    ledger.commit(&[Change::insert(&wide)]).await.unwrap();
    let failed = Operation { human_readable_state: Some("ü".repeat(2000)), ..samples::operation("op2") };
    ledger.commit(&[Change::insert(&failed)]).await.unwrap();
    let reason = ledger.get::<Operation>(&failed.key()).await.unwrap().unwrap().human_readable_state.unwrap();
    assert_eq!(reason, "ü".repeat(1021) + "...");
    // A key of 4096 bits has some 3,400 characters; the original takes 1,024.
    let key =
        RepositoryCredentials { id: "rc2".into(), ssh_key: Some("k".repeat(3400).into()), ..samples::repository() };
    ledger.commit(&[Change::insert(&key)]).await.unwrap();
    comes_back(&ledger, &key).await;
}

async fn pages_skip_nothing_when_earlier_rows_go(base: Base) {
    let ledger = base.ready().await;
    let users: Vec<ClusterUser> = (0..10).map(|n| samples::user(&format!("u{n}"))).collect();
    ledger.commit(&users.iter().map(Change::insert).collect::<Vec<_>>()).await.unwrap();
    let mut seen = Vec::new();
    let mut filter = Filter::all().limit(3);
    loop {
        let page: Vec<ClusterUser> = ledger.list(&filter).await.unwrap();
        let Some(last) = page.last() else { break };
        filter = Filter::all().limit(3).after(last.key());
        // What was read is removed, as a clean-up does.
        ledger.commit(&page.iter().map(Change::delete).collect::<Vec<_>>()).await.unwrap();
        seen.extend(page);
    }
    assert_eq!(seen, users);
}

async fn a_filter_asks_for_columns_that_exist(base: Base) {
    let ledger = with_all(&base).await;
    let user = switchboard_ledger::ids::UserId::from("u");
    let mine: Vec<Operation> = ledger
        .list(&Filter::all().is("operation_owner_user_id", &user).is("state", OperationState::Waiting))
        .await
        .unwrap();
    assert_eq!(mine, [samples::operation("op")]);
    assert!(ledger.list::<Application>(&Filter::all().is_null("managed_environment_id")).await.unwrap().is_empty());
    let bad = ledger.list::<Operation>(&Filter::all().is("nope", "x")).await.unwrap_err();
    assert!(matches!(bad, LedgerError::NoColumn { column: "nope", .. }));
    let secret =
        ledger.list::<RepositoryCredentials>(&Filter::all().is("repo_cred_pass", "hunter2")).await.unwrap_err();
    assert!(matches!(secret, LedgerError::NoColumn { .. }));
}

async fn writers_at_the_same_time_lose_nothing(base: Base) {
    const WRITERS: i64 = 4;
    const TIMES: i64 = 10;
    let ledger = with_all(&base).await;
    let count = |ledger: Ledger| async move {
        for _ in 0..TIMES {
            loop {
                let was: Operation = ledger.get(&Key::from("op")).await.unwrap().unwrap();
                let next = Operation { gc_expiration_s: was.gc_expiration_s.map(|n| n + 1), ..was.clone() };
                match ledger.commit(&[Change::update(&was, &next)]).await {
                    Ok(()) => break,
                    Err(error) => assert!(error.is_conflict(), "{error}"),
                }
            }
        }
    };
    let writers: Vec<_> = (0..WRITERS).map(|_| tokio::spawn(count(ledger.clone()))).collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let operation: Operation = ledger.get(&Key::from("op")).await.unwrap().unwrap();
    assert_eq!(operation.gc_expiration_s, Some(60 + WRITERS * TIMES));
}

async fn null_is_what_the_original_writes_for_nothing(base: Base) {
    let ledger = with_all(&base).await;
    base.raw(
        "insert into clustercredentials (clustercredentials_cred_id, host, allowinsecure_skiptlsverify) values ('bare', '', null)",
    )
    .await;
    let bare: ClusterCredentials = ledger.get(&Key::from("bare")).await.unwrap().unwrap();
    assert_eq!((bare.host.clone(), bare.allow_insecure, bare.own_service_account), (None, false, false));
    let reached = ClusterCredentials { host: Some("https://x".into()), ..bare.clone() };
    ledger.commit(&[Change::update(&bare, &reached)]).await.unwrap();
    comes_back(&ledger, &reached).await;
}
