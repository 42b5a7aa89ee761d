//! Responses: pages, JSON and files.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use maud::Markup;
use serde::Serialize;
use switchboard_http::problem::ProblemKind;

use crate::layout::{self, PageLayout};
use crate::pages::error_page;
use crate::problem::ConsoleProblem;

/// Maximum size of an error text of the framework.
const MAX_REFUSAL_BYTES: usize = 16 * 1024;
/// Name of the cookie with the color theme.
const THEME: &str = "theme";

/// Returns a cookie of a request.
pub fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Returns the color theme that the user chose.
pub fn theme(headers: &HeaderMap) -> Option<&'static str> {
    match cookie(headers, THEME) {
        Some("dark") => Some("dark"),
        Some("light") => Some("light"),
        _ => None,
    }
}

/// Returns a page, or an error within its layout.
pub fn page(frame: PageLayout, content: Result<Markup, ConsoleProblem>) -> Response {
    match content {
        Ok(content) => html(StatusCode::OK, &layout::page(&frame, &content)),
        Err(problem) => {
            let frame = PageLayout { title: "Error".to_string(), version: String::new(), ..frame };
            html(problem.status(), &layout::page(&frame, &error_page::error_page(&problem)))
        }
    }
}

/// Returns an error page.
pub fn error_page(problem: &ConsoleProblem) -> Response {
    let frame = PageLayout { title: "Error".to_string(), ..PageLayout::default() };
    html(problem.status(), &layout::page(&frame, &error_page::error_page(problem)))
}

fn html(status: StatusCode, markup: &Markup) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))];
    (status, kind, markup.0.clone()).into_response()
}

/// Returns data as JSON, or an error.
pub fn json<T: Serialize>(data: Result<T, ConsoleProblem>) -> Response {
    match data {
        Ok(data) => axum::Json(data).into_response(),
        Err(error) => problem(&error),
    }
}

/// Returns an error as problem+json.
pub fn problem(problem: &ConsoleProblem) -> Response {
    problem.to_response()
}

/// Converts plain-text errors of the framework to the console's errors.
pub async fn problem_for_bare_errors(response: Response, path: &str) -> Response {
    let bare =
        response.headers().get(header::CONTENT_TYPE).is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    let kind = ProblemKind::ALL.into_iter().find(|kind| kind.status() == response.status());
    let Some(kind) = kind.filter(|_| bare) else { return response };
    let allow = response.headers().get(header::ALLOW).cloned();
    let body = axum::body::to_bytes(response.into_body(), MAX_REFUSAL_BYTES).await;
    let detail = body.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
    let detail = if detail.is_empty() { kind.title().to_string() } else { detail };
    let mut refused = super::error_response(&ConsoleProblem::Rejected(kind, detail), path);
    refused.headers_mut().extend(allow.map(|allow| (header::ALLOW, allow)));
    refused
}

/// Returns a file of this binary. Its name is constant, so browsers revalidate it by its digest.
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
