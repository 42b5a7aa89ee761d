#![allow(clippy::unwrap_used)]

mod fixture;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use fixture::{CONFIG_MAPS, ResponseFault, WIDGETS, WatchFixture};
use http::{Request, Response};
use kube::client::Body;
use switchboard_cluster::Cluster;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::store::{ObjectStore, StoreLimits};
use tokio::sync::mpsc;

use super::{
    CUSTOM_WATCH_DURATION, MAX_DETECTION_DELAY, RESPONSE_TIMEOUT, SILENCE_TIMEOUT, TableWatch, WATCH_DURATION,
    WatchTimeouts, WatchUpdate,
};
use crate::rate_limiter::RateLimiter;
use crate::resource::{Resource, TableKey};
use crate::topology::ClusterName;

#[tokio::test]
async fn a_kind_is_listed_and_followed() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = WatchFixture::new(&cluster);
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
async fn a_crd_that_is_created_later_and_deleted_is_noticed() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = WatchFixture::new(&cluster);
    // The embedded cluster does not end the watch of a deleted CRD; its maximum duration does.
    fixture.timeouts.duration = Duration::from_secs(1);
    fixture.watch(&WIDGETS);
    fixture.until(|f| f.cache.is_readable(&f.table) && !f.cache.is_served(&f.table)).await;
    fixture.define_widgets().await;
    fixture.until(|f| f.cache.is_served(&f.table)).await;
    fixture.create(&["w"]).await;
    fixture.until_holds(&["w"]).await;
    fixture.drop_widgets().await;
    fixture.until(|f| !f.cache.is_served(&f.table)).await;
    fixture.until_holds(&[]).await;
}

#[tokio::test]
async fn guarantees_a_broken_list_is_restarted() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = WatchFixture::new(&cluster);
    let names: Vec<String> = (0..20).map(|i| format!("o{i:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fixture.create(&names).await;
    fixture.script([ResponseFault::Cut(1_000), ResponseFault::Cut(2_000), ResponseFault::Cut(3_000)]);
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&names).await;
    assert_eq!(fixture.lists_begun, 4);
    assert_eq!(fixture.lost.len(), 3);
}

#[tokio::test]
async fn guarantees_no_change_is_lost_over_disconnects() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = WatchFixture::new(&cluster);
    // The first limit lets the list through; the later ones allow a few events.
    fixture.script(std::iter::once(ResponseFault::Cut(20_000)).chain((0..1_000).map(|_| ResponseFault::Cut(2_500))));
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
async fn an_expired_revision_is_listed_again() {
    let store = ObjectStore::in_memory(StoreLimits { history_changes: 4, ..StoreLimits::default() });
    let cluster = Cluster::with_store(store, ClockAndRng::system()).await;
    let mut fixture = WatchFixture::new(&cluster);
    fixture.create(&["a"]).await;
    fixture.script([ResponseFault::Cut(1_200)]);
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&["a"]).await;
    fixture.script((0..10_000).map(|_| ResponseFault::Broken));
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
    let mut fixture = WatchFixture::new(&cluster);
    let names: Vec<String> = (0..super::LIST_PAGE_OBJECTS + 3).map(|i| format!("o{i:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fixture.create(&names).await;
    fixture.script([ResponseFault::Status(400)]);
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&names).await;
    fixture.delete(names[0]).await;
    fixture.until_holds(&names[1..]).await;
    assert_eq!(fixture.requests(), 4, "refused, two pages, one watch");
    assert_eq!((fixture.lists_begun, fixture.lost.len()), (1, 0));
    assert_eq!(fixture.kinds(), ["ConfigMap"], "items of a list say what they are");
}

#[tokio::test]
async fn errors_are_reported_and_retried() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = WatchFixture::new(&cluster);
    fixture.create(&["a"]).await;
    fixture.script([
        ResponseFault::Status(401),
        ResponseFault::Status(403),
        ResponseFault::Status(503),
        ResponseFault::Broken,
        ResponseFault::Garbage,
    ]);
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&["a"]).await;
    let expected = ["returned 401", "returned 403", "returned 503", "could not reach", "could not parse"];
    assert_eq!(fixture.lost.len(), expected.len(), "{:?}", fixture.lost);
    for (message, part) in fixture.lost.iter().zip(expected) {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn a_silent_connection_is_given_up() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = WatchFixture::new(&cluster);
    fixture.timeouts.silence = Duration::from_millis(100);
    fixture.script([ResponseFault::Silent, ResponseFault::Silent]);
    fixture.create(&["a"]).await;
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&["a"]).await;
    assert_eq!(fixture.lost.len(), 2);
}

/// Like production, but a thousand times faster: first the connection has no events, then requests get no response.
#[tokio::test]
async fn guarantees_a_server_that_stops_responding_is_reported() {
    let timeouts = WatchTimeouts::default();
    assert_eq!((timeouts.silence, timeouts.response), (SILENCE_TIMEOUT, RESPONSE_TIMEOUT));
    assert!(
        MAX_DETECTION_DELAY == SILENCE_TIMEOUT + RESPONSE_TIMEOUT && MAX_DETECTION_DELAY <= Duration::from_secs(90)
    );
    let cluster = Cluster::ephemeral().await;
    let mut fixture = WatchFixture::new(&cluster);
    (fixture.timeouts.silence, fixture.timeouts.response) = (SILENCE_TIMEOUT / 100, RESPONSE_TIMEOUT / 100);
    fixture.create(&["a"]).await;
    fixture.watch(&CONFIG_MAPS);
    fixture.until_holds(&["a"]).await;
    fixture.script([ResponseFault::BlackHole, ResponseFault::BlackHole]);
    fixture.until(|f| f.lost.len() == 2).await;
    let (said, answer) = (fixture.lost.clone(), fixture.timeouts.response);
    assert!(said.iter().all(|why| *why == format!("no response from the API server within {answer:?}")), "{said:?}");
    fixture.create(&["b"]).await;
    fixture.until_holds(&["a", "b"]).await;
    assert_eq!(fixture.lists_begun, 1, "it goes on where it was");
}

/// Lists and watches count as requests: two pages and the requests around them take more than one second.
#[tokio::test]
async fn requests_of_a_watch_pass_the_rate_limiter() {
    let cluster = Cluster::ephemeral().await;
    let mut fixture = WatchFixture::new(&cluster);
    let names: Vec<String> = (0..super::LIST_PAGE_OBJECTS + 3).map(|i| format!("o{i:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fixture.create(&names).await;
    fixture.script([ResponseFault::Status(400)]);
    fixture.rate_limiter = RateLimiter::per_second(2);
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
    let mut fixture = WatchFixture::new(&cluster);
    fixture.watch(&CONFIG_MAPS);
    fixture.until(|f| f.cache.is_readable(&f.table)).await;
    fixture.stop();
    fixture.until_ended().await;
}

#[tokio::test]
async fn a_watch_that_panics_is_reported_and_restarted() {
    async fn broken(_: Request<Body>) -> Result<Response<Body>, Infallible> {
        panic!("this is no request")
    }
    let (sink, mut seen) = mpsc::channel(1);
    let timeouts = WatchTimeouts { retry_max: Duration::from_millis(10), ..WatchTimeouts::default() };
    let table = TableKey { cluster: ClusterName::new("main"), resource: Arc::new(CONFIG_MAPS) };
    let client = kube::Client::new(tower::service_fn(broken), "default");
    let _watch = TableWatch::start(client, table, sink, timeouts, RateLimiter::unlimited());
    for _ in 0..2 {
        let told = tokio::time::timeout(Duration::from_secs(60), seen.recv()).await.expect("told");
        assert!(matches!(told, Some((_, WatchUpdate::Failed { .. }))), "{told:?}");
    }
}

#[test]
fn waits_double_up_to_a_bound() {
    let timeouts = WatchTimeouts::default();
    assert_eq!(timeouts.backoff(1), super::RETRY_MIN);
    assert_eq!(timeouts.backoff(2), super::RETRY_MIN * 2);
    assert_eq!(timeouts.backoff(u32::MAX), super::RETRY_MAX);
}

#[test]
fn the_watch_of_a_custom_kind_is_renewed_sooner() {
    let (timeouts, in_group) = (WatchTimeouts::default(), |group| Resource::namespaced(group, "v1", "Thing", "things"));
    for group in ["", "apps", "batch", "rbac.authorization.k8s.io", "networking.k8s.io"] {
        assert_eq!(timeouts.duration_of(&in_group(group)), WATCH_DURATION, "{group}");
    }
    for group in ["example.com", "gateway.networking.k8s.io", "snapshot.storage.k8s.io"] {
        assert_eq!(timeouts.duration_of(&in_group(group)), CUSTOM_WATCH_DURATION, "{group}");
    }
}
