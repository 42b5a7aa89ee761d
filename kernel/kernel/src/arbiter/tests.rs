#![allow(clippy::unwrap_used)]

mod arbitration;
mod contention;
mod squash;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_object::selector::LabelSelector;

use super::{Arbiter, ArbiterInput, ArbiterResult};
use crate::decision::{DecisionId, Write};
use crate::object::Object;
use crate::operator::{AccessRule, Declaration, OperatorName, Unit, UnitId, Units};
use crate::plan::{Mutation, Plan};
use crate::resource::{ListQuery, ObjectKey, Resource, TableKey};
use crate::topology::{ClusterName, ClusterType, Topology};
use crate::view::{Reader, Reads};

const NAMESPACES: Resource = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");
const CRDS: Resource =
    Resource::cluster_scoped("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");
const ROLES: Resource = Resource::namespaced("rbac.authorization.k8s.io", "v1", "Role", "roles");
const BINDINGS: Resource = Resource::namespaced("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings");
const ACCOUNTS: Resource = Resource::namespaced("", "v1", "ServiceAccount", "serviceaccounts");
const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const PLUGS: Resource = Resource::namespaced("example.com", "v1", "Plug", "plugs");
const DEPLOYMENTS: Resource = Resource::namespaced("apps", "v1", "Deployment", "deployments");
const PODS: Resource = Resource::namespaced("", "v1", "Pod", "pods");
static ALL: [Resource; 9] = [NAMESPACES, CRDS, ROLES, BINDINGS, ACCOUNTS, CONFIG_MAPS, PLUGS, DEPLOYMENTS, PODS];

fn unit(operator: &str) -> UnitId {
    UnitId { operator: OperatorName::new(operator), unit: Unit::object("shop", "web") }
}

fn key(resource: &Resource, name: &str) -> ObjectKey {
    let table = TableKey { cluster: ClusterName::new("home"), resource: Arc::new(resource.clone()) };
    let namespace = if resource.namespaced { "shop" } else { "" };
    ObjectKey { table, namespace: namespace.into(), name: name.into() }
}

/// Returns a body with this name and more fields.
fn body(resource: &Resource, name: &str, more: Value) -> Value {
    let mut body = json!({ "apiVersion": resource.api_version(), "kind": resource.kind, "metadata": { "name": name } });
    if resource.namespaced {
        body["metadata"]["namespace"] = "shop".into();
    }
    switchboard_object::patch::merge::apply(body, more).unwrap()
}

fn config_map(data: Value) -> Value {
    body(&CONFIG_MAPS, "web", json!({ "data": data }))
}

/// Reader with the objects that a unit has read, and the names of absent ones.
#[derive(Default)]
struct MapReader {
    objects: BTreeMap<ObjectKey, Object>,
    reads: Reads,
}

impl MapReader {
    fn object(mut self, revision: u64, mut value: Value) -> Self {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap().to_string();
        let resource = ALL.iter().find(|resource| resource.kind == text("/kind")).unwrap();
        let key = key(resource, &text("/metadata/name"));
        value["metadata"]["uid"] = format!("uid-of-{}", key.name).into();
        value["metadata"]["resourceVersion"] = revision.to_string().into();
        let json = value.to_string().into_bytes().into();
        self.reads.gets.insert(key.clone(), Some(revision));
        self.objects.insert(key.clone(), Object { key, revision, json });
        self
    }

    fn absent(mut self, key: ObjectKey) -> Self {
        self.reads.gets.insert(key, None);
        self
    }
}

impl Reader for MapReader {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        Some(self.objects.get(key).cloned())
    }

    fn list(&self, _: &ListQuery, _: &LabelSelector) -> Option<Vec<Object>> {
        None
    }

    fn revision(&self, _: &ClusterName) -> u64 {
        100
    }
}

/// Checks mutations of an operator that may write every kind on the configuration cluster.
fn judge(seen: &MapReader, mutations: Vec<Mutation>) -> ArbiterResult {
    judge_with(&ALL.iter().map(AccessRule::every).collect::<Vec<_>>(), 7, seen, mutations)
}

fn judge_with(outputs: &[AccessRule], decision: u64, seen: &MapReader, mutations: Vec<Mutation>) -> ArbiterResult {
    judge_plan(outputs, decision, seen, &Plan { mutations, ..Plan::default() })
}

fn judge_plan(outputs: &[AccessRule], decision: u64, seen: &MapReader, plan: &Plan) -> ArbiterResult {
    judge_at(&Topology::standalone(&ClusterName::new("home")), outputs, decision, seen, plan)
}

fn judge_at(
    topology: &Topology,
    outputs: &[AccessRule],
    decision: u64,
    seen: &MapReader,
    plan: &Plan,
) -> ArbiterResult {
    let declaration = Declaration {
        inputs: Default::default(),
        outputs: outputs.iter().cloned().collect(),
        service_account: None,
        units: Units::Whole,
    };
    Arbiter::default().arbitrate(ArbiterInput {
        unit: &unit("plugs"),
        declaration: &declaration,
        topology,
        decision: DecisionId(decision),
        mutations: plan.mutations.clone(),
        ordered: plan.ordered,
        reads: &seen.reads,
        reader: seen,
    })
}

fn told(writes: &[Write]) -> Vec<String> {
    writes.iter().map(|write| write.mutation.to_string()).collect()
}
