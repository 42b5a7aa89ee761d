//! Encoding of events, spliced from stored objects if the client wants whole objects.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::json;
use switchboard_object::status::Status;

use super::super::transform::ResponseTransformer;
use super::super::{ApiCall, list_selector::ListSelector};
use crate::request::media::{ObjectForm, ResponseFormat};
use crate::store::{StoreChange, StoreKey, StoredObject};
use crate::wire::{self, ObjectTemplate};

/// Encoder of the events of one watch.
pub(super) struct EventEncoder {
    selection: ListSelector,
    shaper: ResponseTransformer,
    custom: bool,
    /// Identifier of everything besides the changes that the events depend on; `None` if there is no short one.
    form: Option<Arc<str>>,
}

impl EventEncoder {
    pub fn new(call: &ApiCall, output: ResponseFormat, selection: ListSelector) -> Result<Self, Status> {
        let custom = call.resource.custom.as_ref();
        // The properties of a CRD change only with its revision.
        let since = custom.map_or(0, |custom| custom.since);
        let plain = output.form == ObjectForm::Whole && selection.is_everything();
        let form = plain.then(|| format!("{since} {}", call.envelope()).into());
        Ok(Self { selection, shaper: ResponseTransformer::new(call, output)?, custom: custom.is_some(), form })
    }

    /// Returns the identifier of the events' form; watches of the same prefix and form have equal events.
    pub fn form(&self) -> Option<&Arc<str>> {
        self.form.as_ref()
    }

    /// Encodes `ADDED` events for the existing objects.
    pub fn added(&mut self, call: &ApiCall, records: &[(StoreKey, StoredObject)]) -> BytesMut {
        let mut out = BytesMut::new();
        for (_, record) in records.iter().filter(|(k, r)| self.selection.matches(k, &r.bytes)) {
            let object = self.shaper.event(&call.served(record));
            line(&mut out, "ADDED", &object);
        }
        out
    }

    /// Encodes the events of changes for a client that only sees the selected objects.
    pub fn changed<'a>(&mut self, call: &ApiCall, changes: impl Iterator<Item = &'a Arc<StoreChange>>) -> Bytes {
        let mut out = BytesMut::new();
        for change in changes {
            if let Some((kind, bytes)) = self.see(change) {
                let object = self.shaper.event(&call.served(&StoredObject { revision: change.revision, bytes }));
                line(&mut out, kind, &object);
            }
        }
        out.freeze()
    }

    fn see(&self, change: &StoreChange) -> Option<(&'static str, Bytes)> {
        if self.selection.is_everything() {
            let kind = match (&change.before, &change.after) {
                (_, None) => "DELETED",
                (None, Some(_)) => "ADDED",
                (Some(_), Some(_)) => "MODIFIED",
            };
            return Some((kind, change.object().clone()));
        }
        let matches = |record: &StoredObject| self.selection.matches(&change.key, &record.bytes);
        let was = change.before.as_ref().is_some_and(matches);
        match (&change.after, was) {
            (Some(after), true) if matches(after) => Some(("MODIFIED", after.bytes.clone())),
            (Some(after), false) if matches(after) => Some(("ADDED", after.bytes.clone())),
            // The object is no longer selected: the previous state, at the revision of the change.
            (Some(_), true) => Some(("DELETED", self.with_new_revision(change.before.as_ref()?, change.revision))),
            (None, true) => Some(("DELETED", change.last.clone())),
            (_, false) => None,
        }
    }

    fn with_new_revision(&self, record: &StoredObject, revision: u64) -> Bytes {
        ObjectTemplate::new(&wire::parse(&record.bytes), self.custom).with_revision(revision)
    }

    /// Encodes a bookmark; `ends_initial` marks the end of the initial events.
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

/// Encodes an `ERROR` event, which ends the watch.
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
