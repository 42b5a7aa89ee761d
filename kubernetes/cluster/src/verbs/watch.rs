//! Watches: the existing objects, then changes, one JSON line per event.

mod event;

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use switchboard_object::status::Status;
use tokio::time::{Instant, Sleep, sleep_until};

use self::event::EventEncoder;
use super::ApiCall;
use super::list::{parse_revision, too_large};
use super::list_selector::ListSelector;
use crate::request::list::ListOptions;
use crate::request::media::{Encoding, ResponseFormat};
use crate::response::ApiResponse;
use crate::store::{ChangeBatch, ReadError, StoreWatch};

/// Duration of a watch without a timeout. A random part is added, as in kube-apiserver.
const MIN_WATCH: Duration = Duration::from_secs(1800);
/// Interval of bookmarks.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// Time between the last bookmark and the end of the watch.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// Responds with a stream of events.
pub(super) fn watch(call: ApiCall) -> Result<ApiResponse, Status> {
    let output = ResponseFormat::negotiate(&call.headers)?;
    if output.encoding != Encoding::Json {
        let message = "only the following media types are accepted: application/json;stream=watch";
        return Err(Status::new(406, "NotAcceptable", message));
    }
    let mut options = ListOptions::parse(&call.query)?;
    options.watch = true;
    let selection = ListSelector::parse(&call, &options)?;
    let asked = match options.resource_version.as_str() {
        "" => 0,
        text => parse_revision(text).map_err(|why| Status::new(500, "", why.to_string()))?,
    };
    let current = call.inner.store.revision();
    let initial = options.send_initial_events.unwrap_or(asked == 0);
    if initial && asked > current {
        return Err(too_large(asked, current));
    }
    let end = Instant::now() + duration(&call, &options);
    let events = EventEncoder::new(&call, output, selection)?;
    let begin = if initial { WatchStart::State } else { WatchStart::After(if asked == 0 { current } else { asked }) };
    let mut stopping = call.inner.stopping();
    let stop = Box::pin(async move { drop(stopping.wait_for(|stop| *stop).await) });
    let bookmark = Instant::now();
    let timer = Box::pin(sleep_until(end));
    let (begin, watch) = (Some(begin), None);
    let run = WatchRun { call, events, options, end, begin, watch, skip: 0, bookmark, timer, stop };
    // Boxed, because the state moves with every event.
    Ok(ApiResponse::stream(200, "application/json", futures::stream::unfold(Box::new(run), WatchRun::next).boxed()))
}

fn duration(call: &ApiCall, options: &ListOptions) -> Duration {
    match options.timeout_seconds {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => {
            let mut random = [0u8; 2];
            call.inner.clock_and_rng.fill(&mut random);
            MIN_WATCH + MIN_WATCH.mul_f64(f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX))
        }
    }
}

enum WatchStart {
    /// With the existing objects.
    State,
    /// With the changes after a revision.
    After(u64),
}

/// Running watch.
struct WatchRun {
    call: ApiCall,
    events: EventEncoder,
    options: ListOptions,
    end: Instant,
    begin: Option<WatchStart>,
    watch: Option<StoreWatch>,
    /// Revision up to which changes are not sent: the client has seen a revision that this server has not reached.
    skip: u64,
    /// Time of the last bookmark.
    bookmark: Instant,
    /// Reset only when its time changes, because most steps end with a change.
    timer: Pin<Box<Sleep>>,
    /// Completes when the server stops.
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl WatchRun {
    /// Returns the next bytes, or `None` at the end.
    async fn next(mut self: Box<Self>) -> Option<(Bytes, Box<Self>)> {
        if let Some(begin) = self.begin.take() {
            let first = self.begin(begin);
            match first {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Some((bytes, self)),
                Err(status) => {
                    self.end = Instant::now();
                    return Some((event::error(&status), self));
                }
            }
        }
        loop {
            let bytes = self.step().await?;
            if !bytes.is_empty() {
                return Some((bytes, self));
            }
        }
    }

    /// Returns the beginning of the stream.
    fn begin(&mut self, begin: WatchStart) -> Result<Bytes, Status> {
        let prefix = self.call.prefix();
        let store = &self.call.inner.store;
        match begin {
            WatchStart::After(revision) => {
                let watch = match store.watch(&prefix, revision) {
                    Err(ReadError::Future { current }) => {
                        self.skip = revision;
                        store.watch(&prefix, current)
                    }
                    other => other,
                };
                self.watch = Some(watch.map_err(|e| error_status(&e, revision))?);
                Ok(Bytes::new())
            }
            WatchStart::State => {
                let page = store.list(&prefix, None, 0, None).map_err(|e| error_status(&e, 0))?;
                self.watch = Some(store.watch(&prefix, page.revision).map_err(|e| error_status(&e, page.revision))?);
                let mut out = self.events.added(&self.call, &page.records);
                if self.options.bookmarks
                    && self.options.send_initial_events == Some(true)
                    && self.requested_initial_events()
                {
                    out.extend_from_slice(&self.events.bookmark(page.revision, true));
                }
                Ok(out.freeze())
            }
        }
    }

    /// Whether the client requested initial events. Older clients, which only omit the revision, get no bookmark at
    /// their end.
    fn requested_initial_events(&self) -> bool {
        self.call.query.get("sendInitialEvents").is_some()
    }

    /// Waits for the next event; `None` ends the stream.
    async fn step(&mut self) -> Option<Bytes> {
        let due = self.next_deadline();
        if self.timer.deadline() != due {
            self.timer.as_mut().reset(due);
        }
        let watch = self.watch.as_mut()?;
        // The order is fixed, so that a change costs nothing extra. A stream with permanent changes still ends in time,
        // because the clock is checked first after each notification.
        if Instant::now() >= self.end || *self.call.inner.stopping().borrow() {
            return None;
        }
        tokio::select! {
            biased;
            batch = watch.next() => Some(self.batch(batch)),
            () = &mut self.stop => None,
            () = &mut self.timer => {
                let now = Instant::now();
                if now >= self.end {
                    return None;
                }
                self.bookmark = now;
                let progress = self.watch.as_mut()?.progress();
                Some(self.progress(progress))
            }
        }
    }

    /// Returns the time of the next action without changes: a bookmark, or the end.
    fn next_deadline(&self) -> Instant {
        if !self.options.bookmarks {
            return self.end;
        }
        let last_bookmark = self.end.checked_sub(BOOKMARK_BEFORE_END).filter(|at| *at > self.bookmark);
        (self.bookmark + BOOKMARK_EVERY).min(last_bookmark.unwrap_or(self.end))
    }

    fn batch(&mut self, batch: Result<ChangeBatch, ReadError>) -> Bytes {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                self.end = Instant::now();
                return event::error(&error_status(&error, self.watch.as_ref().map_or(0, StoreWatch::revision)));
            }
        };
        let Self { events, call, watch, skip, .. } = self;
        let (form, skip) = (events.form().filter(|_| *skip == 0).cloned(), *skip);
        let mut encode = || events.changed(call, batch.changes.iter().filter(|c| c.revision > skip));
        match (form, watch) {
            (Some(form), Some(watch)) => watch.shared_encoding(&batch, &form, encode),
            _ => encode(),
        }
    }

    fn progress(&mut self, batch: Result<ChangeBatch, ReadError>) -> Bytes {
        match batch {
            Ok(batch) if batch.changes.is_empty() => self.events.bookmark(batch.revision, false),
            other => self.batch(other),
        }
    }
}

/// Returns the Status of the event that ends a watch.
fn error_status(error: &ReadError, asked: u64) -> Status {
    match error {
        ReadError::Compacted { oldest } => Status::expired(format!("too old resource version: {asked} ({oldest})")),
        ReadError::Future { current } => too_large(asked, *current),
        ReadError::Closed => Status::new(503, "ServiceUnavailable", "the server is stopping"),
    }
}
