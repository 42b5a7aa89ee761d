//! Whether what clients were told fits together: a checker over the record of writes, watches and lists around crashes.
//!
//! The words are upstream's for watches, and one for the store itself:
//! - *ordered*: events of a watch come in revision order;
//! - *unique*: no event comes twice, also across a resumed watch, and everybody sees the same event at a revision;
//! - *resumable*: a watch resumed from its last revision goes on without a gap;
//! - *atomic*: an object is as some writer sent it, whole, and built on the object that writer had seen;
//! - *reliable*: every acknowledged write is seen by watches that reach it, and is there after any crash;
//! - *bookmarkable*: after a bookmark nothing at or before its revision follows.
//!
//! Pure: what happened comes in as data, what was wrong goes out.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a client did and was told.
#[derive(Clone, Debug)]
pub struct HistoryWrite {
    /// The incarnation of the server it was sent to: a crash ends one, a restart begins the next.
    pub life: u32,
    /// The object.
    pub key: String,
    /// Unique to this write and part of the object written; a delete has none.
    pub id: Option<String>,
    /// The revision it builds on, `None` for a create.
    pub expect: Option<u64>,
    /// What came back.
    pub outcome: WriteOutcome,
}

/// The answer to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// Done, at this revision.
    Acknowledged(u64),
    /// Done, but the answer to a delete does not tell the revision.
    Deleted,
    /// Not done, and never will be.
    Refused,
    /// No answer: done or not done, but nothing in between.
    Unknown,
}

/// What a watch said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryEvent {
    /// An object was written.
    Put {
        /// The object.
        key: String,
        /// Its revision.
        revision: u64,
        /// The id in it; `None` when the object is not whole.
        id: Option<String>,
    },
    /// An object was deleted.
    Deleted {
        /// The object.
        key: String,
        /// The delete's revision.
        revision: u64,
    },
    /// Everything up to here has been said.
    Bookmark {
        /// Up to here.
        revision: u64,
    },
}

/// One watch request and what it answered until it ended.
#[derive(Clone, Debug, Default)]
pub struct WatchStream {
    /// It asked for what came after this revision.
    pub after: u64,
    /// What it said.
    pub events: Vec<HistoryEvent>,
}

/// All objects as a list showed them.
#[derive(Clone, Debug, Default)]
pub struct ListSnapshot {
    /// The incarnation of the server it came from; taken before that one's writes.
    pub life: u32,
    /// The list's revision.
    pub revision: u64,
    /// Revision and id of each object; no id when the object is not whole.
    pub objects: BTreeMap<String, (u64, Option<String>)>,
}

/// Everything that was recorded.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The writes of all clients.
    pub writes: Vec<HistoryWrite>,
    /// The streams of each watcher, each resumed where the one before ended.
    pub watchers: Vec<Vec<WatchStream>>,
    /// The lists.
    pub listings: Vec<ListSnapshot>,
}

/// Which promise was broken, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise.
    pub promise: Promise,
    /// What was seen.
    pub seen: String,
}

/// See the module.
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

/// What is known to have happened at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fact {
    key: String,
    /// The id put, `None` for a delete.
    id: Option<String>,
}

/// Everything wrong with a history; nothing when all six promises held.
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
    /// When the object written at a revision was deleted.
    deletes: BTreeMap<(String, Option<u64>), u64>,
    found: Vec<Violation>,
}

impl HistoryCheck<'_> {
    fn violate(&mut self, promise: Promise, seen: String) {
        self.found.push(Violation { promise, seen });
    }

    /// Takes down what happened at a revision, or that two accounts of it differ.
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

    /// Every fact must be some write's, once, and build on what that write expected.
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
                    None => Err("nobody wrote it"),
                    Some(write) if write.key != key => Err("it was written to another object"),
                    Some(write) if write.outcome == WriteOutcome::Refused => Err("its writer was refused"),
                    Some(_) if !done.insert(id.clone()) => Err("it happened before"),
                    Some(write) if write.expect != before => Err("it does not build on what its writer had seen"),
                    Some(_) => Ok(()),
                },
                None if !deletes.contains(&(key.as_str(), before)) => Err("nobody deleted that"),
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

    /// An acknowledged delete whose revision the writer was not told must have been seen by somebody.
    fn check_deletes(&mut self) {
        for write in &self.history.writes {
            if write.outcome == WriteOutcome::Deleted && self.revision_of(write).is_none() {
                let seen = format!("{} at {:?} was deleted, no watch saw it", write.key, write.expect);
                self.found.push(Violation { promise: Promise::Reliable, seen });
            }
        }
    }

    /// The revision of an acknowledged write.
    fn revision_of(&self, write: &HistoryWrite) -> Option<u64> {
        match write.outcome {
            WriteOutcome::Acknowledged(revision) => Some(revision),
            WriteOutcome::Deleted => self.deletes.get(&(write.key.clone(), write.expect)).copied(),
            WriteOutcome::Refused | WriteOutcome::Unknown => None,
        }
    }

    /// What happened between a watcher's first and last revision must have been said to it.
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

    /// A list shows exactly what the facts up to its revision amount to, and lacks nothing acknowledged in earlier lives.
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
    /// The revision it speaks of.
    pub fn revision(&self) -> u64 {
        match self {
            HistoryEvent::Put { revision, .. }
            | HistoryEvent::Deleted { revision, .. }
            | HistoryEvent::Bookmark { revision } => *revision,
        }
    }
}
