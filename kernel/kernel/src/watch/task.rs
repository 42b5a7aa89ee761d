//! Task of a watch.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use kube::Client;
use tokio::sync::mpsc;

use super::event::{self, WireEvent};
use super::lines::BodyLines;
use super::response::{self, ListPage, RequestError};
use super::{WatchTimeouts, WatchUpdate};
use crate::cache::TableEvent;
use crate::rate_limiter::RateLimiter;
use crate::resource::TableKey;

/// Reason why a connection ended.
#[derive(Debug)]
pub enum ConnectionEnd {
    /// The server closed it, as it does from time to time.
    Closed,
    /// There were no events before the timeout.
    Silent,
    /// The revision has expired; the kind must be listed again.
    RevisionExpired,
    /// The server does not support streaming lists.
    NoStreaming,
    /// The kind is not served.
    NotServed,
    /// Any other error.
    Failed(String),
    /// The receiver was dropped.
    ReceiverDropped,
}

/// State of a watch between two events.
struct WatchTask {
    client: Client,
    table: TableKey,
    sink: mpsc::Sender<(TableKey, WatchUpdate)>,
    timeouts: WatchTimeouts,
    rate_limiter: RateLimiter,
    /// Revision up to which everything was sent; `None` if a list is due.
    revision: Option<u64>,
    streaming: bool,
    /// Whether the current connection has received an event.
    received: bool,
    /// Whether the cache knows that the kind is not served.
    unserved: bool,
}

/// Watches until the receiver is dropped. If the watch itself panics, it reports that, because units wait for it, and
/// starts again.
pub async fn run(
    client: Client,
    table: TableKey,
    sink: mpsc::Sender<(TableKey, WatchUpdate)>,
    timeouts: WatchTimeouts,
    rate_limiter: RateLimiter,
) {
    loop {
        let watching = watch(client.clone(), table.clone(), sink.clone(), timeouts, rate_limiter.clone());
        if AssertUnwindSafe(watching).catch_unwind().await.is_ok() {
            return;
        }
        let message = "internal error in the watch".to_string();
        if sink.send((table.clone(), WatchUpdate::Failed { message })).await.is_err() {
            return;
        }
        tokio::time::sleep(timeouts.retry_max).await;
    }
}

async fn watch(
    client: Client,
    table: TableKey,
    sink: mpsc::Sender<(TableKey, WatchUpdate)>,
    timeouts: WatchTimeouts,
    rate_limiter: RateLimiter,
) {
    let (revision, streaming, heard, unserved) = (None, true, false, false);
    let mut task =
        WatchTask { client, table, sink, timeouts, rate_limiter, revision, streaming, received: heard, unserved };
    let mut failures = 0;
    loop {
        task.received = false;
        let began = tokio::time::Instant::now();
        let end = task.connect().await.err().unwrap_or(ConnectionEnd::Closed);
        tracing::debug!(table = %task.table.resource, cluster = %task.table.cluster, ?end, "watch ended");
        // A kind without changes has no events; a long connection counts as success too.
        let life = task.timeouts.duration_of(&task.table.resource);
        let stood = began.elapsed() > task.timeouts.retry_max.min(life / 2) && !matches!(end, ConnectionEnd::Failed(_));
        let stood = task.received || stood;
        // A server that does not serve a kind has responded, so the backoff is reset.
        failures = if stood || matches!(end, ConnectionEnd::NotServed) { 0 } else { failures + 1 };
        let mut wait = task.timeouts.backoff(failures);
        let sent = match end {
            ConnectionEnd::ReceiverDropped => return,
            ConnectionEnd::Silent if task.revision.is_none() => {
                let message = format!("no data from the list within {:?}", task.timeouts.silence);
                task.send(WatchUpdate::Failed { message }).await
            }
            ConnectionEnd::Closed | ConnectionEnd::Silent if stood => continue,
            ConnectionEnd::Closed | ConnectionEnd::Silent => Ok(()),
            ConnectionEnd::NoStreaming => {
                task.streaming = false;
                continue;
            }
            ConnectionEnd::RevisionExpired => {
                task.revision = None;
                Ok(())
            }
            ConnectionEnd::NotServed => {
                wait = task.timeouts.unserved_retry;
                task.not_served().await
            }
            ConnectionEnd::Failed(message) => task.send(WatchUpdate::Failed { message }).await,
        };
        if sent.is_err() {
            return;
        }
        // Limits the rate for a server that accepts every connection and closes it at once.
        tokio::time::sleep(wait.max(task.timeouts.retry_min)).await;
    }
}

impl WatchTask {
    /// Opens one connection, with a list or at the last revision.
    async fn connect(&mut self) -> Result<(), ConnectionEnd> {
        if self.revision.is_none() && !self.streaming {
            self.list().await?;
        }
        let life = self.timeouts.duration_of(&self.table.resource).as_secs().max(1);
        let path = self.table.resource.path("");
        let query = format!("watch=true&allowWatchBookmarks=true&timeoutSeconds={life}");
        let from = match self.revision {
            Some(revision) => format!("resourceVersion={revision}"),
            None => "sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_string(),
        };
        self.rate_limiter.acquire().await;
        let answer = response::get(&self.client, &format!("{path}?{query}&{from}"), self.timeouts.response).await;
        if let Err(RequestError::Status(refusal)) = &answer {
            self.rate_limiter.record_status(refusal.code);
        }
        let body = answer.map_err(|refused| match refused {
            RequestError::Status(refusal) if self.revision.is_none() && matches!(refusal.code, 400 | 422) => {
                ConnectionEnd::NoStreaming
            }
            other => other.into(),
        })?;
        self.unserved = false;
        match self.revision {
            // Reports that the connection works again.
            Some(revision) => self.send_event(TableEvent::Progress { revision }).await?,
            None => self.send_event(TableEvent::Begin).await?,
        }
        let mut lines = BodyLines::new(body, self.timeouts.silence);
        while let Some(line) = lines.next().await? {
            let unreadable =
                |error: serde_json::Error| ConnectionEnd::Failed(format!("could not parse an event: {error}"));
            self.event(event::read(&line).map_err(unreadable)?).await?;
        }
        Ok(())
    }

    async fn event(&mut self, event: WireEvent) -> Result<(), ConnectionEnd> {
        match event {
            WireEvent::Put(object) => {
                self.advance(&object);
                self.send_event(TableEvent::Put(object)).await?;
            }
            WireEvent::Remove(object) => {
                self.advance(&object);
                self.send_event(TableEvent::Remove(object)).await?;
            }
            WireEvent::Bookmark(revision, true) => {
                self.send_event(TableEvent::Synced { revision }).await?;
                self.revision = Some(revision);
            }
            // A server that is behind an earlier revision was recreated, and would skip changes until it reaches that
            // revision.
            WireEvent::Bookmark(revision, false) if self.revision.is_some_and(|seen| revision < seen) => {
                return Err(ConnectionEnd::RevisionExpired);
            }
            WireEvent::Bookmark(revision, false) if self.revision.is_some() => {
                self.revision = Some(revision);
                self.send_event(TableEvent::Progress { revision }).await?;
            }
            WireEvent::Error(refusal) => return Err(refusal.connection_end()),
            WireEvent::Bookmark(..) | WireEvent::Other => {}
        }
        self.received = true;
        Ok(())
    }

    /// An incomplete list has no revision to resume from.
    fn advance(&mut self, object: &[u8]) {
        if let Some(seen) = self.revision {
            self.revision = Some(event::revision(object).map_or(seen, |revision| revision.max(seen)));
        }
    }

    /// Lists in pages, for servers without streaming lists.
    async fn list(&mut self) -> Result<(), ConnectionEnd> {
        let mut page = self.page("").await?;
        self.unserved = false;
        self.send_event(TableEvent::Begin).await?;
        loop {
            for item in std::mem::take(&mut page.items) {
                self.send_event(TableEvent::Put(item)).await?;
            }
            if page.next.is_empty() {
                break;
            }
            page = self.page(&page.next).await?;
        }
        let revision = page.revision;
        self.send_event(TableEvent::Synced { revision }).await?;
        (self.revision, self.received) = (Some(revision), true);
        Ok(())
    }

    async fn page(&self, next: &str) -> Result<ListPage, ConnectionEnd> {
        self.rate_limiter.acquire().await;
        response::page(&self.client, &self.table, next, self.timeouts.silence).await
    }

    async fn not_served(&mut self) -> Result<(), ConnectionEnd> {
        self.revision = None;
        if std::mem::replace(&mut self.unserved, true) {
            return Ok(());
        }
        self.send_event(TableEvent::NotServed).await
    }

    async fn send_event(&self, observed: TableEvent) -> Result<(), ConnectionEnd> {
        self.send(WatchUpdate::Event(observed)).await
    }

    async fn send(&self, update: WatchUpdate) -> Result<(), ConnectionEnd> {
        self.sink.send((self.table.clone(), update)).await.map_err(|_| ConnectionEnd::ReceiverDropped)
    }
}
