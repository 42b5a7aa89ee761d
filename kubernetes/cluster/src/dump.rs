//! Read-only server for the objects and logs of a dump. Writes are refused, or recorded.
//!
//! Objects are stored as given, with uids, revisions and status; nothing is defaulted, validated or collected, and no
//! controller runs. Kinds without a definition are served too, with all their fields.

mod logs;
pub(crate) mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use switchboard_object::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use crate::auth::filters::AuthKeys;
use crate::clock_and_rng::ClockAndRng;
use crate::registry::{self, Registry};
use crate::request::DEFAULT_CLUSTER;
use crate::resource::{CrdVersion, LazySchema, ServedResource, Subresource};
use crate::server::{Cluster, LogicalCluster};
use crate::store::{ExpectedState, ObjectStore, StoreKey, StoreLimits};
use crate::wire::ObjectTemplate;

pub use logs::{ContainerLog, DumpLogs};
pub use record::{RecordedWrite, WritableKind, WriteRecorder};

/// Verbs of a read-only kind.
const READ_VERBS: [&str; 3] = ["get", "list", "watch"];
/// Verbs of a kind whose writes are recorded.
const RECORDED_VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Object of a dump.
#[derive(Clone, Debug)]
pub struct DumpObject {
    /// Group, version and kind.
    pub kind: GroupVersionKind,
    /// Plural resource name.
    pub plural: String,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// Object.
    pub value: Value,
}

impl Cluster {
    /// Creates a server that serves `objects` and `logs` unchanged and refuses writes.
    pub async fn from_dump(
        auth_keys: AuthKeys,
        clock_and_rng: ClockAndRng,
        objects: Vec<DumpObject>,
        logs: DumpLogs,
    ) -> Self {
        let registry = registry(&objects, &[], false);
        Self::of_dump(auth_keys, clock_and_rng, objects, logs, registry).await
    }

    /// Creates a server that answers writes as if they were applied, and passes them to `recorder`. Reads keep
    /// returning the dump. `kinds` are served in addition to those of the dump.
    pub async fn from_dump_with_recorder(
        auth_keys: AuthKeys,
        clock_and_rng: ClockAndRng,
        objects: Vec<DumpObject>,
        logs: DumpLogs,
        (kinds, recorder): (Vec<WritableKind>, WriteRecorder),
    ) -> Self {
        let registry = registry(&objects, &kinds, true);
        let cluster = Self::of_dump(auth_keys, clock_and_rng, objects, logs, registry).await;
        let _ = cluster.inner().recorder.set(recorder);
        cluster
    }

    async fn of_dump(
        auth_keys: AuthKeys,
        clock_and_rng: ClockAndRng,
        objects: Vec<DumpObject>,
        logs: DumpLogs,
        registry: Registry,
    ) -> Self {
        let store = ObjectStore::in_memory(StoreLimits::default());
        let writes = objects.iter().map(|object| {
            let text = |key: &str| object.value["metadata"][key].as_str().unwrap_or_default();
            let known = registry.preferred(&object.kind.group, &object.plural);
            let custom = known.is_some_and(|r| r.custom.is_some());
            let template = ObjectTemplate::new(&object.value, custom);
            let given: Option<u64> = text("resourceVersion").parse().ok();
            let resource = switchboard_object::kind::GroupResource::new(object.kind.group.as_str(), &*object.plural);
            let namespace = if object.namespaced { text("namespace") } else { "" };
            let key = StoreKey::new(DEFAULT_CLUSTER, &resource.to_string(), namespace, text("name"));
            store.put(key, ExpectedState::Absent, move |revision| template.with_revision(given.unwrap_or(revision)))
        });
        // The keys are unique, so no write fails.
        join_all(writes).await;
        let logical = Arc::new(LogicalCluster::new(DEFAULT_CLUSTER));
        logical.change_registry(|_| registry);
        Self::without_bootstrap(auth_keys, store, clock_and_rng, logical, logs)
    }
}

/// Returns the error for a write.
pub(crate) fn read_only_status() -> Status {
    let message = "this server serves a dump and is read-only";
    Status::new(405, "MethodNotAllowed", message)
}

/// Returns the built-in kinds, those of the dump's CRDs, those of its other objects, and further ones.
fn registry(objects: &[DumpObject], kinds: &[WritableKind], recorded: bool) -> Registry {
    let mut registry = Registry::clone(&Registry::built_in());
    for crd in objects.iter().filter(|o| o.kind.kind == "CustomResourceDefinition") {
        let spec = &crd.value["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let resources = registry::from_definition(&crd.value);
        if !resources.is_empty() {
            registry = registry.with_custom(&text(&spec["group"]), &text(&spec["names"]["plural"]), resources);
        }
    }
    let of_objects = objects.iter().map(|o| WritableKind {
        kind: o.kind.clone(),
        plural: o.plural.clone(),
        namespaced: o.namespaced,
    });
    let mut inferred: BTreeMap<(String, String), BTreeMap<String, WritableKind>> = BTreeMap::new();
    // Further versions of built-in kinds are not added.
    let built_in =
        |one: &&WritableKind| registry.preferred(&one.kind.group, &one.plural).is_some_and(|r| r.custom.is_none());
    for one in of_objects.chain(kinds.iter().filter(|one| !built_in(one)).cloned()) {
        let GroupVersionKind { group, version, .. } = &one.kind;
        if registry.get(group, version, &one.plural).is_none() {
            let versions = inferred.entry((group.clone(), one.plural.clone())).or_default();
            versions.entry(version.clone()).or_insert(one);
        }
    }
    for ((group, plural), versions) in inferred {
        let resources = versions.values().map(|one| Arc::new(inferred_resource(one, recorded))).collect();
        registry = registry.with_custom(&group, &plural, resources);
    }
    registry
}

fn inferred_resource(one: &WritableKind, recorded: bool) -> ServedResource {
    let kind = one.kind.clone();
    let verbs: &[&str] = if recorded { &RECORDED_VERBS } else { &READ_VERBS };
    let status = Subresource {
        name: "status".into(),
        kind: kind.clone(),
        verbs: ["get", "patch", "update"].map(Into::into).to_vec(),
    };
    ServedResource {
        plural: one.plural.as_str().into(),
        singular: kind.kind.to_lowercase().into(),
        list_kind: format!("{}List", kind.kind).into(),
        short_names: vec![],
        categories: vec![],
        namespaced: one.namespaced,
        verbs: verbs.iter().map(|verb| (*verb).into()).collect(),
        subresources: if recorded { vec![status] } else { vec![] },
        schema: LazySchema::custom(bytes::Bytes::new(), kind.version.as_str().into()),
        custom: Some(Arc::new(CrdVersion {
            storage_version: kind.version.as_str().into(),
            preserve_unknown: true,
            status: recorded,
            ..CrdVersion::default()
        })),
        kind,
    }
}
