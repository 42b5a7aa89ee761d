//! A directory as the reader behind a view.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use switchboard_gather::must_gather::{MustGather, MustGatherError, MustGatherQuery as Listing};
use switchboard_object::selector::LabelSelector;

use super::resource_lists::type_of;
use switchboard_kernel::object::Object;
use switchboard_kernel::operator::AccessRule;
use switchboard_kernel::resource::{ListQuery, ObjectKey, TableKey};
use switchboard_kernel::topology::{ClusterName, ClusterType, Topology};
use switchboard_kernel::view::Reader;

/// The whole dump as one cluster, and optionally the user workload cluster as a second one.
pub(super) struct MustGatherReader {
    input: MustGather,
    workload: Option<MustGather>,
    live: bool,
}

fn cluster(place: ClusterType) -> ClusterName {
    ClusterName::new(&place.to_string())
}

impl MustGatherReader {
    /// Creates the reader. The operator's inputs must have the declared version or be absent.
    pub fn of(
        input: MustGather,
        workload: Option<MustGather>,
        readable: &BTreeSet<AccessRule>,
        live: bool,
    ) -> Result<Self, MustGatherError> {
        let directory = Self { input, workload, live };
        for input in readable {
            let topology = directory.topology();
            match directory.at(topology.cluster(input.cluster_type)).list(&type_of(&input.resource), &Listing::all(""))
            {
                Ok(_) | Err(MustGatherError::UnknownResource(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(directory)
    }

    /// Returns the cluster of each cluster type.
    pub fn topology(&self) -> Topology {
        let input = cluster(ClusterType::Configuration);
        let workload = if self.workload.is_some() { cluster(ClusterType::UserWorkload) } else { input.clone() };
        Topology::of([input.clone(), input, workload])
    }

    fn at(&self, name: &ClusterName) -> &MustGather {
        match &self.workload {
            Some(workload) if *name == cluster(ClusterType::UserWorkload) => workload,
            _ => &self.input,
        }
    }
}

fn object(table: &TableKey, value: &Value) -> Object {
    let mut value = value.clone();
    let text = |field: &str| Arc::from(value["metadata"][field].as_str().unwrap_or_default());
    let key = ObjectKey { table: table.clone(), namespace: text("namespace"), name: text("name") };
    let revision = value["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
    // The cache omits managed fields as well.
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Object { key, revision, json: Arc::from(value.to_string().into_bytes()) }
}

impl Reader for MustGatherReader {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        let from = self.at(&key.table.cluster);
        let found = from.get(&type_of(&key.table.resource), &key.namespace, &key.name).ok().flatten();
        Some(found.map(|value| object(&key.table, value)))
    }

    fn list(&self, query: &ListQuery, selector: &LabelSelector) -> Option<Vec<Object>> {
        let namespace = query.selection.namespace.as_deref().unwrap_or_default();
        let listing = Listing { labels: selector.clone(), ..Listing::all(namespace) };
        let from = self.at(&query.table.cluster);
        let found = from.list(&type_of(&query.table.resource), &listing).unwrap_or_default();
        Some(found.into_iter().map(|value| object(&query.table, value)).collect())
    }

    fn revision(&self, _cluster: &ClusterName) -> u64 {
        0
    }

    fn answer(&self, _kind: &str, _request: &Value) -> Option<Result<Value, String>> {
        (!self.live).then(|| Err("apply-configuration has no network; apply-configuration-live does".to_string()))
    }
}
