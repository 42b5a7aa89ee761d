//! Objects that leave their name to the server, made again and again.
//!
//! A program that remembers nothing between runs makes a new one each time, as a controller that keeps its key in memory does.
//! What is there already is looked at first: an equal object is not made again, and of objects that are alike but for values
//! that change with every run, no more than [`MAX_ALIKE`] are made.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use switchboard_gather::mutation;
use switchboard_kernel::object::Object;
use switchboard_kernel::operator::Stop;
use switchboard_kernel::place::{ClusterName, Place, Topology};
use switchboard_kernel::plan::{Act, Mutation};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::View;

use crate::contract::Contract;
use crate::declare::{Kinds, place};
use crate::inputs::{kept, made_with};

/// How many objects of one `generateName` may be alike.
pub const MAX_ALIKE: usize = 3;

/// What was made with declared `generateName`s.
pub(crate) struct Made {
    /// Each once, whichever of two places that are one it was found at.
    there: Vec<(Place, Resource, Object)>,
    topology: Arc<Topology>,
}

/// What is to be done with a create.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is new.
    Make,
    /// There is an equal one.
    There,
    /// There are too many like it.
    TooMany(String),
}

impl Made {
    /// Reads what there is.
    pub fn read(contract: &Contract, kinds: &Kinds, view: &View) -> Result<Self, Stop> {
        let mut made = Self::nothing(view.topology().clone());
        for at in mutation::Place::DECLARED {
            let (Some(list), Some(here)) = (contract.outputs.list(at), place(at)) else { continue };
            for one in &list.generated_name_resources {
                let Some(resource) = kinds.resource(&one.of) else { continue };
                let all = if resource.namespaced && !one.namespace.is_empty() {
                    Selection::namespace(&one.namespace)
                } else {
                    Selection::all()
                };
                let found = view.at(here).list(resource, &all.beginning(kept(&one.generated_name)))?.into_iter();
                let found = found.filter(|object| made_with(object, &one.generated_name));
                found.for_each(|object| made.note(here, resource, object));
            }
        }
        Ok(made)
    }

    /// Nothing was.
    pub fn nothing(topology: Arc<Topology>) -> Self {
        Self { there: Vec::new(), topology }
    }

    fn note(&mut self, at: Place, resource: &Resource, object: Object) {
        let known = |(other, of, there): &(Place, Resource, Object)| {
            there.key.name == object.key.name
                && is_same_kind(of, resource)
                && self.home(*other, &there.key.namespace) == self.home(at, &object.key.namespace)
        };
        if !self.there.iter().any(known) {
            self.there.push((at, resource.clone(), object));
        }
    }

    /// The real namespace, of the real cluster.
    pub fn home<'a>(&'a self, place: Place, namespace: &'a str) -> (&'a ClusterName, Cow<'a, str>) {
        (self.topology.cluster(place), self.topology.namespaces(place).real(namespace))
    }

    /// Whether one of them is the same write, perhaps for another place that is the same.
    pub fn is_among(&self, wanted: &Mutation, planned: &[Mutation]) -> bool {
        planned.iter().any(|other| self.topology.is_one(other.place, wanted.place) && other.is_same_elsewhere(wanted))
    }

    /// What is to be done with a write, beside those that are planned already; everything but a create that leaves its name
    /// to the server is new.
    pub fn judge(&self, wanted: &Mutation, planned: &[Mutation]) -> Verdict {
        let Act::Create(body) = &wanted.act else { return Verdict::Make };
        let prefix = body.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default();
        if !wanted.name.is_empty() || prefix.is_empty() {
            return Verdict::Make;
        }
        let (mut equal, mut alike) = (false, 0);
        let home = self.home(wanted.place, &wanted.namespace);
        let of_kind = self.there.iter().filter(|(at, resource, object)| {
            is_same_kind(resource, &wanted.resource) && self.home(*at, &object.key.namespace) == home
        });
        let there = of_kind.filter(|(_, _, object)| made_with(object, prefix)).map(|(_, _, object)| object.value());
        let here = planned.iter().filter_map(|other| match &other.act {
            Act::Create(made)
                if other.name.is_empty()
                    && self.home(other.place, &other.namespace) == home
                    && is_same_kind(&other.resource, &wanted.resource)
                    && made.pointer("/metadata/generateName").and_then(Value::as_str) == Some(prefix) =>
            {
                Some(made.clone())
            }
            _ => None,
        });
        for one in there.chain(here) {
            equal |= holds(&one, body, &|a, b| a == b);
            alike += usize::from(holds(&one, body, &|a, b| std::mem::discriminant(a) == std::mem::discriminant(b)));
        }
        match alike {
            _ if equal => Verdict::There,
            MAX_ALIKE.. => Verdict::TooMany(format!(
                "makes {prefix}* of {} again and again: {alike} are there that differ in values alone, as of something random",
                wanted.resource
            )),
            _ => Verdict::Make,
        }
    }
}

/// An object is the same in whatever version it was read and is written.
fn is_same_kind(one: &Resource, other: &Resource) -> bool {
    (&one.group, &one.plural) == (&other.group, &other.plural)
}

/// Whether an object holds every field of another, with values that compare so.
fn holds(object: &Value, wanted: &Value, same: &dyn Fn(&Value, &Value) -> bool) -> bool {
    match (object, wanted) {
        (Value::Object(object), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| match object.get(key) {
                Some(there) => holds(there, value, same),
                // What is empty need not be there; a version or a kind, the cache may leave out.
                None => is_empty(value) || matches!(key.as_str(), "apiVersion" | "kind"),
            })
        }
        (Value::Array(object), Value::Array(wanted)) => {
            object.len() == wanted.len() && object.iter().zip(wanted).all(|(there, value)| holds(there, value, same))
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
