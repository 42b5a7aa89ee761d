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

use crate::answer::Wanted;

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
pub(crate) struct Correlator {
    told: BTreeMap<Key, Told>,
    similar: BTreeMap<Key, Similar>,
}

/// Where, by whom, about what, of which type, for which reason; and the message, where it counts.
type Key = Vec<String>;

/// One that is there.
#[derive(Clone, Debug)]
struct Told {
    name: String,
    count: u64,
    first: Value,
    last: i64,
}

/// Those that differ in their message alone.
#[derive(Clone, Debug, Default)]
struct Similar {
    messages: BTreeSet<String>,
    last: i64,
}

impl Correlator {
    /// What is left to tell of what a run wants written at that time, in seconds since 1970. Anything but Events that it makes
    /// stays as it is.
    pub fn correlate(&mut self, wanted: Vec<Wanted>, now: i64) -> Vec<Wanted> {
        let mut left: Vec<Wanted> = Vec::with_capacity(wanted.len());
        let mut here: BTreeMap<Key, usize> = BTreeMap::new();
        for mut one in wanted {
            if !is_told(&one) {
                left.push(one);
                continue;
            }
            let key = self.key(&mut one, now);
            let told = self.observe(&key, &one, now);
            if told.count > 1 {
                repeat(&mut one, &told);
            } else if told.name != one.name {
                rename(&mut one, &told.name);
            }
            // Of one run, the last of it says it all.
            match here.get(&key) {
                Some(at) => left[*at] = again(&left[*at], one),
                None => {
                    here.insert(key, left.len());
                    left.push(one);
                }
            }
        }
        self.forget();
        left
    }

    /// What tells an Event from others. One too many of a kind gets the words of one that stands for all, and their key.
    fn key(&mut self, event: &mut Wanted, now: i64) -> Key {
        let kind = kind(event);
        let message = event.body[message_of(event)].as_str().unwrap_or_default().to_string();
        let similar = self.similar.entry(kind.clone()).or_default();
        if now - similar.last > WINDOW_SECONDS {
            similar.messages.clear();
        }
        similar.last = now;
        if similar.messages.contains(&message) || similar.messages.len() < MAX_SIMILAR {
            similar.messages.insert(message.clone());
            return kind.into_iter().chain([message]).collect();
        }
        let field = message_of(event);
        event.body[field] = format!("{COMBINED}{message}").into();
        kind
    }

    fn observe(&mut self, key: &Key, event: &Wanted, now: i64) -> Told {
        match self.told.get_mut(key).filter(|told| now - told.last <= WINDOW_SECONDS) {
            Some(told) => {
                (told.count, told.last) = (told.count + 1, now);
                told.clone()
            }
            None => {
                let since = if event.of.group.is_empty() { "firstTimestamp" } else { "eventTime" };
                let first = event.body.get(since).cloned().unwrap_or_default();
                let told = Told { name: self.free_name(event), count: 1, first, last: now };
                self.told.insert(key.clone(), told.clone());
                told
            }
        }
    }

    /// Its own name, unless another Event has it: names are of the object, the time and the message, not of who tells it.
    fn free_name(&self, event: &Wanted) -> String {
        let place = here(event);
        let taken = |name: &str| self.told.iter().any(|(key, told)| key.starts_with(&place) && told.name == name);
        let more = (2..).map(|number| format!("{}.{number}", event.name));
        let mut names = std::iter::once(event.name.clone()).chain(more);
        names.find(|name| !taken(name)).unwrap_or_else(|| event.name.clone())
    }

    fn forget(&mut self) {
        forget(&mut self.told, |told| told.last);
        forget(&mut self.similar, |similar| similar.last);
    }
}

/// An Event that is made. What is odd about others is not for here.
fn is_told(wanted: &Wanted) -> bool {
    let made = wanted.is_event() && wanted.action == "Create" && !wanted.name.is_empty() && !wanted.is_dry_run();
    made && wanted.body.get("metadata").is_some_and(Value::is_object)
}

/// Takes the oldest out while there are too many.
fn forget<T>(of: &mut BTreeMap<Key, T>, last: impl Fn(&T) -> i64) {
    let more = of.len().saturating_sub(MAX_REMEMBERED);
    if more == 0 {
        return;
    }
    let mut ages: Vec<(i64, Key)> = of.iter().map(|(key, one)| (last(one), key.clone())).collect();
    ages.sort();
    ages.into_iter().take(more).for_each(|(_, key)| drop(of.remove(&key)));
}

fn here(event: &Wanted) -> Key {
    vec![event.place.clone(), event.of.group.clone(), event.namespace.clone()]
}

/// All but the message, as client-go has it: not the revision of what it is about.
fn kind(event: &Wanted) -> Key {
    let about = if event.body.get("regarding").is_some() { "regarding" } else { "involvedObject" };
    let about =
        ["kind", "namespace", "name", "uid", "apiVersion", "fieldPath"].map(|field| format!("/{about}/{field}"));
    let by = ["/source/component", "/source/host", "/deprecatedSource/component", "/reportingComponent"];
    let more = ["/reportingController", "/reportingInstance", "/type", "/reason"].map(String::from);
    let paths = by.map(String::from).into_iter().chain(more).chain(about);
    here(event).into_iter().chain(paths.map(|path| text(&event.body, &path).to_string())).collect()
}

fn message_of(event: &Wanted) -> &'static str {
    if event.of.group.is_empty() { "message" } else { "note" }
}

fn text<'a>(body: &'a Value, path: &str) -> &'a str {
    body.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn rename(event: &mut Wanted, name: &str) {
    event.name = name.to_string();
    event.body["metadata"]["name"] = name.into();
}

/// Makes the first one of it that has happened that often. It is applied: should the first be gone, or never have come to be, this
/// is it.
fn repeat(event: &mut Wanted, told: &Told) {
    rename(event, &told.name);
    event.action = "Apply".to_string();
    event.options = json!({"force": true});
    if event.of.group.is_empty() {
        event.body["count"] = told.count.into();
        event.body["firstTimestamp"] = told.first.clone();
    } else {
        // When it was is not to be changed there; how often and when last is.
        let time = std::mem::replace(&mut event.body["eventTime"], told.first.clone());
        event.body["series"] = json!({"count": told.count, "lastObservedTime": time});
    }
    bare(&mut event.body);
    bare(&mut event.body["metadata"]);
}

/// What has no value is not to be applied.
fn bare(fields: &mut Value) {
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
}

/// The second of one run in place of the first: made anew where that was to be.
fn again(first: &Wanted, second: Wanted) -> Wanted {
    Wanted { action: first.action.clone(), options: first.options.clone(), ..second }
}

#[cfg(test)]
mod tests;
