//! Drivers of the row stores: one task each runs the sessions that the core commands.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Host;
use crate::core::StoreEvent;
use crate::row_cache::{MAX_ROW_CACHE_BYTES, RowCommand};
use crate::store::{RowStore, StoreError, StoreName};

/// Stores with their drivers, which end when this is dropped.
pub(super) struct Stores {
    drivers: BTreeMap<StoreName, StoreDriver>,
    // Bounded by the commands of the core, and one notification per driver.
    events: (EventSender, mpsc::UnboundedReceiver<(StoreName, StoreEvent)>),
}

type EventSender = mpsc::UnboundedSender<(StoreName, StoreEvent)>;

struct StoreDriver {
    store: Arc<dyn RowStore>,
    commands: mpsc::UnboundedSender<RowCommand>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for StoreDriver {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Stores {
    pub fn new() -> Self {
        Self { drivers: BTreeMap::new(), events: mpsc::unbounded_channel() }
    }

    /// Starts the driver of a store.
    pub fn add(&mut self, store: Arc<dyn RowStore>) {
        let (commands, inbox) = mpsc::unbounded_channel();
        let sessions = tokio::spawn(run_sessions(store.clone(), inbox, self.events.0.clone()));
        let listener = tokio::spawn(listen(store.clone(), self.events.0.clone()));
        let driver = StoreDriver { store: store.clone(), commands, tasks: [sessions, listener] };
        self.drivers.insert(store.name().clone(), driver);
    }

    pub fn get(&self, name: &StoreName) -> Option<Arc<dyn RowStore>> {
        self.drivers.get(name).map(|driver| driver.store.clone())
    }

    pub fn send(&self, name: &StoreName, command: RowCommand) {
        if let Some(driver) = self.drivers.get(name) {
            // The driver ends only when this is dropped.
            let _ = driver.commands.send(command);
        }
    }

    pub async fn next(&mut self) -> Option<(StoreName, StoreEvent)> {
        self.events.1.recv().await
    }
}

impl Host {
    /// Adds a store whose rows operators read and write.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn RowStore>) -> Self {
        self.core.add_store(store.name(), MAX_ROW_CACHE_BYTES);
        self.stores.add(store);
        self
    }

    pub(super) fn observe_store(&mut self, store: &StoreName, event: StoreEvent) {
        if let Some(message) = self.core.observe_store(self.clock.now(), store, event) {
            tracing::warn!(%store, "could not read rows of store {store}: {message}");
        }
    }
}

async fn run_sessions(store: Arc<dyn RowStore>, mut inbox: mpsc::UnboundedReceiver<RowCommand>, events: EventSender) {
    let mut session = None;
    while let Some(command) = inbox.recv().await {
        let event = match command {
            RowCommand::End => {
                session = None;
                continue;
            }
            RowCommand::Begin(since) => store.begin(since).await.map(|(log, begun)| {
                session = Some(begun);
                StoreEvent::Opened(log)
            }),
            RowCommand::Fetch(fetch) => match &mut session {
                Some(session) => session.fetch(fetch).await.map(StoreEvent::Fetched),
                None => Err(StoreError("the session has ended".to_string())),
            },
        };
        let event = event.unwrap_or_else(|error| StoreEvent::Failed(error.to_string()));
        if events.send((store.name().clone(), event)).is_err() {
            return;
        }
    }
}

async fn listen(store: Arc<dyn RowStore>, events: EventSender) {
    loop {
        store.changed().await;
        if events.send((store.name().clone(), StoreEvent::Changed)).is_err() {
            return;
        }
    }
}
