//! How somebody signs in and out, and comes back to where they were.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;

use crate::access::COOKIE;
use crate::pages::acts;
use crate::piece::escaped;
use crate::problem::Problem;
use crate::server::App;
use crate::server::answer;
use crate::server::routes::frame;

type Shared = State<Arc<App>>;

/// Where somebody goes who came from nowhere.
const HOME: &str = "/";

/// What the forms carry, and what may stand behind the `?`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Given {
    seal: String,
    token: String,
    back: String,
}

/// The paths of it.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/signin", get(page).post(sign_in)).route("/signout", axum::routing::post(sign_out))
}

/// The page to sign in on, for who comes from this one.
pub(crate) fn href(from: &str) -> String {
    format!("/signin?back={}", escaped(from))
}

/// A path of the console itself: whoever signs in is sent to no other site.
fn own(back: &str) -> &str {
    let plain = back.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if back.starts_with('/') && !back.starts_with("//") && plain { back } else { HOME }
}

async fn page(State(app): Shared, headers: HeaderMap, Query(given): Query<Given>) -> Response {
    shown(&app, &headers, None, own(&given.back))
}

fn shown(app: &App, headers: &HeaderMap, wrong: Option<&Problem>, back: &str) -> Response {
    let wrong = wrong.map(ToString::to_string);
    answer::page(frame(app, headers, "", "Sign in", ""), Ok(acts::sign_in(wrong.as_deref(), back)))
}

async fn sign_in(State(app): Shared, headers: HeaderMap, Form(given): Form<Given>) -> Response {
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return answer::trouble(&Problem::Foreign("this form did not come from a page of the console".to_string()));
    }
    let back = own(&given.back);
    match app.gate.sign_in(&given.token).await {
        Ok(id) => sent(format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict"), back),
        Err(problem) => shown(&app, &headers, Some(&problem), back),
    }
}

async fn sign_out(State(app): Shared, headers: HeaderMap, Form(given): Form<Given>) -> Response {
    if let Err(problem) = app.gate.same_origin(&headers, &given.seal) {
        return answer::trouble(&problem);
    }
    app.gate.sign_out(&headers);
    sent(format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"), HOME)
}

fn sent(cookie: String, to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, to.to_string())]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_another_site() {
        for own_path in ["/", "/fleet", "/fleet?q=a%20b", "/operators/greeter"] {
            assert_eq!(own(own_path), own_path);
        }
        for other in
            ["", "fleet", "//evil.example", "/\\evil.example", "https://evil.example", "/a b", "/a\r\nx: y", "/\t/evil"]
        {
            assert_eq!(own(other), HOME, "{other:?}");
        }
        assert_eq!(href("/fleet?q=a&b=c"), "/signin?back=%2Ffleet%3Fq%3Da%26b%3Dc");
    }
}
