//! Events as bytes: spliced from stored objects wherever nothing else is asked for.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::json;
use switchboard_object::status::Status;

use super::super::form::Shaper;
use super::super::{Call, select::Selection};
use crate::request::media::{Form, Output};
use crate::store::{Change, Key, Record};
use crate::wire::{self, Template};

/// Turns changes into the events of one watch.
pub(super) struct Events {
    selection: Selection,
    shaper: Shaper,
    custom: bool,
    /// Says all that events depend on beside the changes; `None` when that cannot be said in short.
    form: Option<Arc<str>>,
}

impl Events {
    pub fn new(call: &Call, output: Output, selection: Selection) -> Result<Self, Status> {
        let custom = call.resource.custom.as_ref();
        // What a CRD says changes with its revision only.
        let since = custom.map_or(0, |custom| custom.since);
        let plain = output.form == Form::Whole && selection.is_everything();
        let form = plain.then(|| format!("{since} {}", call.envelope()).into());
        Ok(Self { selection, shaper: Shaper::new(call, output)?, custom: custom.is_some(), form })
    }

    /// The name of the form all these events have; watches of the same prefix and form show the same.
    pub fn form(&self) -> Option<&Arc<str>> {
        self.form.as_ref()
    }

    /// `ADDED` for everything that is there.
    pub fn added(&mut self, call: &Call, records: &[(Key, Record)]) -> BytesMut {
        let mut out = BytesMut::new();
        for (_, record) in records.iter().filter(|(k, r)| self.selection.matches(k, &r.bytes)) {
            let object = self.shaper.event(&call.served(record));
            line(&mut out, "ADDED", &object);
        }
        out
    }

    /// What these changes are to somebody who sees only the selected objects.
    pub fn changed<'a>(&mut self, call: &Call, changes: impl Iterator<Item = &'a Arc<Change>>) -> Bytes {
        let mut out = BytesMut::new();
        for change in changes {
            if let Some((kind, bytes)) = self.see(change) {
                let object = self.shaper.event(&call.served(&Record { revision: change.revision, bytes }));
                line(&mut out, kind, &object);
            }
        }
        out.freeze()
    }

    fn see(&self, change: &Change) -> Option<(&'static str, Bytes)> {
        if self.selection.is_everything() {
            let kind = match (&change.before, &change.after) {
                (_, None) => "DELETED",
                (None, Some(_)) => "ADDED",
                (Some(_), Some(_)) => "MODIFIED",
            };
            return Some((kind, change.object().clone()));
        }
        let matches = |record: &Record| self.selection.matches(&change.key, &record.bytes);
        let was = change.before.as_ref().is_some_and(matches);
        match (&change.after, was) {
            (Some(after), true) if matches(after) => Some(("MODIFIED", after.bytes.clone())),
            (Some(after), false) if matches(after) => Some(("ADDED", after.bytes.clone())),
            // It is selected no more: the state that was, at the revision of the change.
            (Some(_), true) => Some(("DELETED", self.restated(change.before.as_ref()?, change.revision))),
            (None, true) => Some(("DELETED", change.last.clone())),
            (_, false) => None,
        }
    }

    fn restated(&self, record: &Record, revision: u64) -> Bytes {
        Template::new(&wire::parse(&record.bytes), self.custom).at(revision)
    }

    /// A bookmark, perhaps the one that ends the initial events.
    pub fn bookmark(&mut self, revision: u64, ends_initial: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if ends_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut out = BytesMut::new();
        let object = self.shaper.bookmark(metadata);
        line(&mut out, "BOOKMARK", &object);
        out.freeze()
    }
}

/// `ERROR`: the watch is over.
pub(super) fn error(status: &Status) -> Bytes {
    let mut out = BytesMut::new();
    line(&mut out, "ERROR", status.to_value().to_string().as_bytes());
    out.freeze()
}

fn line(out: &mut BytesMut, kind: &str, object: &[u8]) {
    const AROUND: usize = 40;
    out.reserve(object.len() + AROUND);
    out.put_slice(b"{\"type\":\"");
    out.put_slice(kind.as_bytes());
    out.put_slice(b"\",\"object\":");
    out.put_slice(object);
    out.put_slice(b"}\n");
}
