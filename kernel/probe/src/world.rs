//! The embedded cluster of one run, in the state every run begins with, at a time that is told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use switchboard_cluster::Cluster;
use switchboard_cluster::ambient::Ambient;
use switchboard_cluster::request::DEFAULT_CLUSTER;
use switchboard_cluster::server::Logical;
use switchboard_cluster::store::{Bounds, Change, Key, Store, Watch};
use switchboard_kernel::applier::{Answer, KubeWriter, WriteRequest, Writer};
use switchboard_kernel::cache::Observed;
use switchboard_kernel::decision::{Write, WriteResult};
use switchboard_kernel::moment::Moment;
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::plan::{Mutation, PatchForm};
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};

use crate::case::{Case, Step, Verb};

/// When every run begins: 1 January 2026.
pub const BEGINNING: Moment = Moment(1_767_225_600_000);
/// The field manager of the user.
const USER: &str = "user";
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Why a run could not be made, or a step of the script not be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The API server says no to the user.
    #[error("could not {step}: {message}")]
    Step {
        /// What the user did.
        step: String,
        /// The server's words.
        message: String,
        /// Whether it may go better once the operator has done its part.
        early: bool,
    },
    /// The operator reads a kind in another version than the embedded cluster keeps it in.
    #[error(
        "the probe reads objects in the version they are stored in, and {0} are not stored in that of the operator"
    )]
    Version(String),
    /// The cluster's history does not reach back far enough.
    #[error("the embedded cluster lost track of its own changes")]
    History,
}

/// The time of a run, and where its cluster takes it from.
#[derive(Clone, Debug)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    fn start() -> Self {
        Self(Arc::new(AtomicU64::new(BEGINNING.0)))
    }

    pub fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::Relaxed))
    }

    /// Time never goes back.
    pub fn reach(&self, moment: Moment) {
        self.0.fetch_max(moment.0, Ordering::Relaxed);
    }

    fn ambient(&self, seed: u64) -> Ambient {
        let (clock, chance) = (self.clone(), AtomicU64::new(seed));
        let fill = move |bytes: &mut [u8]| {
            for chunk in bytes.chunks_mut(8) {
                let word = mixed(chance.fetch_add(1, Ordering::Relaxed)).to_le_bytes();
                chunk.copy_from_slice(&word[..chunk.len()]);
            }
        };
        Ambient::new(move || clock.now().timestamp(), fill)
    }
}

/// SplitMix64: the same numbers in every run, and no two alike.
fn mixed(seed: u64) -> u64 {
    let mut word = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// The cluster of one run.
pub struct World {
    cluster: Cluster,
    logical: Arc<Logical>,
    pub store: Store,
    pub clock: Clock,
    user: KubeWriter,
    changes: Watch,
}

/// The one cluster there is.
pub fn name() -> ClusterName {
    ClusterName::new("main")
}

impl World {
    /// The state that every run of a case begins with.
    pub async fn beginning(case: &Case) -> Result<Cluster, Trouble> {
        let clock = Clock::start();
        let cluster = Cluster::over(Store::in_memory(Bounds::default()), clock.ambient(0)).await;
        cluster.start_controllers();
        cluster.settle().await;
        let mut world = Self::of(cluster, clock).await?;
        for namespace in namespaces(case) {
            let object = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            world.act(&Step::apply(object)).await?;
        }
        for object in &case.given {
            world.act(&Step::apply(object.clone())).await?;
            // What follows may be of a kind that this one defines.
            world.collect().await?;
        }
        world.cluster.settle().await;
        Ok(world.cluster)
    }

    /// A cluster of its own in that state.
    pub async fn from(beginning: &Cluster) -> Result<Self, Trouble> {
        let clock = Clock::start();
        // Far from the numbers the beginning took, which are in its uids.
        let cluster = beginning.fork(clock.ambient(1 << 32));
        Self::of(cluster, clock).await
    }

    async fn of(cluster: Cluster, clock: Clock) -> Result<Self, Trouble> {
        let store = cluster.store().clone();
        let logical = cluster.logical(DEFAULT_CLUSTER).await;
        let changes = store.watch("", store.revision()).map_err(|_| Trouble::History)?;
        let clients = BTreeMap::from([(name(), cluster.client())]);
        let user = KubeWriter::new(clients);
        Ok(Self { cluster, logical, store, clock, user, changes })
    }

    /// Writes for the operator.
    pub fn writer(&self) -> KubeWriter {
        KubeWriter::new(BTreeMap::from([(name(), self.cluster.client())]))
    }

    /// Everything that was written since the last call, after the cluster's own controllers have done their part.
    pub async fn collect(&mut self) -> Result<Vec<Arc<Change>>, Trouble> {
        let mut collected = Vec::new();
        if self.store.revision() == self.changes.revision() {
            return Ok(collected);
        }
        self.cluster.settle().await;
        loop {
            let batch = self.changes.progress().map_err(|_| Trouble::History)?;
            if batch.changes.is_empty() {
                return Ok(collected);
            }
            collected.extend(batch.changes);
        }
    }

    /// What a list of a kind tells a watch.
    pub fn list(&self, table: &TableKey) -> Result<Vec<Observed>, Trouble> {
        if !self.serves(&table.resource) {
            return Ok(vec![Observed::NotServed]);
        }
        let prefix = Key::prefix(DEFAULT_CLUSTER, &table.resource.to_string(), None);
        let page = self.store.list(&prefix, None, 0, None).map_err(|_| Trouble::History)?;
        let mut observed = vec![Observed::Begin];
        for (_, record) in page.records {
            check_version(&table.resource, &record.bytes)?;
            observed.push(Observed::Put(record.bytes));
        }
        observed.push(Observed::Synced { revision: page.revision });
        Ok(observed)
    }

    /// Whether the API server serves a kind now.
    pub fn serves(&self, resource: &Resource) -> bool {
        self.logical.registry().get(&resource.group, &resource.version, &resource.plural).is_some()
    }

    /// Does what a user does.
    pub async fn act(&mut self, step: &Step) -> Result<(), Trouble> {
        let failed = |message: String, early: bool| Trouble::Step { step: step.to_string(), message, early };
        let api_version = step.text("/apiVersion");
        let resource = self.resource(api_version, step.text("/kind"));
        let resource = resource.ok_or_else(|| failed(format!("{api_version} has no such kind"), true))?;
        let request = request(step, resource);
        match self.user.send(&request).await {
            Answer::Done { .. } | Answer::There { .. } => Ok(()),
            Answer::Refused { code: 404, .. } if step.verb == Verb::Delete => Ok(()),
            Answer::Refused { code, message, .. } => Err(failed(message, matches!(code, 404 | 409))),
            Answer::Unknown { message } => Err(failed(message, false)),
        }
    }

    fn resource(&self, api_version: &str, kind: &str) -> Option<Resource> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let registry = self.logical.registry();
        let found = registry.by_kind(group, version, kind)?;
        Some(Resource {
            group: group.to_string().into(),
            version: version.to_string().into(),
            kind: kind.to_string().into(),
            plural: found.plural.to_string().into(),
            namespaced: found.namespaced,
        })
    }
}

/// Whether a change can change which kinds are served.
pub fn defines(change: &Change) -> bool {
    change.key.resource() == DEFINITIONS
}

/// What a watch of a kind is told of a change; nothing when it is of another kind.
pub fn told(resource: &Resource, change: &Change) -> Result<Option<Observed>, Trouble> {
    if change.key.cluster() != DEFAULT_CLUSTER || change.key.resource() != resource.to_string() {
        return Ok(None);
    }
    check_version(resource, change.object())?;
    let object = change.object().clone();
    Ok(Some(if change.after.is_some() { Observed::Put(object) } else { Observed::Remove(object) }))
}

fn check_version(resource: &Resource, object: &Bytes) -> Result<(), Trouble> {
    #[derive(Deserialize)]
    struct Versioned<'a> {
        #[serde(rename = "apiVersion")]
        api_version: &'a str,
    }
    let same = serde_json::from_slice(object).is_ok_and(|v: Versioned<'_>| v.api_version == resource.api_version());
    if same { Ok(()) } else { Err(Trouble::Version(resource.to_string())) }
}

fn request(step: &Step, resource: Resource) -> WriteRequest {
    let (namespace, name_) = (step.text("/metadata/namespace"), step.text("/metadata/name"));
    let mutation = match step.verb {
        Verb::Apply => Mutation::apply(&resource, step.object.clone()).forced(),
        Verb::Patch => Mutation::patch(&resource, namespace, name_, PatchForm::Merge, step.object.clone()),
        Verb::Delete => Mutation::delete(&resource, namespace, name_),
    };
    let table = TableKey { cluster: name(), resource: Arc::new(resource) };
    let object = ObjectKey { table, namespace: namespace.into(), name: name_.into() };
    let write = Write { mutation, object, result: WriteResult::Skipped };
    WriteRequest { write, user: None, manager: USER.to_string(), dry_run: false }
}

/// The namespaces that a case mentions, in the order of their names.
fn namespaces(case: &Case) -> Vec<String> {
    let objects = case.given.iter().chain(case.script.iter().map(|step| &step.object));
    let named = objects.filter_map(|object| object.pointer("/metadata/namespace").and_then(Value::as_str));
    let mut all: Vec<String> = named.filter(|name| *name != "default").map(str::to_string).collect();
    all.sort();
    all.dedup();
    all
}
