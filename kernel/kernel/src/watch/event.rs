//! Events of a watch as sent by the server.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::response::ApiStatus;

#[derive(Deserialize)]
struct RawEvent<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct BookmarkAnnotations {
    #[serde(rename = "k8s.io/initial-events-end")]
    initial_events_end: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventMetadata {
    resource_version: Option<String>,
    annotations: Option<BookmarkAnnotations>,
}

#[derive(Deserialize)]
struct VersionedObject {
    metadata: EventMetadata,
}

/// Event of a watch.
pub enum WireEvent {
    /// Object added or modified.
    Put(Bytes),
    /// Object deleted.
    Remove(Bytes),
    /// Bookmark with its revision; the flag marks the end of the initial list.
    Bookmark(u64, bool),
    /// Error that ends the watch.
    Error(ApiStatus),
    /// Unknown event type.
    Other,
}

/// Parses a line without parsing its object.
pub fn read(line: &Bytes) -> Result<WireEvent, serde_json::Error> {
    let raw: RawEvent<'_> = serde_json::from_slice(line)?;
    // A slice of the line, without a copy.
    let object = line.slice_ref(raw.object.get().as_bytes());
    Ok(match raw.r#type {
        "ADDED" | "MODIFIED" => WireEvent::Put(object),
        "DELETED" => WireEvent::Remove(object),
        "BOOKMARK" => {
            let VersionedObject { metadata } = serde_json::from_slice(&object)?;
            let last = metadata.annotations.and_then(|a| a.initial_events_end).is_some_and(|end| end == "true");
            let revision = metadata.resource_version.and_then(|r| r.parse().ok()).unwrap_or_default();
            WireEvent::Bookmark(revision, last)
        }
        "ERROR" => WireEvent::Error(ApiStatus::read(&object, 500)),
        _ => WireEvent::Other,
    })
}

/// Returns the revision of an object; `None` if it is missing or invalid.
pub fn revision(object: &[u8]) -> Option<u64> {
    let VersionedObject { metadata } = serde_json::from_slice(object).ok()?;
    metadata.resource_version?.parse().ok()
}
