//! Watches: what is there, then what changes, one JSON line an event.

mod event;

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use switchboard_object::status::Status;
use tokio::time::{Instant, Sleep, sleep_until};

use self::event::Events;
use super::Call;
use super::list::{parse_revision, too_large};
use super::select::Selection;
use crate::answer::Answer;
use crate::request::list::ListOptions;
use crate::request::media::{Encoding, Output};
use crate::store::{Batch, ReadError, Watch};

/// How long a watch lasts when the client does not say; a random part is added, as upstream does.
const MIN_WATCH: Duration = Duration::from_secs(1800);
/// How often a client that wants bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// The last bookmark comes this long before the watch ends.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// Answers with a stream of events.
pub(super) fn watch(call: Call) -> Result<Answer, Status> {
    let output = Output::negotiate(&call.headers)?;
    if output.encoding != Encoding::Json {
        let message = "only the following media types are accepted: application/json;stream=watch";
        return Err(Status::new(406, "NotAcceptable", message));
    }
    let mut options = ListOptions::parse(&call.query)?;
    options.watch = true;
    let selection = Selection::parse(&call, &options)?;
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
    let events = Events::new(&call, output, selection)?;
    let begin = if initial { Begin::State } else { Begin::After(if asked == 0 { current } else { asked }) };
    let mut stopping = call.inner.stopping();
    let stop = Box::pin(async move { drop(stopping.wait_for(|stop| *stop).await) });
    let bookmark = Instant::now();
    let timer = Box::pin(sleep_until(end));
    let (begin, watch) = (Some(begin), None);
    let run = Run { call, events, options, end, begin, watch, skip: 0, bookmark, timer, stop };
    // Boxed, since the state moves with every piece.
    Ok(Answer::stream(200, "application/json", futures::stream::unfold(Box::new(run), Run::next).boxed()))
}

fn duration(call: &Call, options: &ListOptions) -> Duration {
    match options.timeout_seconds {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => {
            let mut random = [0u8; 2];
            call.inner.ambient.fill(&mut random);
            MIN_WATCH + MIN_WATCH.mul_f64(f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX))
        }
    }
}

enum Begin {
    /// With the objects that are there.
    State,
    /// With what changes after a revision.
    After(u64),
}

/// A watch under way.
struct Run {
    call: Call,
    events: Events,
    options: ListOptions,
    end: Instant,
    begin: Option<Begin>,
    watch: Option<Watch>,
    /// Changes up to here are not shown: the client has seen a revision this server has not reached yet.
    skip: u64,
    /// When the last bookmark was sent.
    bookmark: Instant,
    /// Set anew only when its time changes: most steps end with a change.
    timer: Pin<Box<Sleep>>,
    /// Done when the server stops.
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Run {
    /// The next bytes, or the end.
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

    /// What stands at the beginning of the stream.
    fn begin(&mut self, begin: Begin) -> Result<Bytes, Status> {
        let prefix = self.call.prefix();
        let store = &self.call.inner.store;
        match begin {
            Begin::After(revision) => {
                let watch = match store.watch(&prefix, revision) {
                    Err(ReadError::Future { current }) => {
                        self.skip = revision;
                        store.watch(&prefix, current)
                    }
                    other => other,
                };
                self.watch = Some(watch.map_err(|e| refuse(&e, revision))?);
                Ok(Bytes::new())
            }
            Begin::State => {
                let page = store.list(&prefix, None, 0, None).map_err(|e| refuse(&e, 0))?;
                self.watch = Some(store.watch(&prefix, page.revision).map_err(|e| refuse(&e, page.revision))?);
                let mut out = self.events.added(&self.call, &page.records);
                if self.options.bookmarks && self.options.send_initial_events == Some(true) && self.asked_initial() {
                    out.extend_from_slice(&self.events.bookmark(page.revision, true));
                }
                Ok(out.freeze())
            }
        }
    }

    /// Older clients, which only leave the revision away, get no bookmark at the end of the initial events.
    fn asked_initial(&self) -> bool {
        self.call.query.get("sendInitialEvents").is_some()
    }

    /// Waits for the next thing to happen; `None` ends the stream.
    async fn step(&mut self) -> Option<Bytes> {
        let due = self.due();
        if self.timer.deadline() != due {
            self.timer.as_mut().reset(due);
        }
        let watch = self.watch.as_mut()?;
        // In a fixed order, so that a change costs nothing but itself. A stream that always has changes still ends in time:
        // whoever is woken by a change looks at the clock first.
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

    /// When something is due even if nothing changes: the next bookmark, or the end.
    fn due(&self) -> Instant {
        if !self.options.bookmarks {
            return self.end;
        }
        let last_bookmark = self.end.checked_sub(BOOKMARK_BEFORE_END).filter(|at| *at > self.bookmark);
        (self.bookmark + BOOKMARK_EVERY).min(last_bookmark.unwrap_or(self.end))
    }

    fn batch(&mut self, batch: Result<Batch, ReadError>) -> Bytes {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                self.end = Instant::now();
                return event::error(&refuse(&error, self.watch.as_ref().map_or(0, Watch::revision)));
            }
        };
        let Self { events, call, watch, skip, .. } = self;
        let (form, skip) = (events.form().filter(|_| *skip == 0).cloned(), *skip);
        let mut encode = || events.changed(call, batch.changes.iter().filter(|c| c.revision > skip));
        match (form, watch) {
            (Some(form), Some(watch)) => watch.encoded(&batch, &form, encode),
            _ => encode(),
        }
    }

    fn progress(&mut self, batch: Result<Batch, ReadError>) -> Bytes {
        match batch {
            Ok(batch) if batch.changes.is_empty() => self.events.bookmark(batch.revision, false),
            other => self.batch(other),
        }
    }
}

/// Why a watch ends, as an event shows it.
fn refuse(error: &ReadError, asked: u64) -> Status {
    match error {
        ReadError::Compacted { oldest } => Status::expired(format!("too old resource version: {asked} ({oldest})")),
        ReadError::Future { current } => too_large(asked, *current),
        ReadError::Closed => Status::new(503, "ServiceUnavailable", "the server is stopping"),
    }
}
