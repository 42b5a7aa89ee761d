//! Index of the cached objects by their owners.

use std::collections::BTreeMap;

use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::Value;
use switchboard_kernel::cache::Snapshot;
use switchboard_kernel::resource::{ListQuery, ObjectKey, Selection};
use switchboard_kernel::topology::ClusterName;
use switchboard_kernel::view::Reader as _;
use switchboard_object::selector::LabelSelector;

const OWNER_REFERENCES: &str = "\"ownerReferences\"";

/// Cached objects of a cluster by the uid of each owner.
#[derive(Debug, Default)]
pub struct OwnedObjects(BTreeMap<String, Vec<ObjectKey>>);

#[derive(Deserialize)]
struct OwnerUid {
    uid: String,
}

impl OwnedObjects {
    /// Builds the index. Only the owner references of an object are parsed, because there may be many objects.
    pub fn of(picture: &Snapshot, cluster: &ClusterName) -> Self {
        let (mut index, finder) = (Self::default(), Finder::new(OWNER_REFERENCES));
        let Ok(everything) = LabelSelector::parse("") else { return index };
        for table in picture.tables().filter(|table| table.cluster == *cluster) {
            let query = ListQuery { table: table.clone(), selection: Selection::all() };
            for object in picture.list(&query, &everything).unwrap_or_default() {
                for owner in owner_uids(&object.json, &finder) {
                    index.0.entry(owner).or_default().push(object.key.clone());
                }
            }
        }
        index
    }

    /// Returns the objects with this owner, by kind and name.
    pub fn of_owner(&self, uid: &str) -> &[ObjectKey] {
        self.0.get(uid).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Returns the uids in the owner references of an object.
fn owner_uids(json: &[u8], finder: &Finder<'_>) -> Vec<String> {
    let references = finder.find_iter(json).filter_map(|at| {
        let rest = json[at + OWNER_REFERENCES.len()..].trim_ascii_start().strip_prefix(b":")?;
        // Only the first value is parsed, not the rest of the object.
        serde_json::Deserializer::from_slice(rest).into_iter::<Vec<OwnerUid>>().next()?.ok()
    });
    references.flatten().map(|owner| owner.uid).collect()
}

/// Whether an object has an owner reference to the uid.
pub fn is_owned_by(object: &Value, uid: &str) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| owner["uid"] == uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_found_in_raw_bytes() {
        let uids = |json: &str| owner_uids(json.as_bytes(), &Finder::new(OWNER_REFERENCES));
        let owned =
            r#"{"metadata":{"name":"a","ownerReferences": [{"kind":"Job","uid":"1"},{"uid":"2"}]},"spec":{"a":"]"}}"#;
        assert_eq!(uids(owned), ["1", "2"]);
        let quoted = r#"{"metadata":{"annotations":{"last":"{\"ownerReferences\":[{\"uid\":\"3\"}]}"}}}"#;
        assert!(uids(quoted).is_empty() && uids("{}").is_empty());
        assert!(uids(r#"{"f:metadata":{"f:ownerReferences":{}}}"#).is_empty());
    }
}
