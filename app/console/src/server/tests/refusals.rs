//! Errors have the format of their part of the console, no matter which layer raises them.

use super::*;

async fn sent(console: &ConsoleFixture, request: http::request::Builder, body: &str) -> (StatusCode, String, String) {
    let request = request.header("Host", "localhost:7467").body(Body::from(body.to_string())).unwrap();
    let response = console.router.clone().oneshot(request).await.unwrap();
    let kind =
        response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_string();
    let (status, bytes) = (response.status(), response.into_body().collect().await.unwrap().to_bytes());
    (status, kind, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn api_errors_are_documented_problems() {
    let console = ConsoleFixture::build().await;
    let token = console.token("reconciler", &["reconcile"]).await;
    let act = || Request::post("/api/v1/actions/reconcile").header("Authorization", format!("Bearer {token}"));
    let json_body = || act().header("Content-Type", "application/json");
    for (request, body, word) in [
        (Request::get("/api/v1/decisions?page=x"), "", "malformed"),
        (Request::get("/api/v1/operators/stranger"), "", "not-found"),
        (Request::get("/api/v1/operators/%FF"), "", "malformed"),
        (Request::get("/api/v1/nowhere"), "", "not-found"),
        (Request::delete("/api/v1/state"), "", "method-not-allowed"),
        (json_body(), "{", "malformed"),
        (json_body(), "{\"operator\": 7}", "invalid"),
        (act(), "operator=greeter", "unsupported-media-type"),
    ] {
        let (status, kind, text) = sent(&console, request, body).await;
        assert_eq!(kind, "application/problem+json", "{word}: {status} {text}");
        let problem: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(problem["type"], format!("urn:switchboard:problem:{word}"), "{text}");
        assert_eq!(problem["status"], status.as_u16(), "{text}");
        assert!(problem["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{text}");
    }
}

#[tokio::test]
async fn page_errors_are_pages() {
    let console = ConsoleFixture::build().await;
    for request in [Request::get("/decisions?page=x"), Request::delete("/fleet"), Request::post("/signout")] {
        let (status, kind, text) = sent(&console, request, "").await;
        assert!(status.is_client_error() && kind.starts_with("text/html"), "{status} {kind}");
        assert!(text.contains("hint: ") && text.contains("Overview"), "{text}");
    }
}

#[tokio::test]
async fn too_many_live_pages_get_retry_after() {
    let console = ConsoleFixture::build().await;
    let listen = async || {
        let request = Request::get("/events").header("Host", "localhost:7467").body(Body::empty()).unwrap();
        console.router.clone().oneshot(request).await.unwrap()
    };
    let (first, second) = (listen().await, listen().await);
    assert_eq!((first.status(), second.status()), (StatusCode::OK, StatusCode::OK));
    let full = listen().await;
    assert_eq!(full.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(full.headers()["content-type"], "application/problem+json");
    assert!(full.headers().contains_key("retry-after"));
}
