#![allow(clippy::unwrap_used)]

use http_body_util::BodyExt;
use serde_json::Value;

use super::*;

async fn body(problem: Problem) -> (Response<()>, Value) {
    let (head, body) = problem.into_response().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (Response::from_parts(head, ()), serde_json::from_slice(&bytes).unwrap())
}

use http::Response;

#[tokio::test]
async fn every_kind_says_what_why_and_what_helps() {
    for kind in Kind::ALL {
        let (head, told) = body(Problem::new(kind, "it failed")).await;
        assert_eq!(head.headers()["content-type"], MEDIA_TYPE);
        assert_eq!(told["status"], head.status().as_u16());
        assert_eq!(told["type"], format!("urn:switchboard:problem:{}", kind.word()));
        assert_eq!(told["detail"], "it failed");
        assert!(!told["hint"].as_str().unwrap().is_empty() && !told["title"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn headers_say_how_to_go_on() {
    let (head, _) = body(Problem::new(Kind::Unauthenticated, "who?")).await;
    assert_eq!(head.headers()["www-authenticate"], "Bearer");
    let (head, _) = body(Problem::new(Kind::TooMany, "wait").retry_after_s(0)).await;
    assert_eq!(head.headers()["retry-after"], "1");
}

#[tokio::test]
async fn a_detail_has_an_end() {
    let (_, told) = body(Problem::new(Kind::Invalid, "x".repeat(100_000))).await;
    assert_eq!(told["detail"].as_str().unwrap().chars().count(), MAX_DETAIL_CHARS + 1);
}
