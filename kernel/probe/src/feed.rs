//! Delivery of watch events to the operator: makes views stale, and loses or merges events.
//!
//! ```text
//!  cluster ──changes──▶ ready ──one at a time──▶ core
//!                  └──▶ held (one kind, from the event of the fault on) ──▶ delayed, merged, or replaced by a list
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use switchboard_cluster::store::StoreChange;
use switchboard_kernel::cache::TableEvent;
use switchboard_kernel::resource::TableKey;
use switchboard_kernel::timestamp::Timestamp;

use crate::fault::{Fault, FaultKind, FaultPart};
use crate::run_cluster::{self, RunCluster, ScriptError};

/// Maximum time for which events are held, in virtual time. The kernel does not run a unit on a view older than its own
/// writes, but only for ten seconds: a longer window would test what the kernel does not guarantee.
pub const WINDOW_MS: u64 = 5_000;

struct FeedEvent {
    key: Arc<str>,
    event: TableEvent,
}

/// Held events of one kind.
struct HeldEvents {
    table: TableKey,
    part: FaultPart,
    events: Vec<FeedEvent>,
    since: Timestamp,
}

impl HeldEvents {
    /// Whether the events are due to be released.
    fn is_full(&self) -> bool {
        let wanted = if self.part.kind == FaultKind::MissEvent { self.part.times } else { self.part.times + 1 };
        self.events.len() >= wanted as usize
    }
}

/// Events that are not delivered yet.
pub struct EventFeed {
    /// Watched kinds, and whether the API server served them at the last check.
    watched: BTreeMap<TableKey, bool>,
    ready: VecDeque<(TableKey, Vec<TableEvent>)>,
    held: Option<HeldEvents>,
    fault: Option<FaultPart>,
    events: u32,
}

impl EventFeed {
    pub fn with_fault(fault: &Fault) -> Self {
        let fault = fault.parts().iter().find(|part| FaultKind::EVENTS.contains(&part.kind)).copied();
        Self { watched: BTreeMap::new(), ready: VecDeque::new(), held: None, fault, events: 0 }
    }

    /// Returns the number of events so far.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// Drops all watches and undelivered events after a crash.
    pub fn forget(&mut self) {
        self.watched.clear();
        self.ready.clear();
        self.held = None;
    }

    /// Starts to watch a kind, and returns the events of its list.
    pub fn watch(&mut self, table: &TableKey, cluster: &RunCluster) -> Result<Vec<TableEvent>, ScriptError> {
        self.watched.insert(table.clone(), cluster.serves(&table.resource));
        cluster.list(table)
    }

    pub fn unwatch(&mut self, table: &TableKey) {
        self.watched.remove(table);
        self.ready.retain(|(other, _)| other != table);
        self.held = self.held.take().filter(|held| held.table != *table);
    }

    /// Adds the events of written changes.
    pub fn add_changes(
        &mut self,
        now: Timestamp,
        changes: &[Arc<StoreChange>],
        cluster: &RunCluster,
    ) -> Result<(), ScriptError> {
        let tables: Vec<TableKey> = self.watched.keys().cloned().collect();
        for change in changes {
            for table in &tables {
                if let Some(observed) = run_cluster::event_for(&table.resource, change)? {
                    self.push(now, table, FeedEvent { key: change.key.as_str().into(), event: observed }, cluster)?;
                }
            }
        }
        if changes.iter().any(|change| run_cluster::defines_kinds(change)) {
            self.relist_changed_kinds(cluster)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        now: Timestamp,
        table: &TableKey,
        event: FeedEvent,
        cluster: &RunCluster,
    ) -> Result<(), ScriptError> {
        self.events += 1;
        if let Some(part) = self.fault.take_if(|part| part.at <= self.events) {
            self.held = Some(HeldEvents { table: table.clone(), part, events: Vec::new(), since: now });
        }
        match &mut self.held {
            Some(held) if held.table == *table => {
                held.events.push(event);
                if held.is_full() {
                    self.release(cluster)?;
                }
            }
            _ => self.ready.push_back((table.clone(), vec![event.event])),
        }
        Ok(())
    }

    /// Lists kinds that are newly served, and empties those that are no longer served.
    fn relist_changed_kinds(&mut self, cluster: &RunCluster) -> Result<(), ScriptError> {
        for (table, served) in &mut self.watched {
            let now = cluster.serves(&table.resource);
            if now != *served {
                *served = now;
                self.ready.push_back((table.clone(), cluster.list(table)?));
            }
        }
        Ok(())
    }

    /// Returns the time until which events are held; `None` if there are none.
    pub fn held_until(&self) -> Option<Timestamp> {
        self.held.as_ref().map(|held| Timestamp(held.since.0 + WINDOW_MS))
    }

    /// Releases the held events as the fault defines.
    pub fn release(&mut self, cluster: &RunCluster) -> Result<(), ScriptError> {
        let Some(HeldEvents { table, part, events, .. }) = self.held.take() else { return Ok(()) };
        match part.kind {
            FaultKind::MissEvent => self.ready.push_back((table.clone(), cluster.list(&table)?)),
            FaultKind::MergeEvent => {
                let is_last = |at: usize| events[at + 1..].iter().all(|later| later.key != events[at].key);
                let last = (0..events.len()).filter(|at| is_last(*at)).map(|at| events[at].event.clone());
                self.ready.push_back((table, last.collect()));
            }
            _ => self.ready.extend(events.into_iter().map(|event| (table.clone(), vec![event.event]))),
        }
        Ok(())
    }

    /// Returns the next events to deliver together.
    pub fn next(&mut self) -> Option<(TableKey, Vec<TableEvent>)> {
        self.ready.pop_front()
    }
}
