//! News of changes.

use std::time::Duration;

use switchboard_ledger::rows::ClusterUser;
use switchboard_ledger::{Change, Ledger, Row, Signal, Signals};

use crate::base::{Base, on_both};
use crate::samples;

on_both! {
    guarantees_every_change_is_told
    guarantees_no_question_while_nothing_changes
    whoever_stops_waiting_loses_nothing
    a_burst_is_told_whole
    what_another_process_writes_is_told
}

/// No news by then is a failure.
const PATIENCE: Duration = Duration::from_secs(30);

pub async fn next(signals: &mut Signals) -> Vec<Signal> {
    tokio::time::timeout(PATIENCE, signals.next()).await.unwrap()
}

/// Reads news until all of these are told.
async fn told(signals: &mut Signals, mut waited_for: Vec<Signal>) {
    while !waited_for.is_empty() {
        let news = next(signals).await;
        waited_for.retain(|signal| !news.contains(signal));
    }
}

fn changed<R: Row>(row: &R) -> Signal {
    Signal::Changed { table: R::TABLE.name.to_string(), key: row.key().to_string() }
}

async fn add(ledger: &Ledger, id: &str) -> ClusterUser {
    let user = samples::user(id);
    ledger.commit(&[Change::insert(&user)]).await.unwrap();
    user
}

async fn guarantees_every_change_is_told(base: Base) {
    let ledger = base.ready().await;
    let mut signals = ledger.signals().await.unwrap();
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
    told(&mut signals, of_each).await;
    let user = samples::user("u");
    let renamed = ClusterUser { display_name: Some("bakery".into()), ..user.clone() };
    ledger.commit(&[Change::update(&user, &renamed)]).await.unwrap();
    told(&mut signals, vec![changed(&user)]).await;
    ledger.commit(&[Change::delete(&samples::state())]).await.unwrap();
    told(&mut signals, vec![changed(&samples::state())]).await;
}

async fn guarantees_no_question_while_nothing_changes(base: Base) {
    let ledger = base.ready().await;
    let mut signals = ledger.signals().await.unwrap();
    let user = add(&ledger, "v").await;
    told(&mut signals, vec![changed(&user)]).await;
    // What others do on the same server at the same time may have to be waited for; then there is silence.
    let quiet = Duration::from_millis(700);
    let silence = async {
        loop {
            let asked = signals.reads();
            if tokio::time::timeout(quiet, signals.next()).await.is_err() && signals.reads() == asked {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, silence).await.unwrap();
}

async fn whoever_stops_waiting_loses_nothing(base: Base) {
    let ledger = base.ready().await;
    let mut signals = ledger.signals().await.unwrap();
    let mut waited_for = Vec::new();
    for number in 0..20 {
        // Some of these are dropped between the bell and the look.
        let _ = tokio::time::timeout(Duration::from_micros(200 * number), signals.next()).await.map(|news| {
            waited_for.retain(|signal| !news.contains(signal));
        });
        waited_for.push(changed(&add(&ledger, &format!("w{number}")).await));
    }
    told(&mut signals, waited_for).await;
}

async fn a_burst_is_told_whole(base: Base) {
    const ROWS: usize = 2500;
    let ledger = base.ready().await;
    let mut signals = ledger.signals().await.unwrap();
    let users: Vec<ClusterUser> = (0..ROWS).map(|n| samples::user(&format!("b{n}"))).collect();
    ledger.commit(&users.iter().map(Change::insert).collect::<Vec<_>>()).await.unwrap();
    told(&mut signals, users.iter().map(changed).collect()).await;
}

/// Backend and agent may be two processes over one file; nothing is shared between these two but that.
async fn what_another_process_writes_is_told(base: Base) {
    let (ledger, other) = (base.ready().await, base.ready().await);
    let mut signals = ledger.signals().await.unwrap();
    for number in 0..3 {
        let user = add(&other, &format!("o{number}")).await;
        told(&mut signals, vec![changed(&user)]).await;
    }
    let own = add(&ledger, "own").await;
    told(&mut signals, vec![changed(&own)]).await;
}

/// Whoever else uses the server may keep a transaction open for as long as he likes.
#[cfg(feature = "real")]
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_of_another_database_makes_nobody_deaf() {
    const ROWS: usize = 600;
    let (base, other) = (Base::postgres(), Base::postgres());
    let somebody = sqlx::PgPool::connect(&other.url).await.unwrap();
    let mut open = somebody.begin().await.unwrap();
    sqlx::raw_sql("select pg_current_xact_id()").execute(&mut *open).await.unwrap();
    let ledger = base.ready().await;
    let mut signals = ledger.signals().await.unwrap();
    let mut heard = 0;
    for round in 0..4 {
        let users: Vec<ClusterUser> = (0..ROWS).map(|n| samples::user(&format!("d{round}-{n}"))).collect();
        ledger.commit(&users.iter().map(Change::insert).collect::<Vec<_>>()).await.unwrap();
        let mut waited_for: Vec<Signal> = users.iter().map(changed).collect();
        while !waited_for.is_empty() {
            let news = next(&mut signals).await;
            heard += news.len();
            waited_for.retain(|signal| !news.contains(signal));
        }
    }
    assert_eq!(heard, 4 * ROWS, "each is told once");
    open.rollback().await.unwrap();
    let user = add(&ledger, "afterwards").await;
    assert_eq!(next(&mut signals).await, [changed(&user)]);
}

/// A transaction that began first and ends last has a place in the log before all that was told.
#[cfg(feature = "real")]
#[tokio::test(flavor = "multi_thread")]
async fn what_is_committed_late_is_told_as_well() {
    let base = Base::postgres();
    let ledger = base.ready().await;
    let mut signals = ledger.signals().await.unwrap();
    let late = sqlx::PgPool::connect(&base.url).await.unwrap();
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
