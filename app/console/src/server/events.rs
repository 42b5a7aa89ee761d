//! Server-sent events for open pages.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use http::HeaderMap;
use serde_json::json;
use tokio::time::Instant;

use super::App;
use crate::problem::ConsoleProblem;
use crate::{access, state_cache};

/// Poll interval of the state for a page.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Maximum interval between events; a longer silence means that the server is gone.
const BEAT_EVERY: Duration = Duration::from_secs(2);

/// Streams the version of the data on every change and at intervals, and ends when the user may no longer read.
pub async fn events(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Ok(place) = app.listeners.clone().try_acquire_owned() else {
        return super::response::problem(&ConsoleProblem::TooMany("too many open pages".to_string()));
    };
    let begin = (app, place, headers, String::new(), None::<Instant>, false);
    let news = stream::unfold(begin, |(app, place, headers, last, sent, over)| async move {
        if over {
            return None;
        }
        let say = |data: serde_json::Value| Ok::<_, Infallible>(Event::default().event("pulse").data(data.to_string()));
        loop {
            let (version, now) = match app.source.state().await {
                Ok(state) => (state_cache::version(&state), state.now.to_string()),
                Err(_) => return Some((say(json!({"stopped": true})), (app, place, headers, last, sent, true))),
            };
            if version != last || sent.is_none_or(|sent| sent.elapsed() >= BEAT_EVERY) {
                // The stream ends for a signed-out user or a revoked token.
                if access::authorize_read(&app, &headers).await.is_err() {
                    return Some((say(json!({"ended": true})), (app, place, headers, last, sent, true)));
                }
                let data = json!({"version": version, "now": now});
                return Some((say(data), (app, place, headers, version, Some(Instant::now()), false)));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    });
    Sse::new(news).into_response()
}
