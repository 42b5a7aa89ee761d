//! A cluster that was: the objects and logs of a dump, served and never changed. Writes are refused, or recorded.
//!
//! Objects are stored as they are given, uids, revisions and status included; nothing is defaulted, validated, or
//! collected, and no controller runs. Kinds nobody defined are served all the same, with whatever fields they have.

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

use crate::ambient::Ambient;
use crate::auth::gate::Gate;
use crate::registry::{self, Registry};
use crate::request::DEFAULT_CLUSTER;
use crate::resource::{Custom, LazyShape, Resource, Subresource};
use crate::server::{Cluster, Logical};
use crate::store::{Bounds, Expect, Key, Store};
use crate::wire::Template;

pub use logs::{Log, Logs};
pub use record::{CONTROLLER_HEADER, Kind, Recorder, Wish};

/// Verbs of a kind that can only be read.
const READING: [&str; 3] = ["get", "list", "watch"];
/// Verbs of a kind whose writes are recorded.
const RECORDED: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// An object to serve.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its group, version and kind.
    pub kind: GroupVersionKind,
    /// The resource it is listed under.
    pub plural: String,
    /// It lives in a namespace.
    pub namespaced: bool,
    /// The object.
    pub value: Value,
}

impl Cluster {
    /// A server that shows `objects` and `logs` as they are and refuses writes.
    pub async fn frozen(gate: Gate, ambient: Ambient, objects: Vec<Object>, logs: Logs) -> Self {
        let registry = registry(&objects, &[], false);
        Self::of_dump(gate, ambient, objects, logs, registry).await
    }

    /// The same, but writes are answered as if they were made and handed to `recorder`; reads go on showing the dump. `kinds` are
    /// served beside those the dump knows.
    pub async fn recording(
        gate: Gate,
        ambient: Ambient,
        objects: Vec<Object>,
        logs: Logs,
        (kinds, recorder): (Vec<Kind>, Recorder),
    ) -> Self {
        let registry = registry(&objects, &kinds, true);
        let cluster = Self::of_dump(gate, ambient, objects, logs, registry).await;
        let _ = cluster.inner().recorder.set(recorder);
        cluster
    }

    async fn of_dump(gate: Gate, ambient: Ambient, objects: Vec<Object>, logs: Logs, registry: Registry) -> Self {
        let store = Store::in_memory(Bounds::default());
        let writes = objects.iter().map(|object| {
            let text = |key: &str| object.value["metadata"][key].as_str().unwrap_or_default();
            let known = registry.preferred(&object.kind.group, &object.plural);
            let custom = known.is_some_and(|r| r.custom.is_some());
            let template = Template::new(&object.value, custom);
            let given: Option<u64> = text("resourceVersion").parse().ok();
            let resource = switchboard_object::kind::GroupResource::new(object.kind.group.as_str(), &*object.plural);
            let namespace = if object.namespaced { text("namespace") } else { "" };
            let key = Key::new(DEFAULT_CLUSTER, &resource.to_string(), namespace, text("name"));
            store.put(key, Expect::Absent, move |revision| template.at(given.unwrap_or(revision)))
        });
        // The keys are unique, so no write can be refused.
        join_all(writes).await;
        let logical = Arc::new(Logical::new(DEFAULT_CLUSTER));
        logical.change_registry(|_| registry);
        Self::still(gate, store, ambient, logical, logs)
    }
}

/// The answer to a write.
pub(crate) fn read_only() -> Status {
    let message = "this server shows a dump and is read-only: nothing can be written to it";
    Status::new(405, "MethodNotAllowed", message)
}

/// The built-in kinds, those of the dump's CRDs, those only its objects know, and further ones.
fn registry(objects: &[Object], kinds: &[Kind], recorded: bool) -> Registry {
    let mut registry = Registry::clone(&Registry::built_in());
    for crd in objects.iter().filter(|o| o.kind.kind == "CustomResourceDefinition") {
        let spec = &crd.value["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let resources = registry::from_definition(&crd.value);
        if !resources.is_empty() {
            registry = registry.with_custom(&text(&spec["group"]), &text(&spec["names"]["plural"]), resources);
        }
    }
    let of_objects =
        objects.iter().map(|o| Kind { kind: o.kind.clone(), plural: o.plural.clone(), namespaced: o.namespaced });
    let mut inferred: BTreeMap<(String, String), BTreeMap<String, Kind>> = BTreeMap::new();
    // Further versions of built-in kinds are not ours to make up.
    let built_in = |one: &&Kind| registry.preferred(&one.kind.group, &one.plural).is_some_and(|r| r.custom.is_none());
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

fn inferred_resource(one: &Kind, recorded: bool) -> Resource {
    let kind = one.kind.clone();
    let verbs: &[&str] = if recorded { &RECORDED } else { &READING };
    let status = Subresource {
        name: "status".into(),
        kind: kind.clone(),
        verbs: ["get", "patch", "update"].map(Into::into).to_vec(),
    };
    Resource {
        plural: one.plural.as_str().into(),
        singular: kind.kind.to_lowercase().into(),
        list_kind: format!("{}List", kind.kind).into(),
        short_names: vec![],
        categories: vec![],
        namespaced: one.namespaced,
        verbs: verbs.iter().map(|verb| (*verb).into()).collect(),
        subresources: if recorded { vec![status] } else { vec![] },
        shape: LazyShape::custom(bytes::Bytes::new(), kind.version.as_str().into()),
        custom: Some(Arc::new(Custom {
            storage_version: kind.version.as_str().into(),
            preserve_unknown: true,
            status: recorded,
            ..Custom::default()
        })),
        kind,
    }
}
