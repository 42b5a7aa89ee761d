//! Change streams.

use std::time::Duration;

use switchboard_gitops::rows::ClusterUser;
use switchboard_sql::{ChangeEvent, ChangeStream, Ledger, Row, RowChange};

use crate::database::{TestDatabase, on_both};
use crate::samples;

on_both! {
    guarantees_every_change_is_delivered
    guarantees_no_query_while_nothing_changes
    a_cancelled_wait_loses_no_change
    a_burst_is_delivered_completely
    writes_of_another_process_are_delivered
}

/// Deadline for a change to arrive.
const DEADLINE: Duration = Duration::from_secs(30);

pub async fn next(signals: &mut ChangeStream) -> Vec<ChangeEvent> {
    tokio::time::timeout(DEADLINE, signals.next()).await.unwrap()
}

/// Reads changes until all of these have arrived.
async fn wait_for(signals: &mut ChangeStream, mut waited_for: Vec<ChangeEvent>) {
    while !waited_for.is_empty() {
        let news = next(signals).await;
        waited_for.retain(|signal| !news.contains(signal));
    }
}

fn changed<R: Row>(row: &R) -> ChangeEvent {
    ChangeEvent::Row { table: R::TABLE.name.to_string(), key: row.key().to_string() }
}

async fn add(ledger: &Ledger, id: &str) -> ClusterUser {
    let user = samples::user(id);
    ledger.commit(&[RowChange::insert(&user)]).await.unwrap();
    user
}

async fn guarantees_every_change_is_delivered(database: TestDatabase) {
    let ledger = database.ready().await;
    let mut signals = ledger.changes().await.unwrap();
    ledger.commit(&samples::all()).await.unwrap();
    let of_each = vec![
        changed(&samples::credentials("cc")),
        changed(&samples::engine_cluster()),
        changed(&samples::instance()),
        changed(&samples::environment()),
        changed(&samples::user("u")),
        changed(&samples::access()),
        changed(&samples::operation("op")),
        changed(&samples::application("app")),
        changed(&samples::state()),
        changed(&samples::deployment()),
        changed(&samples::kubernetes()),
        changed(&samples::api()),
        changed(&samples::sync()),
        changed(&samples::repository()),
        changed(&samples::project_repository()),
        changed(&samples::project_environment()),
        changed(&samples::owner()),
    ];
    wait_for(&mut signals, of_each).await;
    let user = samples::user("u");
    let renamed = ClusterUser { display_name: Some("bakery".into()), ..user.clone() };
    ledger.commit(&[RowChange::update(&user, &renamed)]).await.unwrap();
    wait_for(&mut signals, vec![changed(&user)]).await;
    ledger.commit(&[RowChange::delete(&samples::state())]).await.unwrap();
    wait_for(&mut signals, vec![changed(&samples::state())]).await;
}

async fn guarantees_no_query_while_nothing_changes(database: TestDatabase) {
    let ledger = database.ready().await;
    let mut signals = ledger.changes().await.unwrap();
    let user = add(&ledger, "v").await;
    wait_for(&mut signals, vec![changed(&user)]).await;
    // Other activity on the server may cause reads for a while; then there must be none.
    let quiet = Duration::from_millis(700);
    let silence = async {
        loop {
            let asked = signals.reads();
            if tokio::time::timeout(quiet, signals.next()).await.is_err() && signals.reads() == asked {
                break;
            }
        }
    };
    tokio::time::timeout(DEADLINE, silence).await.unwrap();
}

async fn a_cancelled_wait_loses_no_change(database: TestDatabase) {
    let ledger = database.ready().await;
    let mut signals = ledger.changes().await.unwrap();
    let mut waited_for = Vec::new();
    for number in 0..20 {
        // Some of these calls are cancelled between the notification and the read.
        let _ = tokio::time::timeout(Duration::from_micros(200 * number), signals.next()).await.map(|news| {
            waited_for.retain(|signal| !news.contains(signal));
        });
        waited_for.push(changed(&add(&ledger, &format!("w{number}")).await));
    }
    wait_for(&mut signals, waited_for).await;
}

async fn a_burst_is_delivered_completely(database: TestDatabase) {
    const ROWS: usize = 2500;
    let ledger = database.ready().await;
    let mut signals = ledger.changes().await.unwrap();
    let users: Vec<ClusterUser> = (0..ROWS).map(|n| samples::user(&format!("b{n}"))).collect();
    ledger.commit(&users.iter().map(RowChange::insert).collect::<Vec<_>>()).await.unwrap();
    wait_for(&mut signals, users.iter().map(changed).collect()).await;
}

/// Backend and agent may be two processes that share only the database file.
async fn writes_of_another_process_are_delivered(database: TestDatabase) {
    let (ledger, other) = (database.ready().await, database.ready().await);
    let mut signals = ledger.changes().await.unwrap();
    for number in 0..3 {
        let user = add(&other, &format!("o{number}")).await;
        wait_for(&mut signals, vec![changed(&user)]).await;
    }
    let own = add(&ledger, "own").await;
    wait_for(&mut signals, vec![changed(&own)]).await;
}

/// Another client of the server may keep a transaction open for any time.
#[cfg(feature = "real")]
#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_of_another_database_delays_no_change() {
    const ROWS: usize = 600;
    let (database, other) = (TestDatabase::postgres(), TestDatabase::postgres());
    let other_client = sqlx::PgPool::connect(&other.url).await.unwrap();
    let mut open = other_client.begin().await.unwrap();
    sqlx::raw_sql("select pg_current_xact_id()").execute(&mut *open).await.unwrap();
    let ledger = database.ready().await;
    let mut signals = ledger.changes().await.unwrap();
    let mut heard = 0;
    for round in 0..4 {
        let users: Vec<ClusterUser> = (0..ROWS).map(|n| samples::user(&format!("d{round}-{n}"))).collect();
        ledger.commit(&users.iter().map(RowChange::insert).collect::<Vec<_>>()).await.unwrap();
        let mut waited_for: Vec<ChangeEvent> = users.iter().map(changed).collect();
        while !waited_for.is_empty() {
            let news = next(&mut signals).await;
            heard += news.len();
            waited_for.retain(|signal| !news.contains(signal));
        }
    }
    assert_eq!(heard, 4 * ROWS, "each change is delivered once");
    open.rollback().await.unwrap();
    let user = add(&ledger, "afterwards").await;
    assert_eq!(next(&mut signals).await, [changed(&user)]);
}

/// A transaction that began first and ends last is before all delivered changes in the log.
#[cfg(feature = "real")]
#[tokio::test(flavor = "multi_thread")]
async fn a_late_commit_is_delivered() {
    let database = TestDatabase::postgres();
    let ledger = database.ready().await;
    let mut signals = ledger.changes().await.unwrap();
    let late = sqlx::PgPool::connect(&database.url).await.unwrap();
    let mut open = late.begin().await.unwrap();
    let insert = "insert into clusteruser (clusteruser_id, user_name) values ('late', 'late')";
    sqlx::raw_sql(insert).execute(&mut *open).await.unwrap();
    for number in 0..3 {
        let user = add(&ledger, &format!("l{number}")).await;
        assert_eq!(next(&mut signals).await, [changed(&user)]);
    }
    open.commit().await.unwrap();
    assert_eq!(next(&mut signals).await, [changed(&samples::user("late"))]);
}
