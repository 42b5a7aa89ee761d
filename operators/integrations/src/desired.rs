//! What is wanted on every cluster, in every namespace: objects with their hashes, and whose shard each is.

mod build;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use switchboard_kernel::resource::Resource;

pub use build::Builder;

use crate::annotations;
use crate::model::{Disabled, Entry, Namespace};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::sharding::Shard;
use crate::values;

/// The kinds that are made and looked after, and no others.
pub static KINDS: [Resource; 4] = [
    Resource::namespaced("apps", "v1", "Deployment", "deployments"),
    Resource::namespaced("apps", "v1", "StatefulSet", "statefulsets"),
    Resource::namespaced("batch", "v1", "CronJob", "cronjobs"),
    Resource::namespaced("", "v1", "Service", "services"),
];

/// The kind of that name.
pub fn resource(kind: &str) -> Option<&'static Resource> {
    KINDS.iter().find(|resource| resource.kind == kind)
}

/// An object that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its kind.
    pub kind: &'static Resource,
    /// Its name.
    pub name: String,
    /// The object, without marks.
    pub body: Value,
    /// Its hash.
    pub hash: String,
    /// The shard it is; none for what is shared.
    pub shard: Option<Shard>,
}

/// An integration in a namespace.
#[derive(Clone, Debug)]
pub struct Installed {
    /// What the data says.
    pub entry: Entry,
    /// Its shards.
    pub shards: Vec<Shard>,
    /// Its objects, in the chart's order.
    pub objects: Arc<Vec<Object>>,
    /// The parameters that were given.
    pub parameters: Arc<Parameters>,
    /// Objects of the data that could not be made shards of: what they made before is not to be removed.
    pub incomplete: Vec<Problem>,
}

impl Installed {
    /// Its values, as charts get them.
    pub fn values(&self) -> Value {
        values::of_entry(&self.entry, &self.shards)
    }
}

/// A namespace on a cluster.
#[derive(Clone, Debug)]
pub struct Target {
    /// The namespace.
    pub namespace: Arc<Namespace>,
    /// What runs there, in the order of the data.
    pub integrations: Vec<Installed>,
    /// Objects of nobody alone.
    pub shared: Arc<Vec<Object>>,
    /// The parameters these were given.
    pub shared_parameters: Arc<Parameters>,
    /// Why nobody knows what is shared: what there is of it is not to go.
    pub broken: Option<Problem>,
}

impl Target {
    /// All objects, in the chart's order: workloads, what runs at times, what is shared.
    pub fn objects(&self) -> Vec<&Object> {
        let (crons, others): (Vec<&Installed>, Vec<&Installed>) =
            self.integrations.iter().partition(|one| values::is_cron(&one.entry.spec));
        let all = others.into_iter().chain(crons).flat_map(|one| one.objects.iter());
        all.chain(self.shared.iter()).collect()
    }

    /// The values of all integrations, as the original hands them to the chart.
    pub fn values(&self) -> Map<String, Value> {
        values::of_all(self.integrations.iter().map(Installed::values))
    }

    /// An integration by its name.
    pub fn integration(&self, name: &str) -> Option<&Installed> {
        self.integrations.iter().find(|one| *one.entry.integration == *name)
    }
}

/// Cluster and namespace.
pub type TargetName = (Arc<str>, Arc<str>);

/// All that is wanted, from one bundle.
#[derive(Clone, Debug, Default)]
pub struct Desired {
    /// The bundle.
    pub sha: String,
    /// The commit of the bundle.
    pub commit: Option<String>,
    /// Whose objects these are.
    pub caller: String,
    /// Whether no upstream was named: the caller is then the default one, for integrations of all upstreams.
    pub unnamed: bool,
    /// By cluster and namespace.
    pub targets: BTreeMap<TargetName, Target>,
    /// Namespaces of the data in which nothing runs.
    pub empty: Vec<Arc<Namespace>>,
    /// What is not used, and why.
    pub disabled: Vec<Disabled>,
    /// Files that could not be read, and may have said what is to run.
    pub unreadable: Vec<Problem>,
    /// Files that could not be read, of schemas that nothing here is made of.
    pub unrelated: Vec<Problem>,
    /// How many charts were rendered for it; what was known from before was not.
    pub rendered: usize,
}

impl Desired {
    /// Everything that is wrong, by file.
    pub fn problems(&self) -> Vec<Problem> {
        let disabled = self.disabled.iter().map(|one| &one.problem);
        let incomplete = self.targets.values().flat_map(|target| &target.integrations).flat_map(|one| &one.incomplete);
        let broken = self.targets.values().filter_map(|target| target.broken.as_ref());
        let files = self.unreadable.iter().chain(&self.unrelated);
        let mut problems: Vec<Problem> = files.chain(disabled).chain(incomplete).chain(broken).cloned().collect();
        problems.sort();
        problems.dedup();
        problems
    }

    /// How many objects are wanted.
    pub fn len(&self) -> usize {
        self.targets.values().map(|target| target.objects().len()).sum()
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An object with its marks, but for the time it is written.
    pub fn marked(&self, object: &Object) -> Value {
        annotations::annotate_with(&object.body, &self.caller, &object.hash, None)
    }
}

#[cfg(test)]
pub(crate) mod tests;
