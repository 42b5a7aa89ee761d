//! Resource tree of an object: the objects that it deploys or owns, with their health.

mod owners;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use switchboard_gitops::state::application_health;
use switchboard_kernel::cache::Snapshot;
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::view::Reader as _;
use switchboard_object::health::{self, HealthCode};

use crate::components::object_href;
use crate::problem::ConsoleProblem;
use crate::redact::PageRedactor;
use crate::source::ConsoleSource;
use owners::{OwnedObjects, is_owned_by};

/// Maximum depth: an Application, its Deployment, ReplicaSet and Pod, and one more.
const MAX_DEPTH: usize = 5;
/// Maximum number of objects in a tree.
const MAX_NODES: usize = 200;
/// Maximum number of requests to the cluster for objects that are not cached.
const MAX_REQUESTS: usize = 20;
/// Maximum number of objects in the response of a list request.
const MAX_LISTED: usize = 500;
/// Address of the cluster of Argo CD, as in the destination of an Application.
const IN_CLUSTER: [&str; 2] = ["https://kubernetes.default.svc", "in-cluster"];

/// Kinds of workloads, with the kind of the objects that their controllers create. No operator needs to watch them.
static CREATED_BY_WORKLOADS: [(&str, Resource); 7] = [
    ("Deployment", Resource::namespaced("apps", "v1", "ReplicaSet", "replicasets")),
    ("ReplicaSet", PODS),
    ("ReplicationController", PODS),
    ("StatefulSet", PODS),
    ("DaemonSet", PODS),
    ("Job", PODS),
    ("CronJob", Resource::namespaced("batch", "v1", "Job", "jobs")),
];
const PODS: Resource = Resource::namespaced("", "v1", "Pod", "pods");

/// Object in a resource tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    /// Object as `kind/namespace/name`.
    pub name: String,
    /// Link to the object's page; empty if the object is on a cluster that the console does not know.
    pub href: String,
    /// Health by the rules of Argo CD; `None` for kinds without health.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<&'static str>,
    /// Reason for the health.
    pub message: String,
    /// Objects that it deploys or owns.
    pub children: Vec<TreeNode>,
    /// Number of omitted children.
    pub omitted: usize,
}

/// TreeChild of a node: its key if it is on this cluster, and the object if it was read.
struct TreeChild {
    name: String,
    key: Option<ObjectKey>,
    live: Option<Value>,
    reported: Option<HealthCode>,
}

/// Node with its position in the tree.
struct PlacedNode {
    parent: usize,
    depth: usize,
    child: TreeChild,
    omitted: usize,
}

/// Reader of the objects of a tree, from the cache as far as possible.
struct TreeReader<'s> {
    source: &'s ConsoleSource,
    cluster: switchboard_kernel::topology::ClusterName,
    picture: Arc<Snapshot>,
    owned: OwnedObjects,
    listed: BTreeMap<(String, String), Vec<Value>>,
    requests: usize,
}

/// Loads the tree below an object. `live` is `None` if the object does not exist or could not be read.
pub async fn load(
    source: &ConsoleSource,
    key: &ObjectKey,
    live: Option<&Value>,
    redactor: &PageRedactor,
) -> Result<TreeNode, ConsoleProblem> {
    let (picture, cluster) = (source.snapshot().await?, key.table.cluster.clone());
    let owned = OwnedObjects::of(&picture, &cluster);
    let mut reader = TreeReader { source, cluster, picture, owned, listed: BTreeMap::new(), requests: 0 };
    let root = TreeChild::found(key.clone(), live.cloned());
    let mut seen = BTreeSet::from([root.name.clone()]);
    let mut nodes = vec![PlacedNode { parent: 0, depth: 0, child: root, omitted: 0 }];
    let mut at = 0;
    while at < nodes.len() {
        let depth = nodes[at].depth + 1;
        let children = reader.children(&nodes[at].child).await;
        for child in children.into_iter().filter(|child| seen.insert(child.name.clone())) {
            if depth > MAX_DEPTH || nodes.len() >= MAX_NODES {
                nodes[at].omitted += 1;
            } else {
                nodes.push(PlacedNode { parent: at, depth, child, omitted: 0 });
            }
        }
        at += 1;
    }
    Ok(assemble(nodes, redactor))
}

/// Joins the nodes. A parent comes before its children.
fn assemble(mut nodes: Vec<PlacedNode>, redactor: &PageRedactor) -> TreeNode {
    let mut children: BTreeMap<usize, Vec<TreeNode>> = BTreeMap::new();
    while let Some(PlacedNode { parent, child, omitted, .. }) = nodes.pop() {
        let mut below = children.remove(&nodes.len()).unwrap_or_default();
        // The last child was added first.
        below.reverse();
        let node = TreeNode { children: below, omitted, ..child.node(redactor) };
        if nodes.is_empty() {
            return node;
        }
        children.entry(parent).or_default().push(node);
    }
    TreeNode::default()
}

impl TreeChild {
    fn found(key: ObjectKey, live: Option<Value>) -> Self {
        Self { name: key.to_string(), live, key: Some(key), reported: None }
    }

    fn node(&self, redactor: &PageRedactor) -> TreeNode {
        let (health, message) = match &self.live {
            Some(live) if live["kind"] == "GitOpsDeployment" => (code(application_health(live)), String::new()),
            Some(live) => {
                health::assess(live).map_or((self.reported, String::new()), |one| (Some(one.code), one.message))
            }
            None => (self.reported, String::new()),
        };
        TreeNode {
            name: self.name.clone(),
            href: self.key.as_ref().map(object_href).unwrap_or_default(),
            health: health.map(HealthCode::as_str),
            message: redactor.text(&message),
            ..TreeNode::default()
        }
    }
}

/// Returns the code with a name of Argo CD.
fn code(name: &str) -> Option<HealthCode> {
    let known = [
        HealthCode::Healthy,
        HealthCode::Suspended,
        HealthCode::Progressing,
        HealthCode::Missing,
        HealthCode::Degraded,
        HealthCode::Unknown,
    ];
    known.into_iter().find(|code| code.as_str() == name)
}

impl TreeReader<'_> {
    /// Returns the children of a node: deployed objects in the order of the status, then owned ones.
    async fn children(&mut self, of: &TreeChild) -> Vec<TreeChild> {
        let Some(live) = &of.live else { return Vec::new() };
        let mut children = self.deployed(live).await;
        let uid = live["metadata"]["uid"].as_str().unwrap_or_default();
        for key in self.owned.of_owner(uid) {
            let live = self.cached(key).flatten();
            children.push(TreeChild::found(key.clone(), live));
        }
        children.extend(self.created_by(live).await);
        children
    }

    /// Returns the objects that the status of an Application or GitOpsDeployment lists.
    async fn deployed(&mut self, live: &Value) -> Vec<TreeChild> {
        let (mut children, is_local) = (Vec::new(), deploys_locally(live));
        if !matches!(live["kind"].as_str(), Some("Application" | "GitOpsDeployment")) {
            return children;
        }
        for one in live.pointer("/status/resources").and_then(Value::as_array).into_iter().flatten() {
            let text = |field: &str| one[field].as_str().unwrap_or_default();
            let mut reported = one.pointer("/health/status").and_then(Value::as_str).and_then(code);
            let table = if is_local { self.table(text("group"), text("kind")).await } else { None };
            let Some(table) = table else {
                let name = [text("kind"), text("namespace"), text("name")];
                let name = name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
                children.push(TreeChild { name, key: None, live: None, reported });
                continue;
            };
            let namespace = if table.resource.namespaced { text("namespace") } else { "" };
            let key = ObjectKey { table, namespace: namespace.into(), name: text("name").into() };
            let read = self.read(&key).await;
            if matches!(read, Some(None)) {
                reported = Some(HealthCode::Missing);
            }
            children.push(TreeChild { reported, ..TreeChild::found(key, read.flatten()) });
        }
        children
    }

    /// Returns the objects that the controller of a workload created, if they are not cached.
    async fn created_by(&mut self, live: &Value) -> Vec<TreeChild> {
        let kind = CREATED_BY_WORKLOADS.iter().find(|(workload, _)| live["kind"] == *workload);
        let (Some((_, resource)), Some(uid)) = (kind, live["metadata"]["uid"].as_str()) else { return Vec::new() };
        let table = TableKey { cluster: self.cluster.clone(), resource: Arc::new(resource.clone()) };
        if self.picture.is_cached(&table) {
            return Vec::new();
        }
        let namespace = live["metadata"]["namespace"].as_str().unwrap_or_default();
        let owned = self.list(resource, namespace).await.iter().filter(|one| is_owned_by(one, uid));
        let key = |one: &Value| {
            let name = one["metadata"]["name"].as_str().unwrap_or_default();
            ObjectKey { table: table.clone(), namespace: namespace.into(), name: name.into() }
        };
        owned.map(|one| TreeChild::found(key(one), Some(with_type(one.clone(), resource)))).collect()
    }

    /// Returns a kind of the cluster: a cached one if possible.
    async fn table(&self, group: &str, kind: &str) -> Option<TableKey> {
        let is_kind = |resource: &Resource| resource.group == group && resource.kind == kind;
        let mut cached = self.picture.tables().filter(|table| table.cluster == self.cluster);
        if let Some(table) = cached.find(|table| is_kind(&table.resource)) {
            return Some(table.clone());
        }
        let kinds = self.source.kinds(&self.cluster.0).await.ok()?;
        let resource = kinds.iter().find(|resource| is_kind(resource))?.clone();
        Some(TableKey { cluster: self.cluster.clone(), resource: Arc::new(resource) })
    }

    /// Returns an object or its absence from the cache; `None` if the kind is not cached.
    fn cached(&self, key: &ObjectKey) -> Option<Option<Value>> {
        let found = self.picture.get(key)?;
        Some(found.map(|object| with_type(object.value(), &key.table.resource)))
    }

    /// Returns an object or its absence, from the cache or the cluster; `None` if this is unknown.
    async fn read(&mut self, key: &ObjectKey) -> Option<Option<Value>> {
        if let Some(cached) = self.cached(key) {
            return Some(cached);
        }
        self.requests += 1;
        if self.requests > MAX_REQUESTS {
            return None;
        }
        self.source.get(key).await.ok()
    }

    /// Lists a kind in a namespace, once. An error of the cluster yields no objects.
    async fn list(&mut self, resource: &Resource, namespace: &str) -> &[Value] {
        let listed = (resource.to_string(), namespace.to_string());
        if !self.listed.contains_key(&listed) {
            self.requests += 1;
            let path = format!("{}?limit={MAX_LISTED}", resource.path(namespace));
            let answer = match self.requests <= MAX_REQUESTS {
                true => self.source.read(&self.cluster.0, &path).await.unwrap_or_default(),
                false => Value::Null,
            };
            let items = answer["items"].as_array().cloned().unwrap_or_default();
            self.listed.insert(listed.clone(), items);
        }
        self.listed.get(&listed).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Whether an Application or GitOpsDeployment deploys to its own cluster.
fn deploys_locally(live: &Value) -> bool {
    let text = |field: &str| live["spec"]["destination"][field].as_str().unwrap_or_default();
    match live["kind"].as_str() {
        Some("GitOpsDeployment") => text("environment").is_empty(),
        _ => IN_CLUSTER.contains(&text("server")) || IN_CLUSTER.contains(&text("name")),
    }
}

/// Sets kind and version, which items of lists do not have.
fn with_type(mut object: Value, resource: &Resource) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.entry("kind").or_insert_with(|| resource.kind.as_ref().into());
        fields.entry("apiVersion").or_insert_with(|| resource.api_version().into());
    }
    object
}
