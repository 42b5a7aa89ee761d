//! Sign-in and sign-out, with a redirect back to the previous page.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;

use crate::access::COOKIE;
use crate::components::percent_encode;
use crate::pages::actions;
use crate::problem::ConsoleProblem;
use crate::server::response;
use crate::server::routes::frame;
use crate::server::{App, SharedApp};

/// Default target of the redirect.
const HOME: &str = "/";

/// Fields of the forms and the query.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LoginForm {
    csrf_token: String,
    token: String,
    back: String,
}

/// Returns the routes.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/signin", get(page).post(sign_in)).route("/signout", axum::routing::post(sign_out))
}

/// Returns the link to the sign-in page with a path to return to.
pub(crate) fn href(from: &str) -> String {
    format!("/signin?back={}", percent_encode(from))
}

/// Returns the path if it belongs to the console; a sign-in must not redirect to another site.
fn safe_target(back: &str) -> &str {
    let plain = back.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if back.starts_with('/') && !back.starts_with("//") && plain { back } else { HOME }
}

async fn page(State(app): SharedApp, headers: HeaderMap, Query(given): Query<LoginForm>) -> Response {
    login_page(&app, &headers, None, safe_target(&given.back))
}

fn login_page(app: &App, headers: &HeaderMap, wrong: Option<&ConsoleProblem>, back: &str) -> Response {
    let wrong = wrong.map(ToString::to_string);
    response::page(frame(app, headers, "", "Sign in", ""), Ok(actions::sign_in(wrong.as_deref(), back)))
}

async fn sign_in(State(app): SharedApp, headers: HeaderMap, Form(given): Form<LoginForm>) -> Response {
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return response::error_page(&ConsoleProblem::ForeignSite(
            "the form was not sent from a page of the console".to_string(),
        ));
    }
    let back = safe_target(&given.back);
    match app.sessions.sign_in(&given.token).await {
        Ok(id) => redirect_with_cookie(format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict"), back),
        Err(problem) => login_page(&app, &headers, Some(&problem), back),
    }
}

async fn sign_out(State(app): SharedApp, headers: HeaderMap, Form(given): Form<LoginForm>) -> Response {
    if let Err(problem) = app.sessions.check_same_origin(&headers, &given.csrf_token) {
        return response::error_page(&problem);
    }
    app.sessions.sign_out(&headers);
    redirect_with_cookie(format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"), HOME)
}

fn redirect_with_cookie(cookie: String, to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, to.to_string())]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_stays_on_this_site() {
        for own_path in ["/", "/fleet", "/fleet?q=a%20b", "/operators/greeter"] {
            assert_eq!(safe_target(own_path), own_path);
        }
        for other in
            ["", "fleet", "//evil.example", "/\\evil.example", "https://evil.example", "/a b", "/a\r\nx: y", "/\t/evil"]
        {
            assert_eq!(safe_target(other), HOME, "{other:?}");
        }
        assert_eq!(href("/fleet?q=a&b=c"), "/signin?back=%2Ffleet%3Fq%3Da%26b%3Dc");
    }
}
