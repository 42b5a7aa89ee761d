//! Answers: pages, JSON, files.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use maud::Markup;
use serde::Serialize;
use switchboard_rest::problem::Kind;

use crate::frame::{self, Frame};
use crate::pages::trouble;
use crate::problem::Problem;

/// The longest refusal of the framework that is passed on.
const MAX_REFUSAL_BYTES: usize = 16 * 1024;
/// The name of the cookie with the colours.
const THEME: &str = "theme";

/// A cookie of a request.
pub fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The colours a reader chose.
pub fn theme(headers: &HeaderMap) -> Option<&'static str> {
    match cookie(headers, THEME) {
        Some("dark") => Some("dark"),
        Some("light") => Some("light"),
        _ => None,
    }
}

/// A page, or what stands in its way.
pub fn page(frame: Frame, content: Result<Markup, Problem>) -> Response {
    match content {
        Ok(content) => html(StatusCode::OK, &frame::page(&frame, &content)),
        Err(problem) => {
            let frame = Frame { title: "Trouble".to_string(), version: String::new(), ..frame };
            html(problem.status(), &frame::page(&frame, &trouble::trouble(&problem)))
        }
    }
}

/// A problem as a page of its own.
pub fn trouble(problem: &Problem) -> Response {
    let frame = Frame { title: "Trouble".to_string(), ..Frame::default() };
    html(problem.status(), &frame::page(&frame, &trouble::trouble(problem)))
}

fn html(status: StatusCode, markup: &Markup) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))];
    (status, kind, markup.0.clone()).into_response()
}

/// Data, or what stands in its way.
pub fn json<T: Serialize>(data: Result<T, Problem>) -> Response {
    match data {
        Ok(data) => axum::Json(data).into_response(),
        Err(error) => problem(&error),
    }
}

/// A problem for programs.
pub fn problem(problem: &Problem) -> Response {
    problem.told()
}

/// What the framework refuses by itself, it says as bare text: that becomes a problem as all others are.
pub async fn shaped(response: Response, path: &str) -> Response {
    let bare =
        response.headers().get(header::CONTENT_TYPE).is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    let kind = Kind::ALL.into_iter().find(|kind| kind.status() == response.status());
    let Some(kind) = kind.filter(|_| bare) else { return response };
    let allow = response.headers().get(header::ALLOW).cloned();
    let body = axum::body::to_bytes(response.into_body(), MAX_REFUSAL_BYTES).await;
    let said = body.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
    let said = if said.is_empty() { kind.title().to_string() } else { said };
    let mut refused = super::refuse(&Problem::Refused(kind, said), path);
    refused.headers_mut().extend(allow.map(|allow| (header::ALLOW, allow)));
    refused
}

/// A file that comes with the binary. Its name does not change with it, so it is asked for anew, by its digest.
pub fn file(kind: &'static str, text: &'static str, headers: &HeaderMap) -> Response {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let tag: String = digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let headers = [
        (header::CONTENT_TYPE, kind.to_string()),
        (header::ETAG, tag),
        (header::CACHE_CONTROL, "no-cache".to_string()),
    ];
    if known { (StatusCode::NOT_MODIFIED, headers, "").into_response() } else { (headers, text).into_response() }
}
