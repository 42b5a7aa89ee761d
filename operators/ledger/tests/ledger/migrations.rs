//! How a database comes to have its tables.

use switchboard_ledger::migration::{Found, MigrationError};
use switchboard_ledger::rows::RepositoryCredentials;
use switchboard_ledger::{Key, Sealing};

use crate::base::{Base, key, on_both};
use crate::samples;

on_both! {
    a_new_database_gets_its_tables_and_then_nothing_is_left_to_do
    a_plan_writes_nothing
    guarantees_two_that_migrate_at_once_do_it_once
    tables_of_somebody_else_are_left_alone
    a_newer_database_is_left_alone
    a_step_of_other_words_is_noticed
    a_table_that_lost_a_column_is_noticed
    a_database_of_an_earlier_version_gets_what_it_lacks
    credentials_are_sealed_moved_to_another_key_and_opened_again
    a_wrong_key_of_the_right_id_is_noticed
}

async fn a_new_database_gets_its_tables_and_then_nothing_is_left_to_do(base: Base) {
    let ledger = base.open(Sealing::plain()).await;
    assert!(matches!(ledger.check_schema().await, Err(MigrationError::Behind)));
    let plan = ledger.migrate().await.unwrap();
    assert_eq!((plan.found, plan.steps.len()), (Found::Nothing, 7));
    let again = ledger.migrate().await.unwrap();
    assert!(again.is_empty() && again.found == Found::Ours { version: 7 }, "{again:?}");
    ledger.check_schema().await.unwrap();
}

#[tokio::test]
async fn a_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let base = Base::sqlite();
    base.open(Sealing::plain()).await.migrate().await.unwrap();
    let file = base.url.strip_prefix("sqlite:").unwrap();
    for name in [file.to_string(), format!("{file}-wal")] {
        let mode = std::fs::metadata(&name).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

async fn a_plan_writes_nothing(base: Base) {
    let ledger = base.open(Sealing::plain()).await;
    for _ in 0..2 {
        let plan = ledger.plan_migration().await.unwrap();
        assert_eq!(plan.found, Found::Nothing);
        assert_eq!(plan.steps.iter().map(|(version, _)| *version).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    }
}

async fn guarantees_two_that_migrate_at_once_do_it_once(base: Base) {
    let (one, two) = (base.open(Sealing::plain()).await, base.open(Sealing::plain()).await);
    let (first, second) = tokio::join!(one.migrate(), two.migrate());
    let steps = first.unwrap().steps.len() + second.unwrap().steps.len();
    assert_eq!(steps, 7);
}

async fn tables_of_somebody_else_are_left_alone(base: Base) {
    base.raw("create table application (id int)").await;
    let ledger = base.open(Sealing::plain()).await;
    let error = ledger.migrate().await.unwrap_err();
    assert!(matches!(&error, MigrationError::Foreign(table) if table == "application"), "{error}");
}

async fn a_newer_database_is_left_alone(base: Base) {
    let ledger = base.ready().await;
    base.raw("insert into switchboard_step (version, name, digest) values (99, 'of tomorrow', 'x')").await;
    assert!(matches!(ledger.migrate().await.unwrap_err(), MigrationError::Newer(99)));
}

async fn a_step_of_other_words_is_noticed(base: Base) {
    let ledger = base.ready().await;
    base.raw("update switchboard_step set digest = 'x' where version = 1").await;
    assert!(matches!(ledger.check_schema().await.unwrap_err(), MigrationError::Altered(1)));
}

async fn a_table_that_lost_a_column_is_noticed(base: Base) {
    let ledger = base.ready().await;
    base.raw("alter table clustercredentials drop column source_digest").await;
    let error = ledger.check_schema().await.unwrap_err();
    assert_eq!(error.to_string(), "could not use the database: `clustercredentials` has no column `source_digest`");
}

async fn a_database_of_an_earlier_version_gets_what_it_lacks(base: Base) {
    base.ready().await;
    base.raw("alter table switchboard_service_account drop column token").await;
    base.raw("delete from switchboard_step where version >= 6").await;
    let ledger = base.open(Sealing::with_keys(&key(1)).unwrap()).await;
    assert!(matches!(ledger.check_schema().await, Err(MigrationError::Behind)));
    let plan = ledger.migrate().await.unwrap();
    assert_eq!((plan.found, plan.steps.len()), (Found::Ours { version: 5 }, 2));
    ledger.check_schema().await.unwrap();
}

async fn credentials_are_sealed_moved_to_another_key_and_opened_again(base: Base) {
    let password = "select repo_cred_pass from repositorycredentials";
    let read = |ledger: switchboard_ledger::Ledger| async move {
        let row: RepositoryCredentials = ledger.get(&Key::from("rc")).await.unwrap().unwrap();
        row.password.unwrap().expose().to_string()
    };
    base.ready().await.commit(&samples::all()).await.unwrap();
    assert_eq!(base.stored(password).await.unwrap(), "hunter2");

    // Two rows with a kubeconfig and a token each, one with a password and a key.
    let sealed = base.open(Sealing::with_keys(&key(1)).unwrap()).await;
    assert_eq!(sealed.plan_migration().await.unwrap().credentials, 6);
    assert_eq!(sealed.migrate().await.unwrap().credentials, 6);
    assert_eq!(sealed.migrate().await.unwrap().credentials, 0);
    assert!(base.stored(password).await.unwrap().starts_with("swb1:k1:"));
    assert_eq!(read(sealed).await, "hunter2");

    let moved = base.open(Sealing::with_keys(&format!("{}\n{}", key(2), key(1))).unwrap()).await;
    assert_eq!(moved.migrate().await.unwrap().credentials, 6);
    assert!(base.stored(password).await.unwrap().starts_with("swb1:k2:"));
    assert_eq!(read(moved).await, "hunter2");

    // Without the key nothing is opened, and nothing is half done.
    let blind = base.open(Sealing::with_keys(&key(3)).unwrap()).await;
    assert!(blind.migrate().await.is_err());
    assert!(base.stored(password).await.unwrap().starts_with("swb1:k2:"));

    let plain = base.open(Sealing::with_keys(&key(2)).unwrap().into_plain()).await;
    assert_eq!(plain.migrate().await.unwrap().credentials, 6);
    assert_eq!(base.stored(password).await.unwrap(), "hunter2");
}

/// Whoever is told that nothing is to do throws the older key away.
async fn a_wrong_key_of_the_right_id_is_noticed(base: Base) {
    let sealed = base.open(Sealing::with_keys(&key(1)).unwrap()).await;
    sealed.migrate().await.unwrap();
    sealed.commit(&samples::all()).await.unwrap();
    let rows = sealed.export().await.unwrap();
    let wrong = || Sealing::with_keys(&key(2).replace("k2:", "k1:")).unwrap();
    let ledger = base.open(wrong()).await;
    for told in [ledger.plan_migration().await.unwrap_err(), ledger.migrate().await.unwrap_err()] {
        assert!(told.to_string().contains("it was not sealed there with that key"), "{told}");
    }
    ledger.check_schema().await.unwrap();
    // One that was damaged says nothing of the key.
    base.raw("update repositorycredentials set repo_cred_pass = 'swb1:k1:AAAA'").await;
    assert!(sealed.plan_migration().await.unwrap().is_empty());

    // Rows of a backup are put back with the key that opens them, or not at all.
    let there = sealed.export().await.unwrap();
    for refused in [wrong(), Sealing::plain(), Sealing::with_keys(&key(3)).unwrap()] {
        let told = base.open(refused).await.import(&rows).await.unwrap_err();
        assert!(told.to_string().starts_with("could not open `"), "{told}");
        assert_eq!(sealed.export().await.unwrap(), there);
    }
    sealed.import(&rows).await.unwrap();
    let moved = base.open(Sealing::with_keys(&format!("{}\n{}", key(3), key(1))).unwrap()).await;
    moved.import(&rows).await.unwrap();
    assert_eq!(moved.migrate().await.unwrap().credentials, 6);
}
