//! What the operator's watches are told, when: here views become stale, events are missed and merged.
//!
//! ```text
//!  cluster ──changes──▶ ready ──one at a time──▶ core
//!                  └──▶ held (one kind, from the event that the fault names) ──▶ later, less, or as a new list
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use switchboard_cluster::store::Change;
use switchboard_kernel::cache::Observed;
use switchboard_kernel::moment::Moment;
use switchboard_kernel::resource::TableKey;

use crate::fault::{Fault, Kind, Part};
use crate::world::{self, Trouble, World};

/// How long events are held at most, by the clock of the run. The kernel does not let a unit run on a view that is older than
/// its own writes, but for ten seconds only: a window that is longer would test what nobody promises.
pub const WINDOW_MS: u64 = 5_000;

struct Event {
    key: Arc<str>,
    observed: Observed,
}

/// The events of one kind that are held back.
struct Held {
    table: TableKey,
    part: Part,
    events: Vec<Event>,
    since: Moment,
}

impl Held {
    /// Whether so many are held that it is time to tell.
    fn is_full(&self) -> bool {
        let wanted = if self.part.kind == Kind::MissEvent { self.part.times } else { self.part.times + 1 };
        self.events.len() >= wanted as usize
    }
}

/// What is still to be told.
pub struct Feed {
    /// The kinds that are watched, and whether the API server served them when last looked at.
    watched: BTreeMap<TableKey, bool>,
    ready: VecDeque<(TableKey, Vec<Observed>)>,
    held: Option<Held>,
    fault: Option<Part>,
    events: u32,
}

impl Feed {
    pub fn under(fault: &Fault) -> Self {
        let fault = fault.parts().iter().find(|part| Kind::EVENTS.contains(&part.kind)).copied();
        Self { watched: BTreeMap::new(), ready: VecDeque::new(), held: None, fault, events: 0 }
    }

    /// How many events there were so far.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// The process died: nobody watches, and what was to be told is told to nobody.
    pub fn forget(&mut self) {
        self.watched.clear();
        self.ready.clear();
        self.held = None;
    }

    /// Watches a kind from now on; gives what a list of it tells.
    pub fn watch(&mut self, table: &TableKey, world: &World) -> Result<Vec<Observed>, Trouble> {
        self.watched.insert(table.clone(), world.serves(&table.resource));
        world.list(table)
    }

    pub fn unwatch(&mut self, table: &TableKey) {
        self.watched.remove(table);
        self.ready.retain(|(other, _)| other != table);
        self.held = self.held.take().filter(|held| held.table != *table);
    }

    /// Takes in what was written.
    pub fn take(&mut self, now: Moment, changes: &[Arc<Change>], world: &World) -> Result<(), Trouble> {
        let tables: Vec<TableKey> = self.watched.keys().cloned().collect();
        for change in changes {
            for table in &tables {
                if let Some(observed) = world::told(&table.resource, change)? {
                    self.push(now, table, Event { key: change.key.as_str().into(), observed }, world)?;
                }
            }
        }
        if changes.iter().any(|change| world::defines(change)) {
            self.look_again(world)?;
        }
        Ok(())
    }

    fn push(&mut self, now: Moment, table: &TableKey, event: Event, world: &World) -> Result<(), Trouble> {
        self.events += 1;
        if let Some(part) = self.fault.take_if(|part| part.at <= self.events) {
            self.held = Some(Held { table: table.clone(), part, events: Vec::new(), since: now });
        }
        match &mut self.held {
            Some(held) if held.table == *table => {
                held.events.push(event);
                if held.is_full() {
                    self.release(world)?;
                }
            }
            _ => self.ready.push_back((table.clone(), vec![event.observed])),
        }
        Ok(())
    }

    /// Kinds that are served only now are listed; of kinds that are served no more there is nothing.
    fn look_again(&mut self, world: &World) -> Result<(), Trouble> {
        for (table, served) in &mut self.watched {
            let now = world.serves(&table.resource);
            if now != *served {
                *served = now;
                self.ready.push_back((table.clone(), world.list(table)?));
            }
        }
        Ok(())
    }

    /// Until when events are held; nothing when none are.
    pub fn held_until(&self) -> Option<Moment> {
        self.held.as_ref().map(|held| Moment(held.since.0 + WINDOW_MS))
    }

    /// Tells what was held, in the way of the fault.
    pub fn release(&mut self, world: &World) -> Result<(), Trouble> {
        let Some(Held { table, part, events, .. }) = self.held.take() else { return Ok(()) };
        match part.kind {
            Kind::MissEvent => self.ready.push_back((table.clone(), world.list(&table)?)),
            Kind::MergeEvent => {
                let is_last = |at: usize| events[at + 1..].iter().all(|later| later.key != events[at].key);
                let last = (0..events.len()).filter(|at| is_last(*at)).map(|at| events[at].observed.clone());
                self.ready.push_back((table, last.collect()));
            }
            _ => self.ready.extend(events.into_iter().map(|event| (table.clone(), vec![event.observed]))),
        }
        Ok(())
    }

    /// What is told next, together.
    pub fn next(&mut self) -> Option<(TableKey, Vec<Observed>)> {
        self.ready.pop_front()
    }
}
