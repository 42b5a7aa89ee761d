//! Event streams and their end.

use super::*;

/// Reads events until one contains a text.
async fn received(body: &mut Body, words: &str) -> bool {
    let read = async {
        let mut all = String::new();
        while let Some(Ok(frame)) = body.frame().await {
            all.push_str(&String::from_utf8_lossy(frame.data_ref().map(|data| data.as_ref()).unwrap_or_default()));
            if all.contains(words) {
                return true;
            }
        }
        false
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap_or_default()
}

#[tokio::test]
async fn sign_out_ends_live_updates() {
    let console = ConsoleFixture::build().await.opened(Vec::new());
    let rights = json!([{"apiGroups": ["switchboard.dev"], "resources": ["console"], "verbs": ["get"]},
        {"apiGroups": ["switchboard.dev"], "resources": ["operators"], "verbs": ["pause"]}]);
    let (cookie, csrf_token) = console.sign_in(&console.token_with("reader", rights).await).await;
    let request = Request::get("/events").header("Host", "localhost:7467").header("Cookie", &cookie);
    let response = console.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut body = response.into_body();
    assert!(received(&mut body, "\"version\"").await);
    console.submit("/signout", &cookie, OWN, &format!("csrf_token={csrf_token}")).await;
    assert!(received(&mut body, "\"ended\":true").await, "the session is over, and so are its news");
    assert!(body.frame().await.is_none(), "that was the last");
}

#[tokio::test]
async fn unwatched_kinds_are_polled() {
    let console = ConsoleFixture::build().await;
    console.put("secrets", json!({"metadata": {"name": "s"}})).await;
    for path in ["/objects?cluster=main&kind=secrets", "/objects/main/secrets/default/s", "/map"] {
        let page = console.page(path).await;
        assert!(page.contains("data-refresh=\"5\"") && page.contains("data-live"), "{path}");
    }
}
