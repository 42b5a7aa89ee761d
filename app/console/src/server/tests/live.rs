//! Event streams and their end.

use super::*;

/// Reads events until one contains a text.
async fn heard(body: &mut Body, words: &str) -> bool {
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
async fn who_signed_out_hears_no_more() {
    let town = ConsoleFixture::build().await.opened(Vec::new());
    let rights = json!([{"apiGroups": ["switchboard.dev"], "resources": ["console"], "verbs": ["get"]},
        {"apiGroups": ["switchboard.dev"], "resources": ["operators"], "verbs": ["pause"]}]);
    let (cookie, csrf_token) = town.sign_in(&town.token_with("reader", rights).await).await;
    let request = Request::get("/events").header("Host", "localhost:7467").header("Cookie", &cookie);
    let response = town.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut body = response.into_body();
    assert!(heard(&mut body, "\"version\"").await);
    town.submit("/signout", &cookie, OWN, &format!("csrf_token={csrf_token}")).await;
    assert!(heard(&mut body, "\"ended\":true").await, "the session is over, and so are its news");
    assert!(body.frame().await.is_none(), "that was the last");
}

#[tokio::test]
async fn what_nobody_watches_is_asked_for_again() {
    let town = ConsoleFixture::build().await;
    town.put("secrets", json!({"metadata": {"name": "s"}})).await;
    for path in ["/objects?cluster=main&kind=secrets", "/objects/main/secrets/default/s", "/map"] {
        let page = town.page(path).await;
        assert!(page.contains("data-refresh=\"5\"") && page.contains("data-live"), "{path}");
    }
}
