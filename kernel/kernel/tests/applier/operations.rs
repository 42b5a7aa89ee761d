//! All operations, with and without preconditions.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_kernel::plan::{Mutation, PatchType, Preconditions, WriteOp};
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::topology::ClusterName;

pub const NAMESPACES: Resource = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");
pub const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
pub const SERVICES: Resource = Resource::namespaced("", "v1", "Service", "services");
pub const DEPLOYMENTS: Resource = Resource::namespaced("apps", "v1", "Deployment", "deployments");

/// Write to an object in some state.
#[derive(Clone)]
pub struct WriteCase {
    pub name: &'static str,
    pub resource: Resource,
    /// Object before; absent if it does not exist.
    pub start: Option<Value>,
    pub mutation: Mutation,
    /// Whether the write has an exact precondition.
    pub exact: bool,
    /// Whether the write was made, by the object after it.
    pub done: fn(Option<&Value>) -> bool,
}

impl WriteCase {
    pub fn key(&self) -> ObjectKey {
        key(&self.resource, "default", "web")
    }

    /// Returns the write for the object that was read.
    pub fn mutation(&self, read: Option<&Value>) -> Mutation {
        let mut mutation = self.mutation.clone();
        let Some(read) = read else { return mutation };
        let text = |pointer: &str| read.pointer(pointer).unwrap().as_str().unwrap().to_string();
        let (uid, revision) = (text("/metadata/uid"), text("/metadata/resourceVersion"));
        if let WriteOp::Update(body) = &mut mutation.operation {
            body["metadata"]["resourceVersion"] = revision.as_str().into();
        }
        mutation.preconditions = match self.exact {
            true => Preconditions::Exact { uid, revision: revision.parse().unwrap() },
            false => Preconditions::Unconditional,
        };
        mutation
    }
}

pub fn key(resource: &Resource, namespace: &str, name: &str) -> ObjectKey {
    let table = TableKey { cluster: ClusterName::new("home"), resource: Arc::new(resource.clone()) };
    ObjectKey { table, namespace: namespace.into(), name: name.into() }
}

fn config_map(data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "default", "name": "web" }, "data": data })
}

fn kept(data: Value) -> Value {
    let mut kept = config_map(data);
    kept["metadata"]["finalizers"] = json!(["example.com/first"]);
    kept
}

fn deployment(status: Option<Value>) -> Value {
    let labels = json!({ "app": "web" });
    let pod =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "web" }] } });
    let mut deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "namespace": "default", "name": "web" },
        "spec": { "replicas": 1, "selector": { "matchLabels": labels }, "template": pod },
    });
    if let Some(status) = status {
        deployment["status"] = status;
    }
    deployment
}

fn service() -> Value {
    let spec = json!({ "ports": [{ "port": 80 }] });
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "namespace": "default", "name": "web" }, "spec": spec })
}

fn is_set(object: Option<&Value>) -> bool {
    object.is_some_and(|object| object["data"]["a"] == "new")
}

/// Whether the object was replaced, so that omitted fields are removed.
fn is_replaced(object: Option<&Value>) -> bool {
    is_set(object) && object.is_some_and(|object| object["data"].get("b").is_none())
}

fn is_appended_once(object: Option<&Value>) -> bool {
    object.is_some_and(|object| object["metadata"]["finalizers"] == json!(["example.com/first", "example.com/next"]))
}

fn has_status(object: Option<&Value>) -> bool {
    object.is_some_and(|object| object["status"]["observedGeneration"] == 7)
}

fn is_scaled(object: Option<&Value>) -> bool {
    object.is_some_and(|object| object["spec"]["replicas"] == 3)
}

fn is_gone(object: Option<&Value>) -> bool {
    object.is_none()
}

fn is_leaving(object: Option<&Value>) -> bool {
    object.is_some_and(|object| object["metadata"]["deletionTimestamp"].is_string())
}

pub fn cases() -> Vec<WriteCase> {
    let old = || Some(config_map(json!({ "a": "old", "b": "old" })));
    let new = || config_map(json!({ "a": "new" }));
    let of = |resource: &Resource, name, start: Option<Value>, mutation: Mutation, done| WriteCase {
        name,
        resource: resource.clone(),
        start,
        mutation,
        exact: true,
        done,
    };
    let map = |name, start, mutation, done| of(&CONFIG_MAPS, name, start, mutation, done);
    let patch = |form, body| Mutation::patch(&CONFIG_MAPS, "default", "web", form, body);
    let delete = |resource: &Resource| Mutation::delete(resource, "default", "web");
    let data = || json!({ "data": { "a": "new" } });
    let append = || json!([{ "op": "add", "path": "/metadata/finalizers/-", "value": "example.com/next" }]);
    let status = || deployment(Some(json!({ "observedGeneration": 7 })));
    let scale =
        || Mutation::patch(&DEPLOYMENTS, "default", "web", PatchType::Merge, json!({ "spec": { "replicas": 3 } }));
    let exact = vec![
        map("update", old(), Mutation::update(&CONFIG_MAPS, new()), is_replaced),
        map("merge patch", old(), patch(PatchType::Merge, data()), is_set),
        map("strategic patch", old(), patch(PatchType::Strategic, data()), is_set),
        map("json patch", Some(kept(json!({}))), patch(PatchType::Json, append()), is_appended_once),
        map("delete", old(), delete(&CONFIG_MAPS), is_gone),
        map("delete with a finalizer", Some(kept(json!({}))), delete(&CONFIG_MAPS), is_leaving),
        of(&SERVICES, "delete that answers with the object", Some(service()), delete(&SERVICES), is_gone),
        of(
            &DEPLOYMENTS,
            "update of the status",
            Some(deployment(None)),
            Mutation::update(&DEPLOYMENTS, status()).status(),
            has_status,
        ),
        of(
            &DEPLOYMENTS,
            "patch of the scale",
            Some(deployment(None)),
            Mutation { subresource: Some("scale".to_string()), ..scale() },
            is_scaled,
        ),
    ];
    let regardless = exact.iter().filter(|case| !case.name.starts_with("update")).cloned();
    let regardless: Vec<WriteCase> = regardless.map(|case| WriteCase { exact: false, ..case }).collect();
    let free = vec![
        map("create", None, Mutation::create(&CONFIG_MAPS, new()), is_set),
        map("apply of something new", None, Mutation::apply(&CONFIG_MAPS, new()), is_set),
        map("apply", old(), Mutation::apply(&CONFIG_MAPS, new()).forced(), is_set),
        of(
            &DEPLOYMENTS,
            "apply of the status",
            Some(deployment(None)),
            Mutation::apply(&DEPLOYMENTS, status()).status(),
            has_status,
        ),
    ];
    let free = free.into_iter().map(|case| WriteCase { exact: false, ..case });
    exact.into_iter().chain(regardless).chain(free).collect()
}
