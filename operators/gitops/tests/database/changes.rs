//! Reads and commits.

use switchboard_gitops::ids::OperationState;
use switchboard_gitops::rows::*;
use switchboard_sql::{Filter, Ledger, LedgerError, Row, RowChange, RowKey, RowLimit, Sealer, SecretString};

use crate::database::{TestDatabase, key, on_both};
use crate::samples;

on_both! {
    a_row_of_each_table_is_read_back_unchanged
    guarantees_changes_are_atomic
    guarantees_a_row_that_changed_is_not_overwritten
    guarantees_a_view_is_consistent
    guarantees_no_credential_is_stored_in_plaintext
    a_changed_credential_is_a_changed_row
    a_row_can_be_required_to_be_unchanged
    guarantees_row_limits_hold
    a_dangling_reference_is_rejected
    a_referenced_row_cannot_be_deleted
    a_unique_value_stays_unique
    a_deletion_is_idempotent
    rows_are_ensured_and_put
    a_long_value_is_rejected_and_a_long_reason_is_truncated
    pages_skip_no_row_when_earlier_rows_are_deleted
    a_filter_of_an_unknown_column_is_rejected
    concurrent_writers_lose_no_update
    nulls_of_managed_gitops_are_read
}

async fn with_samples(database: &TestDatabase) -> Ledger {
    let ledger = database.ready().await;
    ledger.commit(&samples::all()).await.unwrap();
    ledger
}

async fn assert_reads_back<R: Row>(ledger: &Ledger, row: &R) {
    assert_eq!(ledger.get::<R>(&row.key()).await.unwrap().as_ref(), Some(row));
    assert!(ledger.list::<R>(&Filter::all()).await.unwrap().contains(row));
}

async fn a_row_of_each_table_is_read_back_unchanged(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    assert_reads_back(&ledger, &samples::credentials("cc")).await;
    assert_reads_back(&ledger, &samples::engine_cluster()).await;
    assert_reads_back(&ledger, &samples::instance()).await;
    assert_reads_back(&ledger, &samples::environment()).await;
    assert_reads_back(&ledger, &samples::user("u")).await;
    assert_reads_back(&ledger, &samples::access()).await;
    assert_reads_back(&ledger, &samples::operation("op")).await;
    assert_reads_back(&ledger, &samples::application("app")).await;
    assert_reads_back(&ledger, &samples::state()).await;
    assert_reads_back(&ledger, &samples::deployment()).await;
    assert_reads_back(&ledger, &samples::kubernetes()).await;
    assert_reads_back(&ledger, &samples::api()).await;
    assert_reads_back(&ledger, &samples::sync()).await;
    assert_reads_back(&ledger, &samples::repository()).await;
    assert_reads_back(&ledger, &samples::project_repository()).await;
    assert_reads_back(&ledger, &samples::project_environment()).await;
    assert_reads_back(&ledger, &samples::owner()).await;
}

async fn guarantees_changes_are_atomic(database: TestDatabase) {
    let ledger = database.ready().await;
    let mut changes = samples::all();
    // The last change refers to an Application that does not exist.
    changes.push(RowChange::insert(&ApplicationOwner { application: "missing".into(), ..samples::owner() }));
    assert!(ledger.commit(&changes).await.unwrap_err().is_conflict());
    assert!(ledger.list::<ClusterUser>(&Filter::all()).await.unwrap().is_empty());
    assert!(ledger.list::<ClusterCredentials>(&Filter::all()).await.unwrap().is_empty());
}

async fn guarantees_a_row_that_changed_is_not_overwritten(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    let was = samples::operation("op");
    let begun = Operation { state: OperationState::InProgress, ..was.clone() };
    let failed = Operation { state: OperationState::Failed, ..was.clone() };
    ledger.commit(&[RowChange::update(&was, &begun)]).await.unwrap();
    let refused = ledger.commit(&[RowChange::update(&was, &failed)]).await.unwrap_err();
    assert!(matches!(&refused, LedgerError::Changed { table: "operation", key } if key == "op"), "{refused}");
    assert_eq!(ledger.get::<Operation>(&was.key()).await.unwrap(), Some(begun.clone()));
    ledger.commit(&[RowChange::delete(&begun)]).await.unwrap();
    let gone = ledger.commit(&[RowChange::update(&begun, &failed)]).await.unwrap_err();
    assert!(matches!(gone, LedgerError::Changed { .. }), "{gone}");
}

async fn guarantees_a_view_is_consistent(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    let mut view = ledger.view().await.unwrap();
    let before: Vec<ClusterUser> = view.list(&Filter::all()).await.unwrap();
    ledger.commit(&[RowChange::insert(&samples::user("v"))]).await.unwrap();
    assert_eq!(view.list::<ClusterUser>(&Filter::all()).await.unwrap(), before);
    view.end();
    assert_eq!(ledger.list::<ClusterUser>(&Filter::all()).await.unwrap().len(), 2);
}

async fn guarantees_no_credential_is_stored_in_plaintext(database: TestDatabase) {
    let ledger = database.open(Sealer::with_keys(&key(1)).unwrap()).await;
    ledger.migrate().await.unwrap();
    ledger.commit(&samples::all()).await.unwrap();
    assert_reads_back(&ledger, &samples::repository()).await;
    assert_reads_back(&ledger, &samples::credentials("cc")).await;
    for sql in [
        "select repo_cred_pass from repositorycredentials",
        "select repo_cred_ssh from repositorycredentials",
        "select kube_config from clustercredentials where clustercredentials_cred_id = 'cc'",
        "select serviceaccount_bearer_token from clustercredentials where clustercredentials_cred_id = 'cc'",
    ] {
        let stored = database.query_text(sql).await.unwrap();
        assert!(stored.starts_with("swb1:k1:"), "{sql}: {stored}");
    }
    // Without the key nothing can be read, and the error names the key.
    let blind = database.open(Sealer::plain()).await;
    let refused = blind.list::<RepositoryCredentials>(&Filter::all()).await.unwrap_err();
    assert!(refused.to_string().contains("key `k1` is not among the given keys"), "{refused}");
    // A credential that is copied to another row does not open there.
    database.execute_sql("update clustercredentials set serviceaccount_bearer_token = (select repo_cred_pass from repositorycredentials)")
        .await;
    let moved = ledger.list::<ClusterCredentials>(&Filter::all()).await.unwrap_err();
    assert!(moved.to_string().contains("was encrypted with another key"), "{moved}");
}

async fn a_changed_credential_is_a_changed_row(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    let was = samples::repository();
    let rotated = RepositoryCredentials { password: Some(SecretString::from("hunter3")), ..was.clone() };
    ledger.commit(&[RowChange::update(&was, &rotated)]).await.unwrap();
    let refused = ledger.commit(&[RowChange::update(&was, &rotated)]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Changed { .. }), "{refused}");
    assert!(!format!("{:?}", RowChange::update(&was, &rotated)).contains("hunter"));
}

async fn a_row_can_be_required_to_be_unchanged(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    let environment = samples::environment();
    let added = samples::application("app2");
    ledger.commit(&[RowChange::require_unchanged(&environment), RowChange::insert(&added)]).await.unwrap();
    let renamed = ManagedEnvironment { name: "prod".into(), ..environment.clone() };
    ledger.commit(&[RowChange::update(&environment, &renamed)]).await.unwrap();
    let refused = ledger
        .commit(&[RowChange::require_unchanged(&environment), RowChange::insert(&samples::application("app3"))])
        .await
        .unwrap_err();
    assert!(matches!(refused, LedgerError::Changed { .. }), "{refused}");
    assert_eq!(ledger.get::<Application>(&RowKey::from("app3")).await.unwrap(), None);
}

/// Concurrent commits that do not read first.
async fn guarantees_row_limits_hold(database: TestDatabase) {
    const MOST: u64 = 3;
    let ledger = with_samples(&database).await;
    let room = |filter: Filter| {
        RowChange::require_limits(&samples::user("u"), vec![RowLimit::at_most(MOST).counting::<ClusterUser>(filter)])
    };
    let named = || Filter::all().is_any_of("display_name", ["shop", "other"]);
    let mut all = tokio::task::JoinSet::new();
    for number in 0..10 {
        let changes = [RowChange::insert(&samples::user(&format!("r{number}"))), room(named())];
        let ledger = ledger.clone();
        all.spawn(async move { ledger.commit(&changes).await });
    }
    let mut made = 1;
    while let Some(done) = all.join_next().await {
        match done.unwrap() {
            Ok(()) => made += 1,
            Err(refused) => {
                assert!(refused.is_conflict() && matches!(refused, LedgerError::LimitExceeded { .. }), "{refused}")
            }
        }
    }
    assert_eq!(made, MOST, "with the one that was there");
    assert_eq!(ledger.list::<ClusterUser>(&named()).await.unwrap().len() as u64, MOST);
    // The row must also be unchanged since it was read.
    let other = ClusterUser { display_name: Some("bakery".into()), ..samples::user("u") };
    ledger.commit(&[RowChange::update(&samples::user("u"), &other)]).await.unwrap();
    let refused = ledger.commit(&[room(named())]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Changed { .. }), "{refused}");
}

async fn a_dangling_reference_is_rejected(database: TestDatabase) {
    let ledger = database.ready().await;
    let refused = ledger.commit(&[RowChange::insert(&samples::environment())]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Dangling { table: "managedenvironment", .. }), "{refused}");
}

async fn a_referenced_row_cannot_be_deleted(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    let refused = ledger.commit(&[RowChange::delete(&samples::application("app"))]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Dangling { table: "application", .. }), "{refused}");
}

async fn a_unique_value_stays_unique(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    let again = ClusterUser { id: "other".into(), ..samples::user("u") };
    let refused = ledger.commit(&[RowChange::insert(&again)]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Duplicate { table: "clusteruser", .. }), "{refused}");
    // managed-gitops allows duplicate permissions.
    let twice = AppProjectManagedEnvironment { id: "apm2".into(), ..samples::project_environment() };
    assert!(ledger.commit(&[RowChange::insert(&twice)]).await.unwrap_err().is_conflict());
}

async fn a_deletion_is_idempotent(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    for _ in 0..2 {
        ledger.commit(&[RowChange::delete(&samples::operation("op"))]).await.unwrap();
    }
    assert_eq!(ledger.get::<Operation>(&RowKey::from("op")).await.unwrap(), None);
}

async fn rows_are_ensured_and_put(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    let other = ApplicationState { status: Some(vec![1]), ..samples::state() };
    ledger.commit(&[RowChange::ensure(&other)]).await.unwrap();
    assert_reads_back(&ledger, &samples::state()).await;
    ledger.commit(&[RowChange::put(&other)]).await.unwrap();
    assert_reads_back(&ledger, &other).await;
    ledger.commit(&[RowChange::delete(&other), RowChange::put(&samples::state())]).await.unwrap();
    assert_reads_back(&ledger, &samples::state()).await;
}

async fn a_long_value_is_rejected_and_a_long_reason_is_truncated(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    let long = ClusterUser { display_name: Some("x".repeat(254)), ..samples::user("v") };
    let refused = ledger.commit(&[RowChange::insert(&long)]).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "could not write `clusteruser` v: `display_name` has 254 characters, and the maximum is 253"
    );
    let nul = ClusterUser { display_name: Some("a\0b".into()), ..samples::user("v") };
    assert!(matches!(ledger.commit(&[RowChange::insert(&nul)]).await.unwrap_err(), LedgerError::Nul { .. }));
    // Columns count characters, not bytes.
    let wide = ClusterUser { display_name: Some("ü".repeat(253)), ..samples::user("v") };
    ledger.commit(&[RowChange::insert(&wide)]).await.unwrap();
    let failed = Operation { human_readable_state: Some("ü".repeat(2000)), ..samples::operation("op2") };
    ledger.commit(&[RowChange::insert(&failed)]).await.unwrap();
    let reason = ledger.get::<Operation>(&failed.key()).await.unwrap().unwrap().human_readable_state.unwrap();
    assert_eq!(reason, "ü".repeat(1021) + "...");
    // A key of 4096 bits has about 3,400 characters; managed-gitops stores at most 1,024.
    let key =
        RepositoryCredentials { id: "rc2".into(), ssh_key: Some("k".repeat(3400).into()), ..samples::repository() };
    ledger.commit(&[RowChange::insert(&key)]).await.unwrap();
    assert_reads_back(&ledger, &key).await;
}

async fn pages_skip_no_row_when_earlier_rows_are_deleted(database: TestDatabase) {
    let ledger = database.ready().await;
    let users: Vec<ClusterUser> = (0..10).map(|n| samples::user(&format!("u{n}"))).collect();
    ledger.commit(&users.iter().map(RowChange::insert).collect::<Vec<_>>()).await.unwrap();
    let mut seen = Vec::new();
    let mut filter = Filter::all().limit(3);
    loop {
        let page: Vec<ClusterUser> = ledger.list(&filter).await.unwrap();
        let Some(last) = page.last() else { break };
        filter = Filter::all().limit(3).after(last.key());
        // The page is deleted after it was read, as a cleanup does.
        ledger.commit(&page.iter().map(RowChange::delete).collect::<Vec<_>>()).await.unwrap();
        seen.extend(page);
    }
    assert_eq!(seen, users);
}

async fn a_filter_of_an_unknown_column_is_rejected(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    let user = switchboard_gitops::ids::UserId::from("u");
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

async fn concurrent_writers_lose_no_update(database: TestDatabase) {
    const WRITERS: i64 = 4;
    const TIMES: i64 = 10;
    let ledger = with_samples(&database).await;
    let count = |ledger: Ledger| async move {
        for _ in 0..TIMES {
            loop {
                let was: Operation = ledger.get(&RowKey::from("op")).await.unwrap().unwrap();
                let next = Operation { gc_expiration_s: was.gc_expiration_s.map(|n| n + 1), ..was.clone() };
                match ledger.commit(&[RowChange::update(&was, &next)]).await {
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
    let operation: Operation = ledger.get(&RowKey::from("op")).await.unwrap().unwrap();
    assert_eq!(operation.gc_expiration_s, Some(60 + WRITERS * TIMES));
}

async fn nulls_of_managed_gitops_are_read(database: TestDatabase) {
    let ledger = with_samples(&database).await;
    database.execute_sql(
        "insert into clustercredentials (clustercredentials_cred_id, host, allowinsecure_skiptlsverify) values ('bare', '', null)",
    )
    .await;
    let bare: ClusterCredentials = ledger.get(&RowKey::from("bare")).await.unwrap().unwrap();
    assert_eq!((bare.host.clone(), bare.allow_insecure, bare.own_service_account), (None, false, false));
    let reached = ClusterCredentials { host: Some("https://x".into()), ..bare.clone() };
    ledger.commit(&[RowChange::update(&bare, &reached)]).await.unwrap();
    assert_reads_back(&ledger, &reached).await;
}
