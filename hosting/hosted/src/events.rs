//! Events that a program tells again and again become one that counts.
//!
//! A program that remembers nothing between its runs tells the same in each of them, and the name it gives an Event holds the
//! time: run again within a second it would make what is there, and later one more each time. What it told is remembered here
//! instead, as client-go's correlator does in a process that runs all the time: the same once more raises the count of the first,
//! and of many that differ in their message alone one is kept that stands for all.
//!
//! It belongs to the answer, not to the plan: what the journal keeps of a run is what is left to tell, and a replay needs no
//! memory. It is told the time, and reads no clock.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::run_result::ProgramWrite;

/// How long after it was told last an Event is told once more instead of anew, in seconds: client-go's interval.
pub(crate) const WINDOW_SECONDS: i64 = 600;
/// So many messages of one kind about one object are told apart; the next ones are told as one. client-go's number.
pub(crate) const MAX_SIMILAR: usize = 10;
/// How many Events and kinds of Events are remembered each; those told longest ago are forgotten. client-go's number.
pub(crate) const MAX_REMEMBERED: usize = 4096;
/// What stands before the message of one that stands for many. client-go's words.
const COMBINED: &str = "(combined from similar events): ";

/// What a program has told.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventCorrelator {
    observed: BTreeMap<EventKey, ObservedEvent>,
    similar: BTreeMap<EventKey, SimilarEvents>,
}

/// Where, by whom, about what, of which type, for which reason; and the message, where it counts.
type EventKey = Vec<String>;

/// One that is there.
#[derive(Clone, Debug)]
struct ObservedEvent {
    name: String,
    count: u64,
    first: Value,
    last: i64,
}

/// Those that differ in their message alone.
#[derive(Clone, Debug, Default)]
struct SimilarEvents {
    messages: BTreeSet<String>,
    last: i64,
}

impl EventCorrelator {
    /// What is left to tell of what a run wants written at that time, in seconds since 1970. Anything but Events that it makes
    /// stays as it is.
    pub fn correlate(&mut self, wanted: Vec<ProgramWrite>, now: i64) -> Vec<ProgramWrite> {
        let mut left: Vec<ProgramWrite> = Vec::with_capacity(wanted.len());
        let mut here: BTreeMap<EventKey, usize> = BTreeMap::new();
        for mut one in wanted {
            if !is_created_event(&one) {
                left.push(one);
                continue;
            }
            let key = self.key(&mut one, now);
            let observed = self.observe(&key, &one, now);
            if observed.count > 1 {
                apply_count(&mut one, &observed);
            } else if observed.name != one.name {
                rename(&mut one, &observed.name);
            }
            // Of one run, the last of it says it all.
            match here.get(&key) {
                Some(at) => left[*at] = replaced(&left[*at], one),
                None => {
                    here.insert(key, left.len());
                    left.push(one);
                }
            }
        }
        self.evict_old();
        left
    }

    /// What tells an Event from others. One too many of a kind gets the words of one that stands for all, and their key.
    fn key(&mut self, event: &mut ProgramWrite, now: i64) -> EventKey {
        let kind = similarity_key(event);
        let message = event.body[message_field(event)].as_str().unwrap_or_default().to_string();
        let similar = self.similar.entry(kind.clone()).or_default();
        if now - similar.last > WINDOW_SECONDS {
            similar.messages.clear();
        }
        similar.last = now;
        if similar.messages.contains(&message) || similar.messages.len() < MAX_SIMILAR {
            similar.messages.insert(message.clone());
            return kind.into_iter().chain([message]).collect();
        }
        let field = message_field(event);
        event.body[field] = format!("{COMBINED}{message}").into();
        kind
    }

    fn observe(&mut self, key: &EventKey, event: &ProgramWrite, now: i64) -> ObservedEvent {
        match self.observed.get_mut(key).filter(|observed| now - observed.last <= WINDOW_SECONDS) {
            Some(observed) => {
                (observed.count, observed.last) = (observed.count + 1, now);
                observed.clone()
            }
            None => {
                let since = if event.of.group.is_empty() { "firstTimestamp" } else { "eventTime" };
                let first = event.body.get(since).cloned().unwrap_or_default();
                let observed = ObservedEvent { name: self.free_name(event), count: 1, first, last: now };
                self.observed.insert(key.clone(), observed.clone());
                observed
            }
        }
    }

    /// Its own name, unless another Event has it: names are of the object, the time and the message, not of who tells it.
    fn free_name(&self, event: &ProgramWrite) -> String {
        let place = location(event);
        let taken =
            |name: &str| self.observed.iter().any(|(key, observed)| key.starts_with(&place) && observed.name == name);
        let more = (2..).map(|number| format!("{}.{number}", event.name));
        let mut names = std::iter::once(event.name.clone()).chain(more);
        names.find(|name| !taken(name)).unwrap_or_else(|| event.name.clone())
    }

    fn evict_old(&mut self) {
        evict_oldest(&mut self.observed, |observed| observed.last);
        evict_oldest(&mut self.similar, |similar| similar.last);
    }
}

/// An Event that is made. What is odd about others is not for here.
fn is_created_event(wanted: &ProgramWrite) -> bool {
    let made = wanted.is_event() && wanted.action == "Create" && !wanted.name.is_empty() && !wanted.is_dry_run();
    made && wanted.body.get("metadata").is_some_and(Value::is_object)
}

/// Takes the oldest out while there are too many.
fn evict_oldest<T>(of: &mut BTreeMap<EventKey, T>, last: impl Fn(&T) -> i64) {
    let more = of.len().saturating_sub(MAX_REMEMBERED);
    if more == 0 {
        return;
    }
    let mut ages: Vec<(i64, EventKey)> = of.iter().map(|(key, one)| (last(one), key.clone())).collect();
    ages.sort();
    ages.into_iter().take(more).for_each(|(_, key)| drop(of.remove(&key)));
}

fn location(event: &ProgramWrite) -> EventKey {
    vec![event.place.clone(), event.of.group.clone(), event.namespace.clone()]
}

/// All but the message, as client-go has it: not the revision of what it is about.
fn similarity_key(event: &ProgramWrite) -> EventKey {
    let about = if event.body.get("regarding").is_some() { "regarding" } else { "involvedObject" };
    let about =
        ["kind", "namespace", "name", "uid", "apiVersion", "fieldPath"].map(|field| format!("/{about}/{field}"));
    let by = ["/source/component", "/source/host", "/deprecatedSource/component", "/reportingComponent"];
    let more = ["/reportingController", "/reportingInstance", "/type", "/reason"].map(String::from);
    let paths = by.map(String::from).into_iter().chain(more).chain(about);
    location(event).into_iter().chain(paths.map(|path| text(&event.body, &path).to_string())).collect()
}

fn message_field(event: &ProgramWrite) -> &'static str {
    if event.of.group.is_empty() { "message" } else { "note" }
}

fn text<'a>(body: &'a Value, path: &str) -> &'a str {
    body.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn rename(event: &mut ProgramWrite, name: &str) {
    event.name = name.to_string();
    event.body["metadata"]["name"] = name.into();
}

/// Makes the first one of it that has happened that often. It is applied: should the first be gone, or never have come to be, this
/// is it.
fn apply_count(event: &mut ProgramWrite, observed: &ObservedEvent) {
    rename(event, &observed.name);
    event.action = "Apply".to_string();
    event.options = json!({"force": true});
    if event.of.group.is_empty() {
        event.body["count"] = observed.count.into();
        event.body["firstTimestamp"] = observed.first.clone();
    } else {
        // When it was is not to be changed there; how often and when last is.
        let time = std::mem::replace(&mut event.body["eventTime"], observed.first.clone());
        event.body["series"] = json!({"count": observed.count, "lastObservedTime": time});
    }
    drop_nulls(&mut event.body);
    drop_nulls(&mut event.body["metadata"]);
}

/// What has no value is not to be applied.
fn drop_nulls(fields: &mut Value) {
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
}

/// The second of one run in place of the first: made anew where that was to be.
fn replaced(first: &ProgramWrite, second: ProgramWrite) -> ProgramWrite {
    ProgramWrite { action: first.action.clone(), options: first.options.clone(), ..second }
}

#[cfg(test)]
mod tests;
