//! Deduplicates Events across runs, like client-go's EventCorrelator within a process.
//!
//! A program has no memory between runs, so it creates the same Events in every run, and the name of an Event contains
//! the time. A second run within a second would conflict, and every later run would create one more Event. Switchboard
//! therefore remembers the Events: a repeated one increases the count of the first, and many Events that differ only in
//! their message are combined into one.
//!
//! Correlation is a part of the run's result, not of the plan: the journal stores the result, and a replay needs no
//! memory. The time is passed in.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::run_result::ProgramWrite;

/// Interval in which a repeated Event increases a count, in seconds, as in client-go.
pub(crate) const WINDOW_SECONDS: i64 = 600;
/// Number of Events about one object that may differ only in their message, as in client-go. Further ones are combined.
pub(crate) const MAX_SIMILAR: usize = 10;
/// Maximum numbers of remembered Events and of remembered groups, as in client-go. The least recent ones are evicted.
pub(crate) const MAX_REMEMBERED: usize = 4096;
/// Message prefix of combined Events, as in client-go.
const COMBINED: &str = "(combined from similar events): ";

/// Correlates the Events of one program.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventCorrelator {
    observed: BTreeMap<EventKey, ObservedEvent>,
    similar: BTreeMap<EventKey, SimilarEvents>,
}

/// Location, source, object, type and reason, followed by the message unless the Event is combined.
type EventKey = Vec<String>;

/// An Event that was created.
#[derive(Clone, Debug)]
struct ObservedEvent {
    name: String,
    count: u64,
    first: Value,
    last: i64,
}

/// Events that differ only in their message.
#[derive(Clone, Debug, Default)]
struct SimilarEvents {
    messages: BTreeSet<String>,
    last: i64,
}

impl EventCorrelator {
    /// Returns the writes of a run with correlated Events, at a time in seconds since 1970. Other writes stay
    /// unchanged.
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
            // Within one run, the last occurrence contains everything.
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

    /// Returns the key of an Event. An Event beyond the limit gets a combined message and the key of its group.
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

    /// Returns the Event's name, or another one if it is taken: names depend on object, time and message, but not on
    /// the source.
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

/// Whether the write creates a valid Event. Others are not correlated.
fn is_created_event(wanted: &ProgramWrite) -> bool {
    let made = wanted.is_event() && wanted.action == "Create" && !wanted.name.is_empty() && !wanted.is_dry_run();
    made && wanted.body.get("metadata").is_some_and(Value::is_object)
}

/// Evicts the oldest entries beyond the limit.
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
    vec![event.cluster_type.clone(), event.of.group.clone(), event.namespace.clone()]
}

/// Returns all fields but the message, as in client-go: without the revision of the object.
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

/// Turns the write into an apply of the first Event with a higher count. An apply also works if the first Event does
/// not exist.
fn apply_count(event: &mut ProgramWrite, observed: &ObservedEvent) {
    rename(event, &observed.name);
    event.action = "Apply".to_string();
    event.options = json!({"force": true});
    if event.of.group.is_empty() {
        event.body["count"] = observed.count.into();
        event.body["firstTimestamp"] = observed.first.clone();
    } else {
        // `eventTime` is immutable; the series holds the count and the last time.
        let time = std::mem::replace(&mut event.body["eventTime"], observed.first.clone());
        event.body["series"] = json!({"count": observed.count, "lastObservedTime": time});
    }
    drop_nulls(&mut event.body);
    drop_nulls(&mut event.body["metadata"]);
}

/// Removes null values, which must not be applied.
fn drop_nulls(fields: &mut Value) {
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
}

/// Replaces an earlier write of the same run, keeping its action.
fn replaced(first: &ProgramWrite, second: ProgramWrite) -> ProgramWrite {
    ProgramWrite { action: first.action.clone(), options: first.options.clone(), ..second }
}

#[cfg(test)]
mod tests;
