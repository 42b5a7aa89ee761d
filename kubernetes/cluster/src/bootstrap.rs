//! What every cluster begins with: namespaces, default roles, priority classes, flow control, the `kubernetes` Service.
//!
//! The objects are carried as a server of the same version writes them at its first start, one a line: resource,
//! namespace, name and the object as it is stored, with marks where uid, time and revision go. So a start encodes
//! nothing and reads no JSON.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use futures::future::join_all;
use jiff::Timestamp;

use crate::ambient::{Ambient, time_text};
use crate::store::{Expect, Key, Store};

const OBJECTS: &str = include_str!("../data/bootstrap.txt");

/// Writes what is not there yet. Somebody else's object of that name is as good as ours.
pub(crate) async fn write(store: &Store, cluster: &str, ambient: &Ambient, authority: &str) {
    let now = ambient.now();
    // Together, so that a durable store flushes once and not once an object.
    join_all(OBJECTS.lines().filter_map(object).filter_map(|(resource, namespace, name, text)| {
        let key = Key::new(cluster, resource, namespace, name);
        if store.get(&key).is_some() {
            return None;
        }
        let uid = ambient.uid();
        let encode = move |revision: u64| fill(text, &uid, now, authority, revision);
        Some(store.put(key, Expect::Absent, encode))
    }))
    .await;
}

/// Resource, namespace, name and text of a line.
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
            // Inside a JSON string, where only the line ends need an escape.
            _ => out.push_str(&authority.replace('\n', "\\n")),
        }
        rest = after;
    }
    out.push_str(rest);
    Bytes::from(out)
}

/// `before@mark@after`, for the marks there are.
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
