//! A directory as a picture that a view shows.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use switchboard_gather::must_gather::{MustGather, Query as Listing, ReadError};
use switchboard_object::selector::LabelSelector;

use super::declared::type_of;
use switchboard_kernel::object::Object;
use switchboard_kernel::operator::Declared;
use switchboard_kernel::place::{ClusterName, Place, Topology};
use switchboard_kernel::resource::{ObjectKey, Query, TableKey};
use switchboard_kernel::view::Picture;

/// Everything that was dumped, as one cluster; beside it the user workload cluster, when that one is there itself.
pub(super) struct Directory {
    given: MustGather,
    workload: Option<MustGather>,
    live: bool,
}

fn cluster(place: Place) -> ClusterName {
    ClusterName::new(&place.to_string())
}

impl Directory {
    /// Of what was read from disk. What the operator reads must be there in its version, or not at all.
    pub fn of(
        given: MustGather,
        workload: Option<MustGather>,
        readable: &BTreeSet<Declared>,
        live: bool,
    ) -> Result<Self, ReadError> {
        let directory = Self { given, workload, live };
        for input in readable {
            let topology = directory.topology();
            match directory.at(topology.cluster(input.place)).list(&type_of(&input.resource), &Listing::all("")) {
                Ok(_) | Err(ReadError::UnknownResource(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(directory)
    }

    /// Which cluster each place is.
    pub fn topology(&self) -> Topology {
        let given = cluster(Place::Configuration);
        let workload = if self.workload.is_some() { cluster(Place::UserWorkload) } else { given.clone() };
        Topology::of([given.clone(), given, workload])
    }

    fn at(&self, name: &ClusterName) -> &MustGather {
        match &self.workload {
            Some(workload) if *name == cluster(Place::UserWorkload) => workload,
            _ => &self.given,
        }
    }
}

fn object(table: &TableKey, value: &Value) -> Object {
    let mut value = value.clone();
    let text = |field: &str| Arc::from(value["metadata"][field].as_str().unwrap_or_default());
    let key = ObjectKey { table: table.clone(), namespace: text("namespace"), name: text("name") };
    let revision = value["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
    // Live, the cache leaves them out as well.
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Object { key, revision, json: Arc::from(value.to_string().into_bytes()) }
}

impl Picture for Directory {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        let from = self.at(&key.table.cluster);
        let found = from.get(&type_of(&key.table.resource), &key.namespace, &key.name).ok().flatten();
        Some(found.map(|value| object(&key.table, value)))
    }

    fn list(&self, query: &Query, selector: &LabelSelector) -> Option<Vec<Object>> {
        let namespace = query.selection.namespace.as_deref().unwrap_or_default();
        let listing = Listing { labels: selector.clone(), ..Listing::all(namespace) };
        let from = self.at(&query.table.cluster);
        let found = from.list(&type_of(&query.table.resource), &listing).unwrap_or_default();
        Some(found.into_iter().map(|value| object(&query.table, value)).collect())
    }

    fn revision(&self, _cluster: &ClusterName) -> u64 {
        0
    }

    fn answer(&self, _request: &Value) -> Option<Result<Value, String>> {
        (!self.live).then(|| Err("apply-configuration has no network; apply-configuration-live does".to_string()))
    }
}
