//! What only PostgreSQL has: databases of the original, other processes that write, a server that goes away, TLS.

use switchboard_ledger::migration::{Found, MigrationError};
use switchboard_ledger::rows::*;
use switchboard_ledger::server::Server;
use switchboard_ledger::{Address, Change, Filter, Key, Ledger, LedgerError, Sealing, Signal};

use crate::base::{Base, key};
use crate::samples;
use crate::signals::next;

/// The tables as the original leaves them, its own note of its version included.
const ORIGINAL: &str = include_str!("../../migrations/postgres/0001_original.sql");

/// Rows as its driver writes them: empty texts as NULL, all that has a default left out.
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

async fn original() -> Base {
    let base = Base::postgres();
    base.raw(ORIGINAL).await;
    base.raw(ROWS).await;
    base
}

#[tokio::test]
async fn guarantees_rows_of_the_original_are_kept() {
    let base = original().await;
    let ledger = base.open(Sealing::with_keys(&key(1)).unwrap()).await;
    let plan = ledger.plan_migration().await.unwrap();
    assert_eq!((&plan.found, plan.steps.len(), plan.credentials), (&Found::Original, 6, 5));
    assert_eq!(ledger.migrate().await.unwrap(), plan);
    assert!(ledger.migrate().await.unwrap().is_empty());

    let operation: Operation = ledger.get(&Key::from("op")).await.unwrap().unwrap();
    assert_eq!(operation.created_on.unix_us, 1_672_628_645_678_901);
    assert_eq!((operation.human_readable_state, operation.gc_expiration_s), (None, None));
    let credentials: ClusterCredentials = ledger.get(&Key::from("c1")).await.unwrap().unwrap();
    assert_eq!(credentials.bearer_token.unwrap().expose(), "tok");
    // The permission that was there twice is there once, and it is the first.
    let permissions: Vec<AppProjectManagedEnvironment> = ledger.list(&Filter::all()).await.unwrap();
    assert_eq!(permissions.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["p1"]);
    // Its programs look here at their start and must find what they left.
    assert_eq!(base.stored("select version::text from schema_migrations where not dirty").await.unwrap(), "20");
    assert!(base.stored("select repo_cred_pass from repositorycredentials").await.unwrap().starts_with("swb1:k1:"));
}

#[tokio::test]
async fn credentials_of_the_original_stay_in_clear_when_asked_for() {
    let base = original().await;
    let ledger = base.ready().await;
    let row: RepositoryCredentials = ledger.get(&Key::from("rc")).await.unwrap().unwrap();
    assert_eq!(row.password.unwrap().expose(), "hunter2");
    assert_eq!(base.stored("select repo_cred_pass from repositorycredentials").await.unwrap(), "hunter2");
}

#[tokio::test]
async fn an_older_or_broken_original_is_left_alone() {
    let base = original().await;
    let ledger = base.open(Sealing::plain()).await;
    base.raw("update schema_migrations set version = 19").await;
    assert!(matches!(ledger.migrate().await.unwrap_err(), MigrationError::OldOriginal(19)));
    base.raw("update schema_migrations set version = 20, dirty = true").await;
    assert!(matches!(ledger.migrate().await.unwrap_err(), MigrationError::Dirty(20)));
    base.raw("update schema_migrations set dirty = false; alter table operation drop column gc_expiration_time").await;
    let error = ledger.migrate().await.unwrap_err();
    assert_eq!(error.to_string(), "could not use the database: `operation` has no column `gc_expiration_time`");
}

#[tokio::test]
async fn a_database_that_was_taken_over_is_like_a_new_one() {
    let shape = "select string_agg(concat_ws(' ', table_name, column_name, data_type, character_maximum_length, is_nullable, \
                 column_default), E'\\n' order by table_name, column_name) from information_schema.columns \
                 where table_schema = 'public'";
    let (old, new) = (original().await, Base::postgres());
    old.ready().await;
    new.ready().await;
    assert_eq!(old.stored(shape).await, new.stored(shape).await);
}

#[tokio::test]
async fn rows_that_others_write_are_told() {
    let base = Base::postgres();
    let ledger = base.ready().await;
    let mut signals = ledger.signals().await.unwrap();
    base.raw("insert into clusteruser (clusteruser_id, user_name) values ('x', 'x')").await;
    let expected = Signal::Changed { table: "clusteruser".into(), key: "x".into() };
    while !next(&mut signals).await.contains(&expected) {}
}

#[tokio::test]
async fn a_transaction_that_began_first_and_ended_last_is_told() {
    let base = Base::postgres();
    let ledger = base.ready().await;
    let mut signals = ledger.signals().await.unwrap();
    let pool = sqlx::PgPool::connect(&base.url).await.unwrap();
    let mut slow = pool.begin().await.unwrap();
    sqlx::raw_sql("insert into clusteruser (clusteruser_id, user_name) values ('slow', 'slow')")
        .execute(&mut *slow)
        .await
        .unwrap();
    ledger.commit(&[Change::insert(&samples::user("fast"))]).await.unwrap();
    let of = |key: &str| Signal::Changed { table: "clusteruser".into(), key: key.into() };
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
async fn guarantees_what_was_missed_is_told() {
    let mut server = Server::start().unwrap();
    let address = Address::parse(&server.database("gitops").unwrap()).unwrap();
    let ledger = Ledger::open(&address, Sealing::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    let mut signals = ledger.signals().await.unwrap();
    ledger.commit(&[Change::insert(&samples::user("before"))]).await.unwrap();
    next(&mut signals).await;
    for how in ["INT", "QUIT"] {
        server.stop(how);
        let refused = ledger.commit(&[Change::insert(&samples::user("lost"))]).await.unwrap_err();
        assert!(matches!(refused, LedgerError::Query { .. } | LedgerError::Late { .. }), "{refused}");
        server.up().unwrap();
        // Written while nobody listened.
        let sql = format!("insert into clusteruser (clusteruser_id, user_name) values ('{how}', '{how}')");
        server.psql("gitops", &sql).unwrap();
        while !next(&mut signals).await.contains(&Signal::Everything) {}
        // And it listens again.
        ledger.commit(&[Change::insert(&samples::user(&format!("after-{how}")))]).await.unwrap();
        let expected = Signal::Changed { table: "clusteruser".into(), key: format!("after-{how}") };
        while !next(&mut signals).await.contains(&expected) {}
    }
}

#[tokio::test]
async fn a_server_that_speaks_tls_is_checked() {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
    let server = Server::start_tls(&made.cert.pem(), &made.signing_key.serialize_pem()).unwrap();
    let url = server.database("gitops").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("ca.pem");
    std::fs::write(&trusted, made.cert.pem()).unwrap();
    let open = |parameters: String| {
        let address = Address::parse(&format!("{url}?{parameters}")).unwrap();
        async move { Ledger::open(&address, Sealing::plain()).await }
    };
    let ledger = open(format!("sslmode=verify-full&sslrootcert={}", trusted.display())).await.unwrap();
    ledger.migrate().await.unwrap();
    assert!(open("sslmode=verify-full".into()).await.is_err(), "nobody vouches for it");
    assert!(open("sslmode=disable".into()).await.is_err(), "it takes TLS only");
    open("sslmode=require".into()).await.unwrap();
}

/// The columns of a database that the original's own twenty migrations made, as PostgreSQL lists them.
const COLUMNS: &str = include_str!("original.txt");

#[tokio::test]
async fn the_first_step_makes_what_the_original_makes() {
    let base = Base::postgres();
    base.raw(ORIGINAL).await;
    let columns = "select string_agg(line, E'\\n' order by line collate \"C\") from (select table_name || ' ' || column_name || ' ' || \
                   data_type || coalesce('(' || character_maximum_length || ')', '') || ' ' || is_nullable || ' ' || \
                   coalesce(regexp_replace(column_default, 'nextval.*', 'serial'), '') as line from information_schema.columns \
                   where table_schema = 'public' and table_name <> 'schema_migrations') as lines";
    let mut recorded: Vec<&str> = COLUMNS.lines().collect();
    recorded.sort_unstable();
    assert_eq!(base.stored(columns).await.unwrap(), recorded.join("\n"));
}

/// The program of tests/real/ledger: the original's ORM with its column lists.
fn go(server: &Server, act: &str) -> String {
    let bin = std::env::var_os("SWITCHBOARD_REAL_BIN")
        .expect("`make test-real` says where tests/real/build put its programs");
    let mut command = std::process::Command::new(std::path::Path::new(&bin).join("ledger-reader"));
    let done = command.arg(act).arg(server.socket()).arg("gitops").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[tokio::test]
async fn the_originals_structs_read_and_write_our_database() {
    let server = Server::start().unwrap();
    let address = Address::parse(&server.database("gitops").unwrap()).unwrap();
    let ledger = Ledger::open(&address, Sealing::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    ledger.commit(&samples::all()).await.unwrap();
    let told: serde_json::Value = serde_json::from_str(&go(&server, "read")).unwrap();
    assert_eq!(told.as_object().unwrap().len(), 17);
    assert_eq!(told["clusterCredentials"]["Token"], "token-of-a-service-account");
    assert_eq!(told["clusterCredentials"]["ClusterWide"], true);
    assert_eq!(told["operation"]["State"], "Waiting");
    assert_eq!(told["operation"]["Expiration"], 60);
    assert_eq!(told["operation"]["Human"], "");
    // What it reads is the moment that was written, to the microsecond.
    assert_eq!(told["operation"]["CreatedOn"], "2026-09-21T14:13:20.123456Z");
    assert_eq!(told["repositoryCredentials"]["Password"], "hunter2");
    assert_eq!(told["applicationState"]["Status"], "H4sA");
    assert_eq!(told["apiMapping"]["Name"], "stage");
    assert_eq!(told["deploymentMapping"]["Application"], "app");

    let mut signals = ledger.signals().await.unwrap();
    go(&server, "write");
    let expected = Signal::Changed { table: "operation".into(), key: "op2".into() };
    while !next(&mut signals).await.contains(&expected) {}
    let operation: Operation = ledger.get(&Key::from("op2")).await.unwrap().unwrap();
    assert_eq!((operation.created_on.unix_us, operation.gc_expiration_s), (1_672_628_645_678_901, None));
    let credentials: ClusterCredentials = ledger.get(&Key::from("cc2")).await.unwrap().unwrap();
    assert_eq!((credentials.kube_config, credentials.namespaces, credentials.allow_insecure), (None, None, false));
    let application: Application = ledger.get(&Key::from("app2")).await.unwrap().unwrap();
    assert_eq!(application.environment, Some("me2".into()));
    let repository: RepositoryCredentials = ledger.get(&Key::from("rc2")).await.unwrap().unwrap();
    assert_eq!(repository.password.unwrap().expose(), "hunter2");
}
