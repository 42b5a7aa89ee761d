//! What a line of a watch says.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer::Refusal;

#[derive(Deserialize)]
struct Raw<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Annotations {
    #[serde(rename = "k8s.io/initial-events-end")]
    initial_events_end: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: Option<String>,
    annotations: Option<Annotations>,
}

#[derive(Deserialize)]
struct Versioned {
    metadata: Metadata,
}

/// An event of a watch.
pub enum Event {
    /// Added or modified.
    Put(Bytes),
    /// Deleted.
    Remove(Bytes),
    /// All up to a revision was told; `true` when the list ends here.
    Bookmark(u64, bool),
    /// The server ends the watch.
    Refused(Refusal),
    /// Of a kind that is not known here.
    Other,
}

/// Reads a line, without reading the object in it.
pub fn read(line: &Bytes) -> Result<Event, serde_json::Error> {
    let raw: Raw<'_> = serde_json::from_slice(line)?;
    // The object's bytes stay where they are.
    let object = line.slice_ref(raw.object.get().as_bytes());
    Ok(match raw.r#type {
        "ADDED" | "MODIFIED" => Event::Put(object),
        "DELETED" => Event::Remove(object),
        "BOOKMARK" => {
            let Versioned { metadata } = serde_json::from_slice(&object)?;
            let last = metadata.annotations.and_then(|a| a.initial_events_end).is_some_and(|end| end == "true");
            let revision = metadata.resource_version.and_then(|r| r.parse().ok()).unwrap_or_default();
            Event::Bookmark(revision, last)
        }
        "ERROR" => Event::Refused(Refusal::read(&object, 500)),
        _ => Event::Other,
    })
}

/// The revision of an object; none when it has none that can be read.
pub fn revision(object: &[u8]) -> Option<u64> {
    let Versioned { metadata } = serde_json::from_slice(object).ok()?;
    metadata.resource_version?.parse().ok()
}
