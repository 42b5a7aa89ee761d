#![allow(clippy::unwrap_used)]

use http_body_util::BodyExt;
use serde_json::Value;

use super::*;

async fn body(problem: ProblemDetails) -> (Response<()>, Value) {
    let (head, body) = problem.into_response().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    (Response::from_parts(head, ()), serde_json::from_slice(&bytes).unwrap())
}

use http::Response;

#[tokio::test]
async fn every_kind_has_a_title_a_code_and_a_hint() {
    for kind in ProblemKind::ALL {
        let (head, told) = body(ProblemDetails::new(kind, "it failed")).await;
        assert_eq!(head.headers()["content-type"], MEDIA_TYPE);
        assert_eq!(told["status"], head.status().as_u16());
        assert_eq!(told["type"], format!("urn:switchboard:problem:{}", kind.code()));
        assert_eq!(told["detail"], "it failed");
        assert!(!told["hint"].as_str().unwrap().is_empty() && !told["title"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn headers_have_the_retry_delay() {
    let (head, _) = body(ProblemDetails::new(ProblemKind::Unauthenticated, "who?")).await;
    assert_eq!(head.headers()["www-authenticate"], "Bearer");
    let (head, _) = body(ProblemDetails::new(ProblemKind::TooMany, "wait").retry_after_s(0)).await;
    assert_eq!(head.headers()["retry-after"], "1");
}

#[tokio::test]
async fn a_long_detail_is_truncated() {
    let (_, told) = body(ProblemDetails::new(ProblemKind::Invalid, "x".repeat(100_000))).await;
    assert_eq!(told["detail"].as_str().unwrap().chars().count(), MAX_DETAIL_CHARS + 1);
}
