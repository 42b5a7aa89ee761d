//! From a program's contract to what the kernel knows of an operator.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use switchboard_gather::contract::{EVERY, ExactResource, OutputList, ResourceType};
use switchboard_gather::discovery::Discovery;
use switchboard_gather::mutation;
use switchboard_kernel::operator::{Declaration, Declared, ServiceAccount, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::resource::Resource;

use crate::contract::Contract;

/// Events, which are declared by namespace alone.
const EVENTS: [(&str, &str); 2] = [("", "v1"), ("events.k8s.io", "v1")];

/// What the types of a contract are on the clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Kinds {
    kinds: BTreeMap<ResourceType, Resource>,
    /// Where a type is read: where it is written, and else where configuration is.
    places: BTreeMap<(String, String), Place>,
}

/// The three places of a contract, as the kernel names them.
pub(crate) fn place(place: mutation::Place) -> Option<Place> {
    match place {
        mutation::Place::Configuration => Some(Place::Configuration),
        mutation::Place::Management => Some(Place::Management),
        mutation::Place::UserWorkload => Some(Place::UserWorkload),
        mutation::Place::Unspecified => None,
    }
}

impl Kinds {
    /// Of a contract, as a cluster's discovery knows them; and the types that nobody knows.
    pub fn of(contract: &Contract, discovery: &Discovery) -> (Self, Vec<ResourceType>) {
        let served = |of: &ResourceType| {
            let served = discovery.served(of).or_else(|| Discovery::carried().served(of))?;
            Some(Resource {
                group: Cow::Owned(of.group.clone()),
                version: Cow::Owned(of.version.clone()),
                kind: Cow::Owned(served.kind.kind.clone()),
                plural: Cow::Owned(of.resource.clone()),
                namespaced: served.namespaced,
            })
        };
        let (known, unknown): (Vec<_>, Vec<_>) =
            types(contract).into_iter().map(|of| (served(&of), of)).partition(|(served, _)| served.is_some());
        let known = known.into_iter().filter_map(|(served, of)| Some((of, served?)));
        (Self::known(contract, known), unknown.into_iter().map(|(_, of)| of).collect())
    }

    /// Of a contract, with kinds that are known already.
    pub fn known(contract: &Contract, known: impl IntoIterator<Item = (ResourceType, Resource)>) -> Self {
        let mut kinds = Self { kinds: known.into_iter().collect(), places: BTreeMap::new() };
        for (at, list) in lists(contract) {
            for of in written(list) {
                kinds.places.entry((of.group.clone(), of.resource.clone())).or_insert(at);
            }
        }
        kinds
    }

    /// The kernel's name for a type; nothing when it is not served.
    pub fn resource(&self, of: &ResourceType) -> Option<&Resource> {
        self.kinds.get(of)
    }

    /// The same for a write, whose version is not compared with the declared one.
    pub fn written(&self, of: &ResourceType) -> Option<Resource> {
        if let Some(resource) = self.kinds.get(of) {
            return Some(resource.clone());
        }
        let same = |known: &&Resource| known.group == of.group && known.plural == of.resource;
        let known = self.kinds.values().find(same)?;
        Some(Resource { version: Cow::Owned(of.version.clone()), ..known.clone() })
    }

    /// Where objects of a type are read.
    pub fn place(&self, of: &ResourceType) -> Place {
        self.places.get(&(of.group.clone(), of.resource.clone())).copied().unwrap_or_default()
    }

    /// The types that are known, each with its kind.
    pub fn types(&self) -> impl Iterator<Item = (&ResourceType, &Resource)> {
        self.kinds.iter()
    }
}

/// What the kernel is told of the program.
pub(crate) fn declaration(contract: &Contract, kinds: &Kinds, account: Option<ServiceAccount>) -> Declaration {
    let mut inputs = BTreeSet::new();
    let mut read = |of: &ResourceType, at: Place, namespace: &str, name: &str| {
        inputs.extend(kinds.resource(of).map(|resource| declared(resource, at, namespace, name)));
    };
    let list = &contract.inputs.apply_configuration_resources;
    list.exact_resources.iter().for_each(|one| read(&one.of, kinds.place(&one.of), &one.namespace, &one.name));
    list.generated_name_resources.iter().for_each(|one| read(&one.of, kinds.place(&one.of), &one.namespace, ""));
    list.label_selected_resources.iter().for_each(|one| read(&one.of, kinds.place(&one.of), &one.namespace, ""));
    for reference in &list.resource_references {
        let ExactResource { of, namespace, name } = &reference.referring_resource;
        read(of, kinds.place(of), namespace, name);
        if let Some(to) = &reference.implicit_namespaced_reference {
            read(&to.of, kinds.place(&to.of), &to.namespace, "");
        }
        if let Some(to) = &reference.explicit_namespaced_reference {
            read(&to.of, kinds.place(&to.of), "", "");
        }
        if let Some(to) = &reference.cluster_scoped_reference {
            read(&to.of, kinds.place(&to.of), "", "");
        }
    }
    let mut outputs = BTreeSet::new();
    for (at, list) in lists(contract) {
        for one in &list.exact_resources {
            outputs.extend(kinds.resource(&one.of).map(|of| declared(of, at, &one.namespace, &one.name)));
        }
        for one in &list.generated_name_resources {
            // What was made before is looked at before more is made.
            inputs.extend(kinds.resource(&one.of).map(|of| declared(of, at, &one.namespace, "")));
            let name = format!("{}*", one.generated_name);
            outputs.extend(kinds.resource(&one.of).map(|of| declared(of, at, &one.namespace, &name)));
        }
        for (namespace, of) in
            list.eventing_namespaces.iter().flat_map(|namespace| events().map(move |of| (namespace, of)))
        {
            outputs.extend(kinds.resource(&of).map(|of| declared(of, at, namespace, "")));
        }
    }
    Declaration { inputs, outputs, service_account: account, units: Units::Whole }
}

/// Namespaces are written as if they were in themselves, and live in none.
fn declared(resource: &Resource, place: Place, namespace: &str, name: &str) -> Declared {
    let given = |text: &str| (!text.is_empty() && text != EVERY).then(|| Arc::from(text));
    let namespace = given(namespace).filter(|_| resource.namespaced);
    Declared { place, resource: resource.clone(), namespace, name: given(name) }
}

fn lists(contract: &Contract) -> impl Iterator<Item = (Place, &OutputList)> {
    let all = mutation::Place::DECLARED.into_iter();
    all.filter_map(|at| Some((place(at)?, contract.outputs.list(at)?)))
}

fn events() -> impl Iterator<Item = ResourceType> {
    EVENTS.iter().map(|(group, version)| ResourceType::new(group, version, "events"))
}

fn written(list: &OutputList) -> impl Iterator<Item = &ResourceType> {
    list.exact_resources.iter().map(|one| &one.of).chain(list.generated_name_resources.iter().map(|one| &one.of))
}

/// Every type a contract names.
fn types(contract: &Contract) -> BTreeSet<ResourceType> {
    let list = &contract.inputs.apply_configuration_resources;
    let mut types: BTreeSet<ResourceType> = list.exact_resources.iter().map(|one| one.of.clone()).collect();
    types.extend(list.generated_name_resources.iter().map(|one| one.of.clone()));
    types.extend(list.label_selected_resources.iter().map(|one| one.of.clone()));
    for reference in &list.resource_references {
        types.insert(reference.referring_resource.of.clone());
        types.extend(reference.implicit_namespaced_reference.as_ref().map(|to| to.of.clone()));
        types.extend(reference.explicit_namespaced_reference.as_ref().map(|to| to.of.clone()));
        types.extend(reference.cluster_scoped_reference.as_ref().map(|to| to.of.clone()));
    }
    for (_, list) in lists(contract) {
        types.extend(written(list).cloned());
        if !list.eventing_namespaces.is_empty() {
            types.extend(events());
        }
    }
    types
}

#[cfg(test)]
mod tests;
