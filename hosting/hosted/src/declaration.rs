//! Conversion of a program's contract to a kernel declaration.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use switchboard_gather::contract::{ExactResource, OutputList, ResourceType, WILDCARD};
use switchboard_gather::discovery::Discovery;
use switchboard_gather::mutation;
use switchboard_kernel::operator::{AccessRule, Declaration, ServiceAccount, Units};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::topology::ClusterType;

use crate::contract::Contract;

/// Events, which are declared by namespace only.
const EVENTS: [(&str, &str); 2] = [("", "v1"), ("events.k8s.io", "v1")];

/// Resources of a contract, and the cluster types of its objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ContractKinds {
    kinds: BTreeMap<ResourceType, Resource>,
    locations: WriteLocations,
}

/// Cluster types of declared outputs. Objects are read from the cluster that they are written to.
#[derive(Clone, Debug, Default, PartialEq)]
struct WriteLocations {
    /// By group, resource, namespace and name.
    objects: BTreeMap<[String; 4], ClusterType>,
    /// By group, resource and namespace.
    lists: BTreeMap<[String; 3], ClusterType>,
    /// By group and resource.
    types: BTreeMap<[String; 2], ClusterType>,
    /// By namespace, for any resource.
    namespaces: BTreeMap<String, ClusterType>,
}

impl WriteLocations {
    /// Records an output. The first entry wins, in the order configuration, management, user workload.
    fn record(&mut self, of: &ResourceType, namespace: &str, name: &str, at: ClusterType) {
        let [group, resource, namespace, name] =
            [&*of.group, &*of.resource, effective_namespace(of, namespace), name].map(str::to_string);
        self.types.entry([group.clone(), resource.clone()]).or_insert(at);
        if !namespace.is_empty() {
            self.namespaces.entry(namespace.clone()).or_insert(at);
            self.lists.entry([group.clone(), resource.clone(), namespace.clone()]).or_insert(at);
        }
        self.objects.entry([group, resource, namespace, name]).or_insert(at);
    }

    fn of(&self, of: &ResourceType, namespace: &str, name: &str) -> Option<ClusterType> {
        let filled = self.namespaces.get(name).filter(|_| is_namespaces(of)).copied();
        let [group, resource, namespace, name] =
            [&*of.group, &*of.resource, effective_namespace(of, namespace), name].map(str::to_string);
        if let Some(at) = self.objects.get(&[group.clone(), resource.clone(), namespace.clone(), name]) {
            return Some(*at);
        }
        if namespace.is_empty() {
            // A Namespace is on the cluster of the objects written in it.
            return filled.or_else(|| self.types.get(&[group, resource]).copied());
        }
        let list = |namespace: &str| self.lists.get(&[group.clone(), resource.clone(), namespace.to_string()]);
        list(&namespace).or_else(|| list(WILDCARD)).or_else(|| self.namespaces.get(&namespace)).copied()
    }

    /// Returns the cluster types where objects of a type in a namespace may be; for [`WILDCARD`], in any namespace.
    fn all_of(&self, of: &ResourceType, namespace: &str) -> BTreeSet<ClusterType> {
        let spread = namespace == WILDCARD || is_namespaces(of);
        let there = |[group, resource, at, _]: &[String; 4]| {
            *group == of.group && *resource == of.resource && (spread || at == namespace)
        };
        let named = self.objects.iter().filter(|(key, _)| there(key)).map(|(_, at)| *at);
        let others = if spread { None } else { self.of(of, namespace, "") }.unwrap_or_default();
        let filled = self.namespaces.values().filter(|_| spread).copied();
        named.chain(filled).chain([others]).collect()
    }
}

fn is_namespaces(of: &ResourceType) -> bool {
    of.group.is_empty() && of.resource == "namespaces"
}

/// Returns the namespace of an object. Contracts list a Namespace as if it were in itself, but it is cluster-scoped.
fn effective_namespace<'a>(of: &ResourceType, namespace: &'a str) -> &'a str {
    if is_namespaces(of) { "" } else { namespace }
}

/// Converts a location of the contract to the kernel's cluster type.
pub(crate) fn cluster_type(place: mutation::OutputCluster) -> Option<ClusterType> {
    match place {
        mutation::OutputCluster::Configuration => Some(ClusterType::Configuration),
        mutation::OutputCluster::Management => Some(ClusterType::Management),
        mutation::OutputCluster::UserWorkload => Some(ClusterType::UserWorkload),
        mutation::OutputCluster::Unspecified => None,
    }
}

impl ContractKinds {
    /// Creates the kinds of a contract with the discovery of a cluster. Also returns the types that no cluster serves.
    pub fn of(contract: &Contract, discovery: &Discovery) -> (Self, Vec<ResourceType>) {
        let served = |of: &ResourceType| {
            let served = discovery.served(of).or_else(|| Discovery::bundled().served(of))?;
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
        (Self::with_resources(contract, known), unknown.into_iter().map(|(_, of)| of).collect())
    }

    /// Creates the kinds of a contract with known resources.
    pub fn with_resources(contract: &Contract, known: impl IntoIterator<Item = (ResourceType, Resource)>) -> Self {
        let mut places = WriteLocations::default();
        for (at, list) in lists(contract) {
            list.exact_resources.iter().for_each(|one| places.record(&one.of, &one.namespace, &one.name, at));
            list.generated_name_resources.iter().for_each(|one| places.record(&one.of, &one.namespace, "", at));
        }
        Self { kinds: known.into_iter().collect(), locations: places }
    }

    /// Returns the resource of a type, or `None` if no cluster serves it.
    pub fn resource(&self, of: &ResourceType) -> Option<&Resource> {
        self.kinds.get(of)
    }

    /// Returns the resource of a write, whose version may differ from the declared one.
    pub fn resource_for_write(&self, of: &ResourceType) -> Option<Resource> {
        if let Some(resource) = self.kinds.get(of) {
            return Some(resource.clone());
        }
        let same = |known: &&Resource| known.group == of.group && known.plural == of.resource;
        let known = self.kinds.values().find(same)?;
        Some(Resource { version: Cow::Owned(of.version.clone()), ..known.clone() })
    }

    /// Returns the cluster type where an object is read: where the contract writes the object, or else objects of its
    /// type in its namespace, or else any object in its namespace. For a Namespace, objects in it count. The default is
    /// the configuration cluster.
    pub fn cluster_type(&self, of: &ResourceType, namespace: &str, name: &str) -> ClusterType {
        self.locations.of(of, namespace, name).unwrap_or_default()
    }

    /// Returns the cluster types where a list is read. If two clusters have an object of the same name, the one at
    /// [`ContractKinds::cluster_type`] wins.
    pub fn cluster_types(&self, of: &ResourceType, namespace: &str) -> BTreeSet<ClusterType> {
        let every = namespace.is_empty() && self.resource(of).is_some_and(|resource| resource.namespaced);
        self.locations.all_of(of, if every { WILDCARD } else { namespace })
    }

    /// Iterates over the known types and their resources.
    pub fn types(&self) -> impl Iterator<Item = (&ResourceType, &Resource)> {
        self.kinds.iter()
    }
}

/// Returns the kernel declaration of the program.
pub(crate) fn declaration(contract: &Contract, kinds: &ContractKinds, account: Option<ServiceAccount>) -> Declaration {
    let mut inputs = BTreeSet::new();
    let mut read = |of: &ResourceType, at: ClusterType, namespace: &str, name: &str| {
        inputs.extend(kinds.resource(of).map(|resource| declared(resource, at, namespace, name)));
    };
    let list = &contract.inputs.apply_configuration_resources;
    let made = list.generated_name_resources.iter().map(|one| (&one.of, &one.namespace));
    let listed = made.chain(list.label_selected_resources.iter().map(|one| (&one.of, &one.namespace)));
    for (of, namespace) in listed {
        kinds.cluster_types(of, namespace).into_iter().for_each(|at| read(of, at, namespace, ""));
    }
    let referring = list.resource_references.iter().map(|reference| &reference.referring_resource);
    for ExactResource { of, namespace, name } in list.exact_resources.iter().chain(referring) {
        read(of, kinds.cluster_type(of, namespace, name), namespace, name);
    }
    for reference in &list.resource_references {
        // The target is known only after the referring object is read. It is then read from the cluster that it is
        // written to.
        let implicit = reference.implicit_namespaced_reference.as_ref().map(|to| (&to.of, to.namespace.as_str()));
        let explicit = reference.explicit_namespaced_reference.as_ref().map(|to| (&to.of, WILDCARD));
        let scoped = reference.cluster_scoped_reference.as_ref().map(|to| (&to.of, ""));
        for (of, namespace) in [implicit, explicit, scoped].into_iter().flatten() {
            kinds.locations.all_of(of, namespace).into_iter().for_each(|at| read(of, at, namespace, ""));
        }
    }
    let mut outputs = BTreeSet::new();
    for (at, list) in lists(contract) {
        for one in &list.exact_resources {
            outputs.extend(kinds.resource(&one.of).map(|of| declared(of, at, &one.namespace, &one.name)));
        }
        for one in &list.generated_name_resources {
            // Existing objects are read before further ones are created.
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

fn declared(resource: &Resource, place: ClusterType, namespace: &str, name: &str) -> AccessRule {
    let given = |text: &str| (!text.is_empty() && text != WILDCARD).then(|| Arc::from(text));
    let namespace = given(namespace).filter(|_| resource.namespaced);
    AccessRule { cluster_type: place, resource: resource.clone(), namespace, name: given(name) }
}

fn lists(contract: &Contract) -> impl Iterator<Item = (ClusterType, &OutputList)> {
    let all = mutation::OutputCluster::DECLARED.into_iter();
    all.filter_map(|at| Some((cluster_type(at)?, contract.outputs.list(at)?)))
}

fn events() -> impl Iterator<Item = ResourceType> {
    EVENTS.iter().map(|(group, version)| ResourceType::new(group, version, "events"))
}

fn written_types(list: &OutputList) -> impl Iterator<Item = &ResourceType> {
    list.exact_resources.iter().map(|one| &one.of).chain(list.generated_name_resources.iter().map(|one| &one.of))
}

/// Returns all types of a contract.
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
        types.extend(written_types(list).cloned());
        if !list.eventing_namespaces.is_empty() {
            types.extend(events());
        }
    }
    types
}

#[cfg(test)]
mod tests;
