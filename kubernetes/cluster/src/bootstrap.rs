//! Initial objects of every cluster: namespaces, default roles, priority classes, flow control, the `kubernetes`
//! Service.
//!
//! The data file holds the objects as a server of the same version writes them at its first start, one per line:
//! resource, namespace, name and the stored object, with placeholders for uid, time and revision. Startup therefore
//! encodes nothing and parses no JSON.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use futures::future::join_all;
use jiff::Timestamp;

use crate::clock_and_rng::{ClockAndRng, time_text};
use crate::store::{ExpectedState, ObjectStore, StoreKey};

const OBJECTS: &str = include_str!("../data/bootstrap.txt");

/// Writes the missing initial objects. An existing object of the same name is kept.
pub(crate) async fn write(store: &ObjectStore, cluster: &str, clock_and_rng: &ClockAndRng, authority: &str) {
    let now = clock_and_rng.now();
    // Written concurrently, so that a durable store flushes once and not once per object.
    join_all(OBJECTS.lines().filter_map(object).filter_map(|(resource, namespace, name, text)| {
        let key = StoreKey::new(cluster, resource, namespace, name);
        if store.get(&key).is_some() {
            return None;
        }
        let uid = clock_and_rng.uid();
        let encode = move |revision: u64| fill(text, &uid, now, authority, revision);
        Some(store.put(key, ExpectedState::Absent, encode))
    }))
    .await;
}

/// Returns resource, namespace, name and text of a line.
fn object(line: &'static str) -> Option<(&'static str, &'static str, &'static str, &'static str)> {
    let mut parts = line.splitn(4, ' ');
    let (resource, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
    Some((resource, if namespace == "-" { "" } else { namespace }, name, parts.next()?))
}

fn fill(text: &str, uid: &str, now: Timestamp, authority: &str, revision: u64) -> Bytes {
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some((before, mark, after)) = next_mark(rest) {
        out.push_str(before);
        match mark {
            "uid" => out.push_str(uid),
            "time" => out.push_str(&time_text(now)),
            "date" => out.push_str(&time_text(now)[..10]),
            "revision" => out.push_str(&revision.to_string()),
            // Inside a JSON string only the line breaks need an escape.
            _ => out.push_str(&authority.replace('\n', "\\n")),
        }
        rest = after;
    }
    out.push_str(rest);
    Bytes::from(out)
}

/// Splits at the next placeholder: `before@mark@after`.
fn next_mark(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find('@').map(|at| from + at) {
        for mark in ["uid", "time", "date", "revision", "authority"] {
            if let Some(after) = text[at + 1..].strip_prefix(mark).and_then(|rest| rest.strip_prefix('@')) {
                return Some((&text[..at], mark, after));
            }
        }
        from = at + 1;
    }
    None
}
