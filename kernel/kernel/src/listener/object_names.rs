//! Names of cached objects by uid, for reports that show the name a user gave instead of a generated one.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use switchboard_object::selector::LabelSelector;

use crate::cache::Snapshot;
use crate::resource::{ListQuery, Selection};
use crate::view::Reader as _;

/// Objects of a kind, by uid.
#[derive(Deserialize)]
pub(super) struct NameQuery {
    /// Kind, such as `deployments.apps`.
    kind: String,
    uids: BTreeSet<String>,
}

/// Returns `namespace/name` of the cached objects with these uids, by uid.
pub(super) fn find(snapshot: &Snapshot, query: &NameQuery) -> BTreeMap<String, String> {
    let Ok(everything) = LabelSelector::parse("") else { return BTreeMap::new() };
    let tables = snapshot.tables().filter(|table| table.resource.to_string() == query.kind);
    let objects = tables.flat_map(|table| {
        let list = ListQuery { table: table.clone(), selection: Selection::all() };
        snapshot.list(&list, &everything).unwrap_or_default()
    });
    let named = objects.filter_map(|object| {
        let value = object.value();
        let uid = query.uids.get(value["metadata"]["uid"].as_str()?)?;
        Some((uid.clone(), format!("{}/{}", object.key.namespace, object.key.name)))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cache::tests::holding;

    #[test]
    fn cached_objects_are_found_by_uid() {
        let map = |name: &str, uid: &str| {
            let metadata = json!({"namespace": "shop", "name": name, "uid": uid, "resourceVersion": "1"});
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).to_string().into()
        };
        let snapshot = holding(&[map("web", "1"), map("api", "2")]).snapshot();
        let query = |kind: &str| NameQuery { kind: kind.to_string(), uids: ["2", "3"].map(str::to_string).into() };
        let found = find(&snapshot, &query("configmaps"));
        assert_eq!(found, BTreeMap::from([("2".to_string(), "shop/api".to_string())]));
        assert!(find(&snapshot, &query("secrets")).is_empty());
    }
}
