//! PostgreSQL only: databases of managed-gitops, other writers, restarts of the server, TLS.

use switchboard_gitops::rows::*;
use switchboard_sql::migration::{MigrationError, SchemaState};
use switchboard_sql::postgres_server::PostgresServer;
use switchboard_sql::{Address, ChangeEvent, Filter, Ledger, LedgerError, RowChange, RowKey, Sealer};

use crate::change_stream::next;
use crate::database::{TestDatabase, key};
use crate::samples;

/// Schema of managed-gitops, including its own version table.
const MANAGED_GITOPS_SCHEMA: &str = include_str!("../../migrations/postgres/0001_managed_gitops.sql");

/// Rows as the driver of managed-gitops writes them: empty texts as NULL, columns with a default left out.
const ROWS: &str = "
insert into clustercredentials (clustercredentials_cred_id, host, kube_config, kube_config_context, serviceaccount_bearer_token, serviceaccount_ns)
  values ('c1', 'https://api.example:6443', 'kind: Config', 'ctx', 'tok', 'kube-system'), ('c2', 'host', 'kube_config', 'kube_config_context', 'serviceaccount_bearer_token', 'serviceaccount_ns');
insert into gitopsenginecluster (gitopsenginecluster_id, clustercredentials_id) values ('ec', 'c2');
insert into gitopsengineinstance (gitopsengineinstance_id, namespace_name, namespace_uid, enginecluster_id) values ('ei', 'argocd', 'uid', 'ec');
insert into managedenvironment (managedenvironment_id, name, clustercredentials_id) values ('me', 'stage', 'c1');
insert into clusteruser (clusteruser_id, user_name) values ('u', 'uid-of-shop');
insert into appprojectmanagedenvironment (appproject_managedenv_id, clusteruser_id, managed_environment_id) values ('p1', 'u', 'me'), ('p2', 'u', 'me');
insert into application (application_id, name, spec_field, engine_instance_inst_id, managed_environment_id) values ('app', 'gitopsdepl-1', 'spec: {}', 'ei', 'me');
insert into operation (operation_id, instance_id, resource_id, operation_owner_user_id, resource_type, created_on, last_state_update, state)
  values ('op', 'ei', 'app', 'u', 'Application', '2023-01-02 03:04:05.678901+00:00:00', '2023-01-02 03:04:05+00:00:00', 'In_Progress');
insert into repositorycredentials (repositorycredentials_id, repo_cred_user_id, repo_cred_url, repo_cred_pass, repo_cred_secret, repo_cred_engine_id)
  values ('rc', 'u', 'https://git.example/x', 'hunter2', 'repo-cred-rc', 'ei');
";

async fn managed_gitops_database() -> TestDatabase {
    let database = TestDatabase::postgres();
    database.execute_sql(MANAGED_GITOPS_SCHEMA).await;
    database.execute_sql(ROWS).await;
    database
}

#[tokio::test]
async fn guarantees_rows_of_managed_gitops_are_kept() {
    let database = managed_gitops_database().await;
    let ledger = database.open(Sealer::with_keys(&key(1)).unwrap()).await;
    let plan = ledger.plan_migration().await.unwrap();
    assert_eq!((&plan.schema, plan.steps.len(), plan.credentials), (&SchemaState::Adoptable { version: 20 }, 8, 5));
    assert_eq!(ledger.migrate().await.unwrap(), plan);
    assert!(ledger.migrate().await.unwrap().is_empty());

    let operation: Operation = ledger.get(&RowKey::from("op")).await.unwrap().unwrap();
    assert_eq!(operation.created_on.unix_us, 1_672_628_645_678_901);
    assert_eq!((operation.human_readable_state, operation.gc_expiration_s), (None, None));
    let credentials: ClusterCredentials = ledger.get(&RowKey::from("c1")).await.unwrap().unwrap();
    assert_eq!(credentials.bearer_token.unwrap().expose(), "tok");
    // Of the duplicate permission, the first row is kept.
    let permissions: Vec<AppProjectManagedEnvironment> = ledger.list(&Filter::all()).await.unwrap();
    assert_eq!(permissions.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["p1"]);
    // Programs of managed-gitops check this version when they start.
    assert_eq!(database.query_text("select version::text from schema_migrations where not dirty").await.unwrap(), "20");
    assert!(
        database.query_text("select repo_cred_pass from repositorycredentials").await.unwrap().starts_with("swb1:k1:")
    );
}

#[tokio::test]
async fn credentials_of_managed_gitops_stay_in_plaintext_without_a_key() {
    let database = managed_gitops_database().await;
    let ledger = database.ready().await;
    let row: RepositoryCredentials = ledger.get(&RowKey::from("rc")).await.unwrap().unwrap();
    assert_eq!(row.password.unwrap().expose(), "hunter2");
    assert_eq!(database.query_text("select repo_cred_pass from repositorycredentials").await.unwrap(), "hunter2");
}

#[tokio::test]
async fn an_older_or_dirty_managed_gitops_schema_is_left_alone() {
    let database = managed_gitops_database().await;
    let ledger = database.open(Sealer::plain()).await;
    database.execute_sql("update schema_migrations set version = 19").await;
    assert!(matches!(ledger.migrate().await.unwrap_err(), MigrationError::UnsupportedVersion { found: 19, .. }));
    database.execute_sql("update schema_migrations set version = 20, dirty = true").await;
    assert!(matches!(ledger.migrate().await.unwrap_err(), MigrationError::Dirty { version: 20, .. }));
    database
        .execute_sql("update schema_migrations set dirty = false; alter table operation drop column gc_expiration_time")
        .await;
    let error = ledger.migrate().await.unwrap_err();
    assert_eq!(error.to_string(), "could not use the database: `operation` has no column `gc_expiration_time`");
}

#[tokio::test]
async fn an_adopted_database_is_like_a_new_one() {
    let shape = "select string_agg(concat_ws(' ', table_name, column_name, data_type, character_maximum_length, is_nullable, \
                 column_default), E'\\n' order by table_name, column_name) from information_schema.columns \
                 where table_schema = 'public'";
    let (old, new) = (managed_gitops_database().await, TestDatabase::postgres());
    old.ready().await;
    new.ready().await;
    assert_eq!(old.query_text(shape).await, new.query_text(shape).await);
}

#[tokio::test]
async fn rows_of_other_writers_are_delivered() {
    let database = TestDatabase::postgres();
    let ledger = database.ready().await;
    let mut signals = ledger.changes().await.unwrap();
    database.execute_sql("insert into clusteruser (clusteruser_id, user_name) values ('x', 'x')").await;
    let expected = ChangeEvent::Row { table: "clusteruser".into(), key: "x".into() };
    while !next(&mut signals).await.contains(&expected) {}
}

#[tokio::test]
async fn a_transaction_that_began_first_and_ended_last_is_delivered() {
    let database = TestDatabase::postgres();
    let ledger = database.ready().await;
    let mut signals = ledger.changes().await.unwrap();
    let pool = sqlx::PgPool::connect(&database.url).await.unwrap();
    let mut slow = pool.begin().await.unwrap();
    sqlx::raw_sql("insert into clusteruser (clusteruser_id, user_name) values ('slow', 'slow')")
        .execute(&mut *slow)
        .await
        .unwrap();
    ledger.commit(&[RowChange::insert(&samples::user("fast"))]).await.unwrap();
    let of = |key: &str| ChangeEvent::Row { table: "clusteruser".into(), key: key.into() };
    let mut news = Vec::new();
    while !news.contains(&of("fast")) {
        news.extend(next(&mut signals).await);
    }
    assert!(!news.contains(&of("slow")));
    slow.commit().await.unwrap();
    while !news.contains(&of("slow")) {
        news.extend(next(&mut signals).await);
    }
    assert_eq!(news.iter().filter(|signal| **signal == of("fast")).count(), 1);
}

#[tokio::test]
async fn guarantees_missed_changes_cause_a_resync() {
    let mut server = PostgresServer::start().unwrap();
    let address = Address::parse(&server.database("gitops").unwrap()).unwrap();
    let ledger = Ledger::open(&switchboard_gitops::SCHEMA, &address, Sealer::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    let mut signals = ledger.changes().await.unwrap();
    ledger.commit(&[RowChange::insert(&samples::user("before"))]).await.unwrap();
    next(&mut signals).await;
    for how in ["INT", "QUIT"] {
        server.stop(how);
        let refused = ledger.commit(&[RowChange::insert(&samples::user("lost"))]).await.unwrap_err();
        assert!(matches!(refused, LedgerError::Query { .. } | LedgerError::Timeout { .. }), "{refused}");
        server.restart().unwrap();
        // Written while the listener is disconnected.
        let sql = format!("insert into clusteruser (clusteruser_id, user_name) values ('{how}', '{how}')");
        server.psql("gitops", &sql).unwrap();
        while !next(&mut signals).await.contains(&ChangeEvent::Resync) {}
        // The listener is connected again.
        ledger.commit(&[RowChange::insert(&samples::user(&format!("after-{how}")))]).await.unwrap();
        let expected = ChangeEvent::Row { table: "clusteruser".into(), key: format!("after-{how}") };
        while !next(&mut signals).await.contains(&expected) {}
    }
}

#[tokio::test]
async fn the_certificate_of_a_tls_server_is_verified() {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
    let server = PostgresServer::start_tls(&made.cert.pem(), &made.signing_key.serialize_pem()).unwrap();
    let url = server.database("gitops").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("ca.pem");
    std::fs::write(&trusted, made.cert.pem()).unwrap();
    let open = |parameters: String| {
        let address = Address::parse(&format!("{url}?{parameters}")).unwrap();
        async move { Ledger::open(&switchboard_gitops::SCHEMA, &address, Sealer::plain()).await }
    };
    let ledger = open(format!("sslmode=verify-full&sslrootcert={}", trusted.display())).await.unwrap();
    ledger.migrate().await.unwrap();
    assert!(open("sslmode=verify-full".into()).await.is_err(), "the certificate is not trusted");
    assert!(open("sslmode=disable".into()).await.is_err(), "the server accepts TLS only");
    open("sslmode=require".into()).await.unwrap();
}

/// Columns of a database that the twenty migrations of managed-gitops created, as PostgreSQL lists them.
const MANAGED_GITOPS_COLUMNS: &str = include_str!("managed_gitops_columns.txt");

#[tokio::test]
async fn the_first_step_creates_the_schema_of_managed_gitops() {
    let database = TestDatabase::postgres();
    database.execute_sql(MANAGED_GITOPS_SCHEMA).await;
    let columns = "select string_agg(line, E'\\n' order by line collate \"C\") from (select table_name || ' ' || column_name || ' ' || \
                   data_type || coalesce('(' || character_maximum_length || ')', '') || ' ' || is_nullable || ' ' || \
                   coalesce(regexp_replace(column_default, 'nextval.*', 'serial'), '') as line from information_schema.columns \
                   where table_schema = 'public' and table_name <> 'schema_migrations') as lines";
    let mut recorded: Vec<&str> = MANAGED_GITOPS_COLUMNS.lines().collect();
    recorded.sort_unstable();
    assert_eq!(database.query_text(columns).await.unwrap(), recorded.join("\n"));
}

/// Runs the program of tests/real/ledger, which has the ORM and the column lists of managed-gitops.
fn run_go_reader(server: &PostgresServer, act: &str) -> String {
    let bin = std::env::var_os("SWITCHBOARD_REAL_BIN").expect("run this test with `make test-real`");
    let mut command = std::process::Command::new(std::path::Path::new(&bin).join("ledger-reader"));
    let done = command.arg(act).arg(server.socket()).arg("gitops").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[tokio::test]
async fn the_go_structs_of_managed_gitops_read_and_write_the_database() {
    let server = PostgresServer::start().unwrap();
    let address = Address::parse(&server.database("gitops").unwrap()).unwrap();
    let ledger = Ledger::open(&switchboard_gitops::SCHEMA, &address, Sealer::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    ledger.commit(&samples::all()).await.unwrap();
    let told: serde_json::Value = serde_json::from_str(&run_go_reader(&server, "read")).unwrap();
    assert_eq!(told.as_object().unwrap().len(), 17);
    assert_eq!(told["clusterCredentials"]["Token"], "token-of-a-service-account");
    assert_eq!(told["clusterCredentials"]["ClusterWide"], true);
    assert_eq!(told["operation"]["State"], "Waiting");
    assert_eq!(told["operation"]["Expiration"], 60);
    assert_eq!(told["operation"]["Human"], "");
    // Go reads the written time to the microsecond.
    assert_eq!(told["operation"]["CreatedOn"], "2026-09-21T14:13:20.123456Z");
    assert_eq!(told["repositoryCredentials"]["Password"], "hunter2");
    assert_eq!(told["applicationState"]["Status"], "H4sA");
    assert_eq!(told["apiMapping"]["Name"], "stage");
    assert_eq!(told["deploymentMapping"]["Application"], "app");

    let mut signals = ledger.changes().await.unwrap();
    run_go_reader(&server, "write");
    let expected = ChangeEvent::Row { table: "operation".into(), key: "op2".into() };
    while !next(&mut signals).await.contains(&expected) {}
    let operation: Operation = ledger.get(&RowKey::from("op2")).await.unwrap().unwrap();
    assert_eq!((operation.created_on.unix_us, operation.gc_expiration_s), (1_672_628_645_678_901, None));
    let credentials: ClusterCredentials = ledger.get(&RowKey::from("cc2")).await.unwrap().unwrap();
    assert_eq!((credentials.kube_config, credentials.namespaces, credentials.allow_insecure), (None, None, false));
    let application: Application = ledger.get(&RowKey::from("app2")).await.unwrap().unwrap();
    assert_eq!(application.environment, Some("me2".into()));
    let repository: RepositoryCredentials = ledger.get(&RowKey::from("rc2")).await.unwrap().unwrap();
    assert_eq!(repository.password.unwrap().expose(), "hunter2");
}
