//! Migrations.

use switchboard_gitops::SCHEMA;
use switchboard_gitops::ids::MoveStep;
use switchboard_gitops::rows::fleet::Move;
use switchboard_gitops::rows::{ClusterUser, ManagedEnvironment, RepositoryCredentials};
use switchboard_sql::migration::{MigrationError, SchemaState};
use switchboard_sql::{DatabaseSchema, DbTimestamp, Filter, RowChange, RowKey, Sealer};

use crate::database::{TestDatabase, key, on_both};
use crate::samples;

on_both! {
    a_new_database_is_migrated_once
    a_plan_writes_nothing
    guarantees_concurrent_migrations_run_once
    tables_of_another_program_are_left_alone
    a_newer_database_is_left_alone
    an_altered_step_is_detected
    a_missing_column_is_detected
    a_database_of_every_earlier_version_is_migrated
    stored_move_steps_are_renamed
    credentials_are_sealed_resealed_and_opened
    a_wrong_key_with_the_right_id_is_detected
}

async fn a_new_database_is_migrated_once(database: TestDatabase) {
    let ledger = database.open(Sealer::plain()).await;
    assert!(matches!(ledger.check_schema().await, Err(MigrationError::OutOfDate)));
    let plan = ledger.migrate().await.unwrap();
    assert_eq!((plan.schema, plan.steps.len()), (SchemaState::Empty, 9));
    let again = ledger.migrate().await.unwrap();
    assert!(again.is_empty() && again.schema == SchemaState::Switchboard { version: 9 }, "{again:?}");
    ledger.check_schema().await.unwrap();
}

#[tokio::test]
async fn a_file_is_readable_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let database = TestDatabase::sqlite();
    database.open(Sealer::plain()).await.migrate().await.unwrap();
    let file = database.url.strip_prefix("sqlite:").unwrap();
    for name in [file.to_string(), format!("{file}-wal")] {
        let mode = std::fs::metadata(&name).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

async fn a_plan_writes_nothing(database: TestDatabase) {
    let ledger = database.open(Sealer::plain()).await;
    for _ in 0..2 {
        let plan = ledger.plan_migration().await.unwrap();
        assert_eq!(plan.schema, SchemaState::Empty);
        assert_eq!(plan.steps.iter().map(|(version, _)| *version).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
}

async fn guarantees_concurrent_migrations_run_once(database: TestDatabase) {
    let (one, two) = (database.open(Sealer::plain()).await, database.open(Sealer::plain()).await);
    let (first, second) = tokio::join!(one.migrate(), two.migrate());
    let steps = first.unwrap().steps.len() + second.unwrap().steps.len();
    assert_eq!(steps, 9);
}

async fn tables_of_another_program_are_left_alone(database: TestDatabase) {
    database.execute_sql("create table application (id int)").await;
    let ledger = database.open(Sealer::plain()).await;
    let error = ledger.migrate().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not use the database: table `application` belongs to neither managed-gitops nor Switchboard"
    );
}

async fn a_newer_database_is_left_alone(database: TestDatabase) {
    let ledger = database.ready().await;
    database.execute_sql("insert into switchboard_step (version, name, digest) values (99, 'of tomorrow', 'x')").await;
    assert!(matches!(ledger.migrate().await.unwrap_err(), MigrationError::Newer(99)));
}

async fn an_altered_step_is_detected(database: TestDatabase) {
    let ledger = database.ready().await;
    database.execute_sql("update switchboard_step set digest = 'x' where version = 1").await;
    assert!(matches!(ledger.check_schema().await.unwrap_err(), MigrationError::Altered(1)));
}

async fn a_missing_column_is_detected(database: TestDatabase) {
    let ledger = database.ready().await;
    database.execute_sql("alter table clustercredentials drop column source_digest").await;
    let error = ledger.check_schema().await.unwrap_err();
    assert_eq!(error.to_string(), "could not use the database: `clustercredentials` has no column `source_digest`");
}

/// Returns the schema of an earlier version.
fn schema_of(version: usize) -> &'static DatabaseSchema {
    let schema = DatabaseSchema { steps: &SCHEMA.steps[..version], adopts: None, ..SCHEMA };
    Box::leak(Box::new(schema))
}

async fn a_database_of_every_earlier_version_is_migrated(database: TestDatabase) {
    let newest = SCHEMA.steps.len();
    for version in 1..newest {
        let database = database.another();
        database.open_as(schema_of(version), Sealer::plain()).await.migrate().await.unwrap();
        let ledger = database.open(Sealer::with_keys(&key(1)).unwrap()).await;
        assert!(matches!(ledger.check_schema().await, Err(MigrationError::OutOfDate)));
        let plan = ledger.migrate().await.unwrap();
        let found = SchemaState::Switchboard { version: version as i64 };
        assert_eq!((plan.schema, plan.steps.len()), (found, newest - version));
        ledger.check_schema().await.unwrap();
        ledger.commit(&samples::all()).await.unwrap();
    }
}

/// A move that is in progress during an upgrade continues.
async fn stored_move_steps_are_renamed(database: TestDatabase) {
    let ledger = database.ready().await;
    ledger.commit(&samples::all()).await.unwrap();
    let user: ClusterUser = ledger.list(&Filter::all()).await.unwrap().remove(0);
    let environment: ManagedEnvironment = ledger.list(&Filter::all()).await.unwrap().remove(0);
    let started = Move {
        id: "move".into(),
        user: user.id,
        environment: environment.id,
        source: "one".into(),
        target: "two".into(),
        step: MoveStep::Freeze,
        human_readable_state: None,
        created_on: DbTimestamp::default(),
        last_step_update: DbTimestamp::default(),
    };
    ledger.commit(&[RowChange::insert(&started)]).await.unwrap();
    let names = [
        ("update switchboard_move set step = 'freeze'", MoveStep::Freeze),
        ("update switchboard_move set step = 'flip'", MoveStep::Cutover),
        ("update switchboard_move set step = 'wake'", MoveStep::Resume),
        ("update switchboard_move set step = 'clean'", MoveStep::Cleanup),
        ("update switchboard_move set step = 'return'", MoveStep::Rollback),
        ("update switchboard_move set step = 'returned'", MoveStep::RolledBack),
        ("update switchboard_move set step = 'done'", MoveStep::Done),
    ];
    for (before, after) in names {
        database.execute_sql("delete from switchboard_step where version >= 8").await;
        database.execute_sql(before).await;
        let ledger = database.open(Sealer::plain()).await;
        assert_eq!(ledger.migrate().await.unwrap().schema, SchemaState::Switchboard { version: 7 });
        let moves: Vec<Move> = ledger.list(&Filter::all()).await.unwrap();
        assert_eq!(moves.iter().map(|one| one.step).collect::<Vec<_>>(), [after], "{before}");
    }
}

async fn credentials_are_sealed_resealed_and_opened(database: TestDatabase) {
    let password = "select repo_cred_pass from repositorycredentials";
    let read = |ledger: switchboard_sql::Ledger| async move {
        let row: RepositoryCredentials = ledger.get(&RowKey::from("rc")).await.unwrap().unwrap();
        row.password.unwrap().expose().to_string()
    };
    database.ready().await.commit(&samples::all()).await.unwrap();
    assert_eq!(database.query_text(password).await.unwrap(), "hunter2");

    // Two rows with a kubeconfig and a token each, and one row with a password and a key.
    let sealed = database.open(Sealer::with_keys(&key(1)).unwrap()).await;
    assert_eq!(sealed.plan_migration().await.unwrap().credentials, 6);
    assert_eq!(sealed.migrate().await.unwrap().credentials, 6);
    assert_eq!(sealed.migrate().await.unwrap().credentials, 0);
    assert!(database.query_text(password).await.unwrap().starts_with("swb1:k1:"));
    assert_eq!(read(sealed).await, "hunter2");

    let moved = database.open(Sealer::with_keys(&format!("{}\n{}", key(2), key(1))).unwrap()).await;
    assert_eq!(moved.migrate().await.unwrap().credentials, 6);
    assert!(database.query_text(password).await.unwrap().starts_with("swb1:k2:"));
    assert_eq!(read(moved).await, "hunter2");

    // Without the key nothing is opened, and no credential is changed.
    let blind = database.open(Sealer::with_keys(&key(3)).unwrap()).await;
    assert!(blind.migrate().await.is_err());
    assert!(database.query_text(password).await.unwrap().starts_with("swb1:k2:"));

    let plain = database.open(Sealer::with_keys(&key(2)).unwrap().into_plain()).await;
    assert_eq!(plain.migrate().await.unwrap().credentials, 6);
    assert_eq!(database.query_text(password).await.unwrap(), "hunter2");
}

/// A user who sees that nothing is to do deletes the older key.
async fn a_wrong_key_with_the_right_id_is_detected(database: TestDatabase) {
    let sealed = database.open(Sealer::with_keys(&key(1)).unwrap()).await;
    sealed.migrate().await.unwrap();
    sealed.commit(&samples::all()).await.unwrap();
    let rows = sealed.export().await.unwrap();
    let wrong = || Sealer::with_keys(&key(2).replace("k2:", "k1:")).unwrap();
    let ledger = database.open(wrong()).await;
    for told in [ledger.plan_migration().await.unwrap_err(), ledger.migrate().await.unwrap_err()] {
        assert!(told.to_string().contains("it was encrypted with another key or for another row"), "{told}");
    }
    ledger.check_schema().await.unwrap();
    // A damaged credential does not discredit the key.
    database.execute_sql("update repositorycredentials set repo_cred_pass = 'swb1:k1:AAAA'").await;
    assert!(sealed.plan_migration().await.unwrap().is_empty());

    // Rows of a backup are imported only with the key that opens them.
    let there = sealed.export().await.unwrap();
    for refused in [wrong(), Sealer::plain(), Sealer::with_keys(&key(3)).unwrap()] {
        let told = database.open(refused).await.import(&rows).await.unwrap_err();
        assert!(told.to_string().starts_with("could not decrypt `"), "{told}");
        assert_eq!(sealed.export().await.unwrap(), there);
    }
    sealed.import(&rows).await.unwrap();
    let moved = database.open(Sealer::with_keys(&format!("{}\n{}", key(3), key(1))).unwrap()).await;
    moved.import(&rows).await.unwrap();
    assert_eq!(moved.migrate().await.unwrap().credentials, 6);
}
