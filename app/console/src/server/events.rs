//! News for pages that are open, as server-sent events.

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
use crate::problem::Problem;
use crate::{guard, pulse};

/// How often the kernel is looked at for each page.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a page hears something, even if nothing changed: silence means that nobody is there.
const BEAT_EVERY: Duration = Duration::from_secs(2);

/// Says which version of everything there is, whenever it changes and every now and then; and when the reader is none any more.
pub async fn events(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Ok(place) = app.listeners.clone().try_acquire_owned() else {
        return super::answer::problem(&Problem::Full("too many pages are listening".to_string()));
    };
    let begin = (app, place, headers, String::new(), None::<Instant>, false);
    let news = stream::unfold(begin, |(app, place, headers, last, told, over)| async move {
        if over {
            return None;
        }
        let say = |data: serde_json::Value| Ok::<_, Infallible>(Event::default().event("pulse").data(data.to_string()));
        loop {
            let (version, now) = match app.source.state().await {
                Ok(state) => (pulse::version(&state), state.now.to_string()),
                Err(_) => return Some((say(json!({"stopped": true})), (app, place, headers, last, told, true))),
            };
            if version != last || told.is_none_or(|told| told.elapsed() >= BEAT_EVERY) {
                // Who signed out meanwhile, or whose token was taken back, hears no more.
                if guard::reads(&app, &headers).await.is_err() {
                    return Some((say(json!({"ended": true})), (app, place, headers, last, told, true)));
                }
                let data = json!({"version": version, "now": now});
                return Some((say(data), (app, place, headers, version, Some(Instant::now()), false)));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    });
    Sse::new(news).into_response()
}
