//! The life of a watch.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use kube::Client;
use tokio::sync::mpsc;

use super::answer::{self, Page, Refused};
use super::event::{self, Event};
use super::lines::Lines;
use super::{Pace, Told};
use crate::cache::Observed;
use crate::gate::Gate;
use crate::resource::TableKey;

/// Why a connection ended.
#[derive(Debug)]
pub enum End {
    /// The server ended it, as it does from time to time.
    Closed,
    /// Nothing came over it for too long.
    Silent,
    /// The revision is forgotten: list anew.
    Gone,
    /// The server does not know streaming lists.
    NoStreaming,
    /// The kind is not served.
    NotServed,
    /// Anything else.
    Lost(String),
    /// Nobody listens any more.
    Unheard,
}

/// A watch between two events.
struct Task {
    client: Client,
    table: TableKey,
    sink: mpsc::Sender<(TableKey, Told)>,
    pace: Pace,
    gate: Gate,
    /// Everything up to here was told; none when a list is due.
    revision: Option<u64>,
    streaming: bool,
    /// Whether the connection under way has told anything.
    heard: bool,
    /// Whether the cache was told that the kind is not served.
    unserved: bool,
}

/// Watches until nobody listens. Should the watch itself fail, that is told, for others wait for it, and it begins anew.
pub async fn run(client: Client, table: TableKey, sink: mpsc::Sender<(TableKey, Told)>, pace: Pace, gate: Gate) {
    loop {
        let watching = watch(client.clone(), table.clone(), sink.clone(), pace, gate.clone());
        if AssertUnwindSafe(watching).catch_unwind().await.is_ok() {
            return;
        }
        let message = "the kernel itself failed while it read".to_string();
        if sink.send((table.clone(), Told::Lost { message })).await.is_err() {
            return;
        }
        tokio::time::sleep(pace.retry_max).await;
    }
}

async fn watch(client: Client, table: TableKey, sink: mpsc::Sender<(TableKey, Told)>, pace: Pace, gate: Gate) {
    let (revision, streaming, heard, unserved) = (None, true, false, false);
    let mut task = Task { client, table, sink, pace, gate, revision, streaming, heard, unserved };
    let mut failures = 0;
    loop {
        task.heard = false;
        let began = tokio::time::Instant::now();
        let end = task.connect().await.err().unwrap_or(End::Closed);
        tracing::debug!(table = %task.table.resource, cluster = %task.table.cluster, ?end, "watch ended");
        // A quiet kind has nothing to tell; that its connection lasted is as good.
        let life = task.pace.life_of(&task.table.resource);
        let stood = began.elapsed() > task.pace.retry_max.min(life / 2) && !matches!(end, End::Lost(_));
        let stood = task.heard || stood;
        // A server that says it does not serve a kind has answered: when it serves it again, it is not to be waited for long.
        failures = if stood || matches!(end, End::NotServed) { 0 } else { failures + 1 };
        let mut wait = task.pace.after(failures);
        let told = match end {
            End::Unheard => return,
            End::Silent if task.revision.is_none() => {
                let message = format!("the list stopped for {:?}", task.pace.silence);
                task.tell(Told::Lost { message }).await
            }
            End::Closed | End::Silent if stood => continue,
            End::Closed | End::Silent => Ok(()),
            End::NoStreaming => {
                task.streaming = false;
                continue;
            }
            End::Gone => {
                task.revision = None;
                Ok(())
            }
            End::NotServed => {
                wait = task.pace.unserved_retry;
                task.not_served().await
            }
            End::Lost(message) => task.tell(Told::Lost { message }).await,
        };
        if told.is_err() {
            return;
        }
        // Also a server that takes every connection and ends it at once is asked no faster than this.
        tokio::time::sleep(wait.max(task.pace.retry_min)).await;
    }
}

impl Task {
    /// One connection, from the list or from where the last one ended.
    async fn connect(&mut self) -> Result<(), End> {
        if self.revision.is_none() && !self.streaming {
            self.list().await?;
        }
        let life = self.pace.life_of(&self.table.resource).as_secs().max(1);
        let path = self.table.resource.path("");
        let query = format!("watch=true&allowWatchBookmarks=true&timeoutSeconds={life}");
        let from = match self.revision {
            Some(revision) => format!("resourceVersion={revision}"),
            None => "sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_string(),
        };
        self.gate.pass().await;
        let answer = answer::get(&self.client, &format!("{path}?{query}&{from}"), self.pace.answer).await;
        let body = answer.map_err(|refused| match refused {
            Refused::Status(refusal) if self.revision.is_none() && matches!(refusal.code, 400 | 422) => {
                End::NoStreaming
            }
            other => other.into(),
        })?;
        self.unserved = false;
        match self.revision {
            // Says that the connection stands again.
            Some(revision) => self.observed(Observed::Progress { revision }).await?,
            None => self.observed(Observed::Begin).await?,
        }
        let mut lines = Lines::new(body, self.pace.silence);
        while let Some(line) = lines.next().await? {
            let unreadable = |error: serde_json::Error| End::Lost(format!("an event cannot be read: {error}"));
            self.event(event::read(&line).map_err(unreadable)?).await?;
        }
        Ok(())
    }

    async fn event(&mut self, event: Event) -> Result<(), End> {
        match event {
            Event::Put(object) => {
                self.advance(&object);
                self.observed(Observed::Put(object)).await?;
            }
            Event::Remove(object) => {
                self.advance(&object);
                self.observed(Observed::Remove(object)).await?;
            }
            Event::Bookmark(revision, true) => {
                self.observed(Observed::Synced { revision }).await?;
                self.revision = Some(revision);
            }
            // A server that has not reached what was seen long ago was set up anew; it would hide its changes until then.
            Event::Bookmark(revision, false) if self.revision.is_some_and(|seen| revision < seen) => {
                return Err(End::Gone);
            }
            Event::Bookmark(revision, false) if self.revision.is_some() => {
                self.revision = Some(revision);
                self.observed(Observed::Progress { revision }).await?;
            }
            Event::Refused(refusal) => return Err(refusal.end()),
            Event::Bookmark(..) | Event::Other => {}
        }
        self.heard = true;
        Ok(())
    }

    /// While a list comes in there is nothing to resume from.
    fn advance(&mut self, object: &[u8]) {
        if let Some(seen) = self.revision {
            self.revision = Some(event::revision(object).map_or(seen, |revision| revision.max(seen)));
        }
    }

    /// A list in pages, for servers that do not stream them.
    async fn list(&mut self) -> Result<(), End> {
        let mut page = self.page("").await?;
        self.unserved = false;
        self.observed(Observed::Begin).await?;
        loop {
            for item in std::mem::take(&mut page.items) {
                self.observed(Observed::Put(item)).await?;
            }
            if page.next.is_empty() {
                break;
            }
            page = self.page(&page.next).await?;
        }
        let revision = page.revision;
        self.observed(Observed::Synced { revision }).await?;
        (self.revision, self.heard) = (Some(revision), true);
        Ok(())
    }

    async fn page(&self, next: &str) -> Result<Page, End> {
        self.gate.pass().await;
        answer::page(&self.client, &self.table, next, self.pace.silence).await
    }

    async fn not_served(&mut self) -> Result<(), End> {
        self.revision = None;
        if std::mem::replace(&mut self.unserved, true) {
            return Ok(());
        }
        self.observed(Observed::NotServed).await
    }

    async fn observed(&self, observed: Observed) -> Result<(), End> {
        self.tell(Told::Observed(observed)).await
    }

    async fn tell(&self, told: Told) -> Result<(), End> {
        self.sink.send((self.table.clone(), told)).await.map_err(|_| End::Unheard)
    }
}
