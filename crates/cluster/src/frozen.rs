//! A cluster that was: the objects and logs of a dump, served and never changed.
//!
//! Objects are stored as they are given, uids, revisions and status included; nothing is defaulted, validated, or
//! collected, and no controller runs. Kinds nobody defined are served all the same, with whatever fields they have.

mod logs;
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
use crate::resource::{Custom, LazyShape, Resource};
use crate::server::{Cluster, Logical};
use crate::store::{Bounds, Expect, Key, Store};
use crate::wire::Template;

pub use logs::{Log, Logs};

/// Verbs of a kind that can only be read.
const READING: [&str; 3] = ["get", "list", "watch"];

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
        let store = Store::in_memory(Bounds::default());
        let registry = registry(&objects);
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

/// The built-in kinds, those of the dump's CRDs, and those only its objects know.
fn registry(objects: &[Object]) -> Registry {
    let mut registry = Registry::clone(&Registry::built_in());
    for crd in objects.iter().filter(|o| o.kind.kind == "CustomResourceDefinition") {
        let spec = &crd.value["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let resources = registry::from_definition(&crd.value);
        if !resources.is_empty() {
            registry = registry.with_custom(&text(&spec["group"]), &text(&spec["names"]["plural"]), resources);
        }
    }
    let mut inferred: BTreeMap<(&str, &str), BTreeMap<&str, &Object>> = BTreeMap::new();
    for object in objects {
        let GroupVersionKind { group, version, .. } = &object.kind;
        if registry.get(group, version, &object.plural).is_none() {
            inferred.entry((group, &object.plural)).or_default().entry(version).or_insert(object);
        }
    }
    for ((group, plural), versions) in inferred {
        let resources = versions.values().map(|object| Arc::new(inferred_resource(object))).collect();
        registry = registry.with_custom(group, plural, resources);
    }
    registry
}

fn inferred_resource(object: &Object) -> Resource {
    let kind = object.kind.clone();
    Resource {
        plural: object.plural.as_str().into(),
        singular: kind.kind.to_lowercase().into(),
        list_kind: format!("{}List", kind.kind).into(),
        short_names: vec![],
        categories: vec![],
        namespaced: object.namespaced,
        verbs: READING.map(Into::into).to_vec(),
        subresources: vec![],
        shape: LazyShape::custom(bytes::Bytes::new(), kind.version.as_str().into()),
        custom: Some(Arc::new(Custom {
            storage_version: kind.version.as_str().into(),
            preserve_unknown: true,
            ..Custom::default()
        })),
        kind,
    }
}
