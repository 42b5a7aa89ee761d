//! Consistency checker for the record of writes, watches and lists around crashes.
//!
//! The promises are those of Kubernetes for watches, and one for the store itself:
//! - *ordered*: events of a watch come in revision order;
//! - *unique*: no event is repeated, even across a resumed watch, and all watches receive the same event at a revision;
//! - *resumable*: a watch resumed from its last revision continues without a gap;
//! - *atomic*: an object is exactly what one writer sent, based on the object that the writer had read;
//! - *reliable*: every acknowledged write is delivered to watches that reach its revision, and survives any crash;
//! - *bookmarkable*: no event at or before the revision of a bookmark follows it.
//!
//! The checker is pure: records go in, violations come out.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A write by a client and its outcome.
#[derive(Clone, Debug)]
pub struct HistoryWrite {
    /// Life of the server: a crash ends one, a restart begins the next.
    pub life: u32,
    /// Name of the object.
    pub key: String,
    /// Unique id in the written object; a delete has none.
    pub id: Option<String>,
    /// Revision that the write is based on, `None` for a create.
    pub expect: Option<u64>,
    /// Outcome of the write.
    pub outcome: WriteOutcome,
}

/// Outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// Successful, at this revision.
    Acknowledged(u64),
    /// Successful, but the response to a delete does not contain the revision.
    Deleted,
    /// Refused, and never applied.
    Refused,
    /// No response: the write was either applied completely or not at all.
    Unknown,
}

/// Event of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryEvent {
    /// An object was written.
    Put {
        /// Name of the object.
        key: String,
        /// Revision of the object.
        revision: u64,
        /// Id in the object; `None` if the object is not intact.
        id: Option<String>,
    },
    /// An object was deleted.
    Deleted {
        /// Name of the object.
        key: String,
        /// Revision of the deletion.
        revision: u64,
    },
    /// All events up to the revision were sent.
    Bookmark {
        /// Revision of the bookmark.
        revision: u64,
    },
}

/// One watch request and its events.
#[derive(Clone, Debug, Default)]
pub struct WatchStream {
    /// Revision after which the watch starts.
    pub after: u64,
    /// Received events.
    pub events: Vec<HistoryEvent>,
}

/// Response of a list request.
#[derive(Clone, Debug, Default)]
pub struct ListSnapshot {
    /// Life of the server that answered, before the writes of that life.
    pub life: u32,
    /// Revision of the list.
    pub revision: u64,
    /// Revision and id of each object; no id if the object is not intact.
    pub objects: BTreeMap<String, (u64, Option<String>)>,
}

/// Complete record.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Writes of all clients.
    pub writes: Vec<HistoryWrite>,
    /// Streams of each watcher, each resumed at the end of the previous one.
    pub watchers: Vec<Vec<WatchStream>>,
    /// Lists.
    pub listings: Vec<ListSnapshot>,
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Promise.
    pub promise: Promise,
    /// Observation.
    pub seen: String,
}

/// Promise, as described in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the module explains the six words together")]
pub enum Promise {
    Ordered,
    Unique,
    Resumable,
    Atomic,
    Reliable,
    Bookmarkable,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not {:?}: {}", self.promise, self.seen)
    }
}

/// Known change at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact {
    key: String,
    /// Id of the written object, `None` for a delete.
    id: Option<String>,
}

/// Returns all violations in a history.
pub fn check(history: &History) -> Vec<Violation> {
    let mut check = HistoryCheck { history, facts: BTreeMap::new(), deletes: BTreeMap::new(), found: Vec::new() };
    check.check_acknowledged();
    for streams in &history.watchers {
        check.check_order(streams);
        check.record_events(streams);
    }
    check.check_chains();
    check.check_deletes();
    for streams in &history.watchers {
        check.check_gaps(streams);
    }
    for listing in &history.listings {
        check.check_list(listing);
    }
    check.found
}

struct HistoryCheck<'a> {
    history: &'a History,
    facts: BTreeMap<u64, Fact>,
    /// Revisions at which the object of a revision was deleted.
    deletes: BTreeMap<(String, Option<u64>), u64>,
    found: Vec<Violation>,
}

impl HistoryCheck<'_> {
    fn violate(&mut self, promise: Promise, seen: String) {
        self.found.push(Violation { promise, seen });
    }

    /// Records the change at a revision, or reports a contradiction.
    fn record_fact(&mut self, revision: u64, fact: Fact, from: &str) {
        match self.facts.get(&revision) {
            Some(known) if *known != fact => {
                let seen = format!("revision {revision} is {fact:?} to {from}, {known:?} to another");
                self.violate(Promise::Unique, seen);
            }
            Some(_) => {}
            None => {
                self.facts.insert(revision, fact);
            }
        }
    }

    fn check_acknowledged(&mut self) {
        for write in &self.history.writes {
            if let WriteOutcome::Acknowledged(revision) = write.outcome {
                let fact = Fact { key: write.key.clone(), id: write.id.clone() };
                self.record_fact(revision, fact, "its writer");
            }
        }
    }

    fn check_order(&mut self, streams: &[WatchStream]) {
        let mut last = 0;
        for stream in streams {
            let mut reached = stream.after;
            let mut bookmark = stream.after;
            for event in &stream.events {
                let revision = event.revision();
                match event {
                    HistoryEvent::Bookmark { .. } if revision < reached => {
                        self.violate(Promise::Bookmarkable, format!("bookmark {revision} after event {reached}"));
                    }
                    HistoryEvent::Bookmark { .. } => bookmark = revision,
                    _ if revision <= bookmark => {
                        let promise = if bookmark == stream.after { Promise::Unique } else { Promise::Bookmarkable };
                        self.violate(promise, format!("event {revision} after revision {bookmark} was complete"));
                    }
                    _ if revision == reached || revision <= last => {
                        self.violate(Promise::Unique, format!("event {revision} came again"));
                    }
                    _ if revision < reached => {
                        self.violate(Promise::Ordered, format!("event {revision} after event {reached}"));
                    }
                    _ => {}
                }
                reached = reached.max(revision);
            }
            last = last.max(reached);
        }
    }

    fn record_events(&mut self, streams: &[WatchStream]) {
        for event in streams.iter().flat_map(|stream| &stream.events) {
            match event {
                HistoryEvent::Put { key, revision, id: None } => {
                    self.violate(Promise::Atomic, format!("{key} at {revision} is not whole"));
                }
                HistoryEvent::Put { key, revision, id } => {
                    self.record_fact(*revision, Fact { key: key.clone(), id: id.clone() }, "a watch");
                }
                HistoryEvent::Deleted { key, revision } => {
                    self.record_fact(*revision, Fact { key: key.clone(), id: None }, "a watch");
                }
                HistoryEvent::Bookmark { .. } => {}
            }
        }
    }

    /// Checks that every change matches exactly one write and its expected revision.
    fn check_chains(&mut self) {
        let by_id: BTreeMap<&str, &HistoryWrite> =
            self.history.writes.iter().filter_map(|write| Some((write.id.as_deref()?, write))).collect();
        let deletes: BTreeSet<(&str, Option<u64>)> = self
            .history
            .writes
            .iter()
            .filter(|write| write.id.is_none() && write.outcome != WriteOutcome::Refused)
            .map(|write| (write.key.as_str(), write.expect))
            .collect();
        let mut newest: BTreeMap<String, Option<u64>> = BTreeMap::new();
        let mut done = BTreeSet::new();
        for (revision, Fact { key, id }) in self.facts.clone() {
            let before = newest.get(&key).copied().flatten();
            let legal = match &id {
                Some(id) => match by_id.get(id.as_str()) {
                    None => Err("no write created it"),
                    Some(write) if write.key != key => Err("it was written to another object"),
                    Some(write) if write.outcome == WriteOutcome::Refused => Err("its writer was refused"),
                    Some(_) if !done.insert(id.clone()) => Err("it happened before"),
                    Some(write) if write.expect != before => Err("it does not build on what its writer had seen"),
                    Some(_) => Ok(()),
                },
                None if !deletes.contains(&(key.as_str(), before)) => Err("no delete removed it"),
                None => {
                    self.deletes.insert((key.clone(), before), revision);
                    Ok(())
                }
            };
            if let Err(reason) = legal {
                let seen = format!("{key} at {revision} ({id:?}, object before {before:?}): {reason}");
                self.violate(Promise::Atomic, seen);
            }
            newest.insert(key, id.is_some().then_some(revision));
        }
    }

    /// Checks that an acknowledged delete without a known revision was observed.
    fn check_deletes(&mut self) {
        for write in &self.history.writes {
            if write.outcome == WriteOutcome::Deleted && self.revision_of(write).is_none() {
                let seen = format!("{} at {:?} was deleted, no watch saw it", write.key, write.expect);
                self.found.push(Violation { promise: Promise::Reliable, seen });
            }
        }
    }

    /// Returns the revision of an acknowledged write.
    fn revision_of(&self, write: &HistoryWrite) -> Option<u64> {
        match write.outcome {
            WriteOutcome::Acknowledged(revision) => Some(revision),
            WriteOutcome::Deleted => self.deletes.get(&(write.key.clone(), write.expect)).copied(),
            WriteOutcome::Refused | WriteOutcome::Unknown => None,
        }
    }

    /// Checks that a watcher received all changes between its first and last revision.
    fn check_gaps(&mut self, streams: &[WatchStream]) {
        let Some(first) = streams.first() else { return };
        let mut reached = first.after;
        let mut told = BTreeSet::new();
        let mut missing = Vec::new();
        for (index, stream) in streams.iter().enumerate() {
            if stream.after > reached {
                missing.push((Promise::Resumable, format!("resumed from {} having seen {reached}", stream.after)));
            }
            let events = stream.events.iter().filter(|event| !matches!(event, HistoryEvent::Bookmark { .. }));
            told.extend(events.map(HistoryEvent::revision));
            let end = stream.events.iter().map(HistoryEvent::revision).max().unwrap_or(stream.after).max(stream.after);
            let promise = if index == 0 { Promise::Reliable } else { Promise::Resumable };
            let from = stream.after.min(reached);
            for (revision, fact) in self.facts.range(from + 1..(end + 1).max(from + 1)) {
                if !told.contains(revision) {
                    told.insert(*revision);
                    missing
                        .push((promise, format!("a watch that reached {end} was not told of {fact:?} at {revision}")));
                }
            }
            reached = reached.max(end);
        }
        for (promise, seen) in missing {
            self.violate(promise, seen);
        }
    }

    /// Checks that a list equals the changes up to its revision, and contains all acknowledged writes of earlier lives.
    fn check_list(&mut self, listing: &ListSnapshot) {
        for write in &self.history.writes {
            let Some(revision) = self.revision_of(write) else { continue };
            if write.life < listing.life && revision > listing.revision {
                let seen = format!(
                    "{} was acknowledged at {revision}, the next server begins at {}",
                    write.key, listing.revision
                );
                self.found.push(Violation { promise: Promise::Reliable, seen });
            }
        }
        let mut expected: BTreeMap<&str, (u64, Option<String>)> = BTreeMap::new();
        for (revision, Fact { key, id }) in self.facts.range(..=listing.revision) {
            match id {
                Some(id) => expected.insert(key, (*revision, Some(id.clone()))),
                None => expected.remove(key.as_str()),
            };
        }
        let keys: BTreeSet<&str> = expected.keys().copied().chain(listing.objects.keys().map(String::as_str)).collect();
        for key in keys {
            match (listing.objects.get(key), expected.get(key)) {
                (Some((revision, None)), _) => self.found.push(Violation {
                    promise: Promise::Atomic,
                    seen: format!("{key} at {revision} is not whole in a list"),
                }),
                (shown, expected) if shown == expected => {}
                (shown, expected) => self.found.push(Violation {
                    promise: Promise::Reliable,
                    seen: format!("a list at {} shows {key} as {shown:?}, it was {expected:?}", listing.revision),
                }),
            }
        }
    }
}

impl HistoryEvent {
    /// Returns the revision of the event.
    pub fn revision(&self) -> u64 {
        match self {
            HistoryEvent::Put { revision, .. }
            | HistoryEvent::Deleted { revision, .. }
            | HistoryEvent::Bookmark { revision } => *revision,
        }
    }
}
