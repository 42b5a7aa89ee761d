//! Malformed and hostile requests: each gets a 4xx, and the server keeps running.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use switchboard_cluster::Cluster;
use switchboard_cluster::auth::User;
use tower::ServiceExt;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn send(cluster: &Cluster, method: &str, path: &str, body: impl Into<Bytes>) -> (u16, String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .extension(User::loopback())
        .body(Full::new(body.into()))
        .unwrap();
    let response: Response<_> = cluster.service().oneshot(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8_lossy(&body).into_owned())
}

async fn lives(cluster: &Cluster) {
    assert_eq!(send(cluster, "GET", "/api/v1/namespaces/default", "").await.0, 200);
}

#[tokio::test]
async fn deep_nesting_is_refused() {
    let cluster = Cluster::ephemeral().await;
    for depth in [200, 100_000] {
        let body = format!("{{\"data\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(send(&cluster, "POST", CONFIG_MAPS, body).await.0, 400, "{depth}");
    }
    lives(&cluster).await;
}

#[tokio::test]
async fn a_body_of_more_than_three_mebibytes_is_refused() {
    let cluster = Cluster::ephemeral().await;
    let (code, text) = send(&cluster, "POST", CONFIG_MAPS, vec![b' '; 3 * 1024 * 1024 + 1]).await;
    assert_eq!(code, 413);
    assert!(text.contains("Request entity too large: limit is 3145728"), "{text}");
    lives(&cluster).await;
}

#[tokio::test]
async fn long_paths_queries_and_selectors_are_refused_or_answered() {
    let cluster = Cluster::ephemeral().await;
    assert_eq!(send(&cluster, "GET", &format!("/{}", "a".repeat(20_000)), "").await.0, 414);
    let parameters = "a=b&".repeat(1_000);
    assert_eq!(send(&cluster, "GET", &format!("{CONFIG_MAPS}?{parameters}"), "").await.0, 400);
    let values = (0..5_000).map(|n| format!("v{n}")).collect::<Vec<_>>().join(",");
    let selector = format!("{CONFIG_MAPS}?labelSelector=a%20in%20({values})");
    assert_eq!(send(&cluster, "GET", &selector, "").await.0, 200);
    assert_eq!(send(&cluster, "GET", &format!("{CONFIG_MAPS}?labelSelector=a%20in%20(((("), "").await.0, 400);
    lives(&cluster).await;
}

#[tokio::test]
async fn a_patch_with_too_many_operations_is_refused() {
    let cluster = Cluster::ephemeral().await;
    let made = send(&cluster, "POST", CONFIG_MAPS, r#"{"metadata":{"name":"a"}}"#).await;
    assert_eq!(made.0, 201);
    let operation = r#"{"op":"add","path":"/data","value":{}}"#;
    let body = format!("[{}]", vec![operation; 10_001].join(","));
    let request = Request::builder()
        .method("PATCH")
        .uri(format!("{CONFIG_MAPS}/a"))
        .header("content-type", "application/json-patch+json")
        .extension(User::loopback())
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    assert_eq!(cluster.service().oneshot(request).await.unwrap().status().as_u16(), 413);
    lives(&cluster).await;
}

#[tokio::test]
async fn paths_cannot_escape_their_prefix() {
    let cluster = Cluster::ephemeral().await;
    for path in
        ["/clusters/..%2Fdefault/api/v1/pods", "/clusters/none/api/v1/pods", "/api/v1/namespaces/a%2F..%2Fb/pods/x"]
    {
        assert_eq!(send(&cluster, "GET", path, "").await.0, 404, "{path}");
    }
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9zZWNyZXRzLyJ9";
    assert_eq!(send(&cluster, "GET", &format!("{CONFIG_MAPS}?limit=1&continue={token}"), "").await.0, 400);
}

#[tokio::test]
async fn large_responses_are_compressed_on_request() {
    let cluster = Cluster::ephemeral().await;
    let text = "x".repeat(200_000);
    let body = format!("{{\"metadata\":{{\"name\":\"big\"}},\"data\":{{\"k\":\"{text}\"}}}}");
    assert_eq!(send(&cluster, "POST", CONFIG_MAPS, body).await.0, 201);
    let request = Request::builder()
        .uri(format!("{CONFIG_MAPS}/big"))
        .header("accept-encoding", "gzip")
        .extension(User::loopback())
        .body(Full::new(Bytes::new()))
        .unwrap();
    let response = cluster.service().oneshot(request).await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert!(response.into_body().collect().await.unwrap().to_bytes().len() < 20_000);
}

/// Sends a body of `mebibytes` in frames; returns the code and the number of mebibytes that the server read.
async fn send_body(cluster: &Cluster, mebibytes: usize) -> (u16, usize) {
    let taken = Arc::new(AtomicUsize::new(0));
    let counter = taken.clone();
    let frames = futures::stream::iter((0..mebibytes).map(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        Ok::<_, std::io::Error>(http_body::Frame::data(Bytes::from(vec![b' '; 1 << 20])))
    }));
    let request = Request::builder()
        .method("POST")
        .uri(CONFIG_MAPS)
        .header("content-type", "application/json")
        .extension(User::loopback())
        .body(http_body_util::StreamBody::new(frames))
        .unwrap();
    let code = cluster.service().oneshot(request).await.unwrap().status().as_u16();
    (code, taken.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_client_that_writes_before_it_reads_sees_why_it_was_refused() {
    let cluster = Cluster::ephemeral().await;
    assert_eq!(send_body(&cluster, 20).await, (413, 20), "what is sent is taken, so that the answer is read");
    let (code, taken) = send_body(&cluster, 1_000).await;
    assert!(code == 413 && taken < 100, "{code} after {taken} MiB: a flood is not taken whole");
    lives(&cluster).await;
}
