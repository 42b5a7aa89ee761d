//! News for pages that are open, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use http::StatusCode;
use serde_json::json;
use tokio::time::Instant;

use super::App;
use crate::pulse;

/// How often the kernel is looked at for each page.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a page hears something, even if nothing changed: silence means that nobody is there.
const BEAT_EVERY: Duration = Duration::from_secs(2);

/// Says which version of everything there is, whenever it changes and every now and then.
pub async fn events(State(app): State<Arc<App>>) -> Response {
    let Ok(place) = app.listeners.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, [("Retry-After", "10")], "too many pages are listening")
            .into_response();
    };
    let begin = (app, place, String::new(), None::<Instant>, false);
    let news = stream::unfold(begin, |(app, place, last, told, over)| async move {
        if over {
            return None;
        }
        loop {
            let (version, now) = match app.source.state().await {
                Ok(state) => (pulse::version(&state), state.now.to_string()),
                Err(_) => {
                    let event = Event::default().event("pulse").data(json!({"stopped": true}).to_string());
                    return Some((Ok::<_, Infallible>(event), (app, place, last, told, true)));
                }
            };
            if version != last || told.is_none_or(|told| told.elapsed() >= BEAT_EVERY) {
                let data = json!({"version": version, "now": now}).to_string();
                let event = Event::default().event("pulse").data(data);
                return Some((Ok(event), (app, place, version, Some(Instant::now()), false)));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    });
    Sse::new(news).into_response()
}
