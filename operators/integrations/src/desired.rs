//! Desired objects of every cluster and namespace, with their hashes and shards.

mod build;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use switchboard_kernel::resource::Resource;

pub use build::DesiredBuilder;

use crate::annotations;
use crate::model::{DisabledEntry, IntegrationNamespace, ManagedEntry};
use crate::parameters::SourcedParameters;
use crate::problem::DataProblem;
use crate::sharding::Shard;
use crate::values;

/// Kinds that are managed.
pub static KINDS: [Resource; 4] = [
    Resource::namespaced("apps", "v1", "Deployment", "deployments"),
    Resource::namespaced("apps", "v1", "StatefulSet", "statefulsets"),
    Resource::namespaced("batch", "v1", "CronJob", "cronjobs"),
    Resource::namespaced("", "v1", "Service", "services"),
];

/// Returns the resource of a managed kind.
pub fn resource(kind: &str) -> Option<&'static Resource> {
    KINDS.iter().find(|resource| resource.kind == kind)
}

/// Desired object.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredObject {
    /// Resource of the object.
    pub kind: &'static Resource,
    /// Name of the object.
    pub name: String,
    /// Object without the manager's annotations.
    pub body: Value,
    /// Hash of the object.
    pub hash: String,
    /// Shard of the object; `None` for shared objects.
    pub shard: Option<Shard>,
}

/// Integration in a namespace.
#[derive(Clone, Debug)]
pub struct DesiredIntegration {
    /// Entry in the data.
    pub entry: ManagedEntry,
    /// Shards of the integration.
    pub shards: Vec<Shard>,
    /// Objects of the integration, in the chart's order.
    pub objects: Arc<Vec<DesiredObject>>,
    /// Parameters that were passed to the Template.
    pub parameters: Arc<SourcedParameters>,
    /// Problems with objects that could not become shards. Their existing workloads are kept.
    pub incomplete: Vec<DataProblem>,
}

impl DesiredIntegration {
    /// Returns the chart values of the integration.
    pub fn values(&self) -> Value {
        values::of_entry(&self.entry, &self.shards)
    }
}

/// Namespace on a cluster.
#[derive(Clone, Debug)]
pub struct DesiredNamespace {
    /// Namespace in the data.
    pub namespace: Arc<IntegrationNamespace>,
    /// Integrations in the namespace, in the order of the data.
    pub integrations: Vec<DesiredIntegration>,
    /// Objects that belong to no single integration.
    pub shared: Arc<Vec<DesiredObject>>,
    /// Parameters of the shared objects.
    pub shared_parameters: Arc<SourcedParameters>,
    /// Problem that prevented rendering the shared objects. Existing ones are kept.
    pub broken: Option<DataProblem>,
}

impl DesiredNamespace {
    /// Returns all objects in the chart's order: workloads, CronJobs, shared objects.
    pub fn objects(&self) -> Vec<&DesiredObject> {
        let (crons, others): (Vec<&DesiredIntegration>, Vec<&DesiredIntegration>) =
            self.integrations.iter().partition(|one| values::is_cron(&one.entry.spec));
        let all = others.into_iter().chain(crons).flat_map(|one| one.objects.iter());
        all.chain(self.shared.iter()).collect()
    }

    /// Returns the chart values of all integrations, in the form qontract-reconcile passes to the chart.
    pub fn values(&self) -> Map<String, Value> {
        values::of_all(self.integrations.iter().map(DesiredIntegration::values))
    }

    /// Finds an integration by name.
    pub fn integration(&self, name: &str) -> Option<&DesiredIntegration> {
        self.integrations.iter().find(|one| *one.entry.integration == *name)
    }
}

/// Cluster and namespace.
pub type NamespaceKey = (Arc<str>, Arc<str>);

/// Desired objects of one bundle.
#[derive(Clone, Debug, Default)]
pub struct DesiredObjects {
    /// SHA of the bundle.
    pub sha: String,
    /// Commit of the bundle.
    pub commit: Option<String>,
    /// Caller that the objects are managed for.
    pub caller: String,
    /// Whether no upstream was configured, so that the caller is the default one and integrations of all upstreams are
    /// included.
    pub is_upstream_default: bool,
    /// Namespaces with their desired objects.
    pub namespaces: BTreeMap<NamespaceKey, DesiredNamespace>,
    /// Namespaces of the data without integrations.
    pub empty: Vec<Arc<IntegrationNamespace>>,
    /// Entries that are not used, with the reason.
    pub disabled: Vec<DisabledEntry>,
    /// Unreadable files that may define integrations.
    pub unreadable: Vec<DataProblem>,
    /// Unreadable files of schemas that are not used.
    pub unrelated: Vec<DataProblem>,
    /// Number of charts that were rendered, without cached results.
    pub rendered: usize,
}

impl DesiredObjects {
    /// Returns all problems, sorted by file.
    pub fn problems(&self) -> Vec<DataProblem> {
        let disabled = self.disabled.iter().map(|one| &one.problem);
        let incomplete =
            self.namespaces.values().flat_map(|target| &target.integrations).flat_map(|one| &one.incomplete);
        let broken = self.namespaces.values().filter_map(|target| target.broken.as_ref());
        let files = self.unreadable.iter().chain(&self.unrelated);
        let mut problems: Vec<DataProblem> = files.chain(disabled).chain(incomplete).chain(broken).cloned().collect();
        problems.sort();
        problems.dedup();
        problems
    }

    /// Returns the number of desired objects.
    pub fn len(&self) -> usize {
        self.namespaces.values().map(|target| target.objects().len()).sum()
    }

    /// Whether there are no desired objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an object with its annotations except the update time.
    pub fn annotated(&self, object: &DesiredObject) -> Value {
        annotations::annotate_with(&object.body, &self.caller, &object.hash, None)
    }
}

#[cfg(test)]
pub(crate) mod tests;
