#![allow(clippy::unwrap_used)]

mod fixture;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use fixture::{CONFIG_MAPS, Fault, Fixture, WIDGETS};
use http::{Request, Response};
use kube::client::Body;
use switchboard_cluster::Cluster;
use switchboard_cluster::ambient::Ambient;
use switchboard_cluster::store::{Bounds, Store};
use tokio::sync::mpsc;

use super::{ANSWER, CUSTOM_WATCH_LIFE, NOTICED_WITHIN, Pace, SILENCE, Told, WATCH_LIFE, Watch};
use crate::gate::Gate;
use crate::place::ClusterName;
use crate::resource::{Resource, TableKey};

#[tokio::test]
async fn a_kind_is_listed_and_followed() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = Fixture::new(&cluster);
    fixture.create(&["a", "b"]).await;
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&["a", "b"]).await;
    fixture.create(&["c"]).await;
    fixture.delete("a").await;
    fixture.until_holds(&["b", "c"]).await;
    assert_eq!(fixture.lists_begun, 1);
    assert_eq!(fixture.requests(), 1, "the list goes on as the watch");
    assert!(fixture.lost.is_empty());
}

#[tokio::test]
async fn a_definition_that_comes_later_and_goes_is_noticed() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = Fixture::new(&cluster);
    // The embedded cluster does not end the watch of a definition that went; its life does.
    fixture.pace.life = Duration::from_secs(1);
    fixture.watch(&WIDGETS);
    fixture.until(|f| f.cache.knows(&f.table) && !f.cache.serves(&f.table)).await;
    fixture.define_widgets().await;
    fixture.until(|f| f.cache.serves(&f.table)).await;
    fixture.create(&["w"]).await;
    fixture.until_holds(&["w"]).await;
    fixture.drop_widgets().await;
    fixture.until(|f| !f.cache.serves(&f.table)).await;
    fixture.until_holds(&[]).await;
}

#[tokio::test]
async fn guarantees_a_broken_list_begins_anew() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = Fixture::new(&cluster);
    let names: Vec<String> = (0..20).map(|i| format!("o{i:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fixture.create(&names).await;
    fixture.script([Fault::Cut(1_000), Fault::Cut(2_000), Fault::Cut(3_000)]);
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&names).await;
    assert_eq!(fixture.lists_begun, 4);
    assert_eq!(fixture.lost.len(), 3);
}

#[tokio::test]
async fn guarantees_no_change_is_lost_over_disconnects() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = Fixture::new(&cluster);
    // The first lets the list through; then there is room for a few events.
    fixture.script(std::iter::once(Fault::Cut(20_000)).chain((0..1_000).map(|_| Fault::Cut(2_500))));
    fixture.watch(&CONFIG_MAPS);
    let mut left = Vec::new();
    for round in 100..200 {
        let name = format!("o{round}");
        fixture.create(&[&name]).await;
        left.push(name);
        if round % 3 == 0 {
            fixture.delete(&left.remove(0)).await;
        }
        fixture.until_holds(&left.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    assert!(fixture.requests() > 5, "it was cut again and again");
    assert_eq!(fixture.lists_begun, 1, "and always went on where it was");
}

#[tokio::test]
async fn a_forgotten_revision_is_listed_anew() {
    let store = Store::in_memory(Bounds { history_changes: 4, ..Bounds::default() });
    let cluster = Cluster::over(store, Ambient::system()).await;
    let mut fixture = Fixture::new(&cluster);
    fixture.create(&["a"]).await;
    fixture.script([Fault::Cut(1_200)]);
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&["a"]).await;
    fixture.script((0..10_000).map(|_| Fault::Broken));
    fixture.create(&["b", "c", "d", "e", "f"]).await;
    fixture.delete("a").await;
    fixture.until(|f| !f.lost.is_empty()).await;
    fixture.script([]);
    fixture.until_holds(&["b", "c", "d", "e", "f"]).await;
    assert_eq!(fixture.lists_begun, 2);
}

#[tokio::test]
async fn a_server_that_does_not_stream_lists_is_listed_in_pages() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = Fixture::new(&cluster);
    let names: Vec<String> = (0..super::LIST_PAGE_OBJECTS + 3).map(|i| format!("o{i:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fixture.create(&names).await;
    fixture.script([Fault::Status(400)]);
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&names).await;
    fixture.delete(names[0]).await;
    fixture.until_holds(&names[1..]).await;
    assert_eq!(fixture.requests(), 4, "refused, two pages, one watch");
    assert_eq!((fixture.lists_begun, fixture.lost.len()), (1, 0));
    assert_eq!(fixture.kinds(), ["ConfigMap"], "items of a list say what they are");
}

#[tokio::test]
async fn what_stands_in_the_way_is_told_and_tried_again() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = Fixture::new(&cluster);
    fixture.create(&["a"]).await;
    fixture.script([Fault::Status(401), Fault::Status(403), Fault::Status(503), Fault::Broken, Fault::Garbage]);
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&["a"]).await;
    let told = ["answered 401", "answered 403", "answered 503", "cannot be reached", "cannot be read"];
    assert_eq!(fixture.lost.len(), told.len(), "{:?}", fixture.lost);
    for (message, part) in fixture.lost.iter().zip(told) {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn a_silent_connection_is_given_up() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = Fixture::new(&cluster);
    fixture.pace.silence = Duration::from_millis(100);
    fixture.script([Fault::Silent, Fault::Silent]);
    fixture.create(&["a"]).await;
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&["a"]).await;
    assert_eq!(fixture.lost.len(), 2);
}

/// The same as live, a thousand times faster: first nothing comes over the connection that stands, then nobody answers.
#[tokio::test]
async fn guarantees_a_server_that_falls_silent_is_told_of() {
    let pace = Pace::default();
    assert_eq!((pace.silence, pace.answer), (SILENCE, ANSWER));
    assert!(NOTICED_WITHIN == SILENCE + ANSWER && NOTICED_WITHIN <= Duration::from_secs(90));
    let cluster = Cluster::ephemeral().await;
    let mut fixture = Fixture::new(&cluster);
    (fixture.pace.silence, fixture.pace.answer) = (SILENCE / 100, ANSWER / 100);
    fixture.create(&["a"]).await;
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&["a"]).await;
    fixture.script([Fault::BlackHole, Fault::BlackHole]);
    fixture.until(|f| f.lost.len() == 2).await;
    let (said, answer) = (fixture.lost.clone(), fixture.pace.answer);
    assert!(said.iter().all(|why| *why == format!("the API server has not answered for {answer:?}")), "{said:?}");
    fixture.create(&["b"]).await;
    fixture.until_holds(&["a", "b"]).await;
    assert_eq!(fixture.lists_begun, 1, "it goes on where it was");
}

/// Lists and watches are requests like any others: two pages and what comes before and after cannot be had in one second.
#[tokio::test]
async fn requests_of_a_watch_wait_at_the_gate() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = Fixture::new(&cluster);
    let names: Vec<String> = (0..super::LIST_PAGE_OBJECTS + 3).map(|i| format!("o{i:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fixture.create(&names).await;
    fixture.script([Fault::Status(400)]);
    fixture.gate = Gate::of(2);
    let began = std::time::Instant::now();
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&names).await;
    assert!(
        fixture.requests() >= 3 && began.elapsed() >= Duration::from_secs(1),
        "the third waits for the next second"
    );
}

#[tokio::test]
async fn a_dropped_watch_ends() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = Fixture::new(&cluster);
    fixture.watch(&CONFIG_MAPS);
    fixture.until(|f| f.cache.knows(&f.table)).await;
    fixture.stop();
    fixture.until_ended().await;
}

#[tokio::test]
async fn a_watch_that_panics_is_told_of_and_begins_anew() {
    async fn broken(_: Request<Body>) -> Result<Response<Body>, Infallible> {
        panic!("this is no request")
    }
    let (sink, mut seen) = mpsc::channel(1);
    let pace = Pace { retry_max: Duration::from_millis(10), ..Pace::default() };
    let table = TableKey { cluster: ClusterName::new("main"), resource: Arc::new(CONFIG_MAPS) };
    let client = kube::Client::new(tower::service_fn(broken), "default");
    let _watch = Watch::start(client, table, sink, pace, Gate::open());
    for _ in 0..2 {
        let told = tokio::time::timeout(Duration::from_secs(60), seen.recv()).await.expect("told");
        assert!(matches!(told, Some((_, Told::Lost { .. }))), "{told:?}");
    }
}

#[test]
fn waits_double_up_to_a_bound() {
    let pace = Pace::default();
    assert_eq!(pace.after(1), super::RETRY_MIN);
    assert_eq!(pace.after(2), super::RETRY_MIN * 2);
    assert_eq!(pace.after(u32::MAX), super::RETRY_MAX);
}

#[test]
fn the_watch_of_a_kind_that_may_vanish_is_renewed_sooner() {
    let (pace, in_group) = (Pace::default(), |group| Resource::namespaced(group, "v1", "Thing", "things"));
    for group in ["", "apps", "batch", "rbac.authorization.k8s.io", "networking.k8s.io"] {
        assert_eq!(pace.life_of(&in_group(group)), WATCH_LIFE, "{group}");
    }
    for group in ["example.com", "gateway.networking.k8s.io", "snapshot.storage.k8s.io"] {
        assert_eq!(pace.life_of(&in_group(group)), CUSTOM_WATCH_LIFE, "{group}");
    }
}
