//! Repeated creations of objects with `generateName`.
//!
//! A program without memory between runs creates a new object in every run, like a controller that keeps its key in
//! memory. Existing objects are therefore compared first: an equal object is not created again, and of objects that
//! differ only in changing values, at most [`MAX_ALIKE`] are created.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use switchboard_gather::mutation;
use switchboard_kernel::object::Object;
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, WriteOp};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::topology::{ClusterName, ClusterType, Topology};
use switchboard_kernel::view::View;

use crate::contract::Contract;
use crate::declaration::{ContractKinds, cluster_type};
use crate::inputs::{is_generated_with, name_prefix};

/// Maximum number of objects of one `generateName` with the same fields.
pub const MAX_ALIKE: usize = 3;

/// Existing objects with declared `generateName`s.
pub(crate) struct GeneratedObjects {
    /// Each object once, even if two cluster types are the same cluster.
    existing: Vec<(ClusterType, Resource, Object)>,
    topology: Arc<Topology>,
}

/// Decision about a create.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CreateDecision {
    /// The object is new.
    Create,
    /// An equal object exists.
    Exists,
    /// Too many similar objects exist.
    TooMany(String),
}

impl GeneratedObjects {
    /// Reads the existing objects.
    pub fn read(contract: &Contract, kinds: &ContractKinds, view: &View) -> Result<Self, DecideError> {
        let mut made = Self::empty(view.topology().clone());
        for at in mutation::OutputCluster::DECLARED {
            let (Some(list), Some(here)) = (contract.outputs.list(at), cluster_type(at)) else { continue };
            for one in &list.generated_name_resources {
                let Some(resource) = kinds.resource(&one.of) else { continue };
                let all = if resource.namespaced && !one.namespace.is_empty() {
                    Selection::namespace(&one.namespace)
                } else {
                    Selection::all()
                };
                let found =
                    view.on(here).list(resource, &all.with_prefix(name_prefix(&one.generated_name)))?.into_iter();
                let found = found.filter(|object| is_generated_with(object, &one.generated_name));
                found.for_each(|object| made.record(here, resource, object));
            }
        }
        Ok(made)
    }

    /// Returns an empty set.
    pub fn empty(topology: Arc<Topology>) -> Self {
        Self { existing: Vec::new(), topology }
    }

    fn record(&mut self, at: ClusterType, resource: &Resource, object: Object) {
        let known = |(other, of, there): &(ClusterType, Resource, Object)| {
            there.key.name == object.key.name
                && is_same_kind(of, resource)
                && self.real_namespace(*other, &there.key.namespace) == self.real_namespace(at, &object.key.namespace)
        };
        if !self.existing.iter().any(known) {
            self.existing.push((at, resource.clone(), object));
        }
    }

    /// Returns the real cluster and namespace of a location.
    pub fn real_namespace<'a>(&'a self, place: ClusterType, namespace: &'a str) -> (&'a ClusterName, Cow<'a, str>) {
        (self.topology.cluster(place), self.topology.namespaces(place).to_cluster(namespace))
    }

    /// Whether the plan contains the same write, possibly for another cluster type that is the same cluster.
    pub fn is_planned(&self, wanted: &Mutation, planned: &[Mutation]) -> bool {
        planned.iter().any(|other| {
            self.topology.is_same(other.cluster_type, wanted.cluster_type) && other.equals_except_cluster_type(wanted)
        })
    }

    /// Decides about a write in addition to the planned ones. Only creates with `generateName` can be redundant.
    pub fn decide(&self, wanted: &Mutation, planned: &[Mutation]) -> CreateDecision {
        let WriteOp::Create(body) = &wanted.operation else { return CreateDecision::Create };
        let prefix = body.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default();
        if !wanted.name.is_empty() || prefix.is_empty() {
            return CreateDecision::Create;
        }
        let (mut equal, mut alike) = (false, 0);
        let home = self.real_namespace(wanted.cluster_type, &wanted.namespace);
        let of_kind = self.existing.iter().filter(|(at, resource, object)| {
            is_same_kind(resource, &wanted.resource) && self.real_namespace(*at, &object.key.namespace) == home
        });
        let there =
            of_kind.filter(|(_, _, object)| is_generated_with(object, prefix)).map(|(_, _, object)| object.value());
        let here = planned.iter().filter_map(|other| match &other.operation {
            WriteOp::Create(made)
                if other.name.is_empty()
                    && self.real_namespace(other.cluster_type, &other.namespace) == home
                    && is_same_kind(&other.resource, &wanted.resource)
                    && made.pointer("/metadata/generateName").and_then(Value::as_str) == Some(prefix) =>
            {
                Some(made.clone())
            }
            _ => None,
        });
        for one in there.chain(here) {
            equal |= contains(&one, body, &|a, b| a == b);
            alike += usize::from(contains(&one, body, &|a, b| std::mem::discriminant(a) == std::mem::discriminant(b)));
        }
        match alike {
            _ if equal => CreateDecision::Exists,
            MAX_ALIKE.. => CreateDecision::TooMany(format!(
                "creates a new {} named {prefix}* in every run: {alike} exist with the same fields and other values; remove random values from the output",
                wanted.resource
            )),
            _ => CreateDecision::Create,
        }
    }
}

/// Whether two resources are the same kind, in any version.
fn is_same_kind(one: &Resource, other: &Resource) -> bool {
    (&one.group, &one.plural) == (&other.group, &other.plural)
}

/// Whether an object has every field of another, with values that compare as `same`.
fn contains(object: &Value, wanted: &Value, same: &dyn Fn(&Value, &Value) -> bool) -> bool {
    match (object, wanted) {
        (Value::Object(object), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| match object.get(key) {
                Some(there) => contains(there, value, same),
                // Empty values may be missing, and the cache may omit version and kind.
                None => is_empty(value) || matches!(key.as_str(), "apiVersion" | "kind"),
            })
        }
        (Value::Array(object), Value::Array(wanted)) => {
            object.len() == wanted.len() && object.iter().zip(wanted).all(|(there, value)| contains(there, value, same))
        }
        _ => same(object, wanted),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
