//! Embedded cluster of one run, in the initial state of all runs, with a virtual clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use switchboard_cluster::Cluster;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::request::DEFAULT_CLUSTER;
use switchboard_cluster::server::LogicalCluster;
use switchboard_cluster::store::{ObjectStore, StoreChange, StoreKey, StoreLimits, StoreWatch};
use switchboard_kernel::applier::{KubeWriter, WriteRequest, WriteResponse, Writer};
use switchboard_kernel::cache::TableEvent;
use switchboard_kernel::decision::{Write, WriteResult};
use switchboard_kernel::plan::{Mutation, PatchType};
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::ClusterName;

use crate::case::{ProbeCase, ScriptStep, StepVerb};

/// Start time of every run: 1 January 2026.
pub const START_TIME: Timestamp = Timestamp(1_767_225_600_000);
/// Field manager of the user.
const USER: &str = "user";
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Error while creating the cluster of a run or executing a step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The API server rejected the user's step.
    #[error("could not {step}: {message}")]
    Step {
        /// Step of the user.
        step: String,
        /// Message of the API server.
        message: String,
        /// Whether the step may succeed after the operator has done its work.
        early: bool,
    },
    /// The operator reads another version of a kind than the embedded cluster stores.
    #[error("the operator reads another version of {0} than the embedded cluster stores")]
    Version(String),
    /// The cluster's history does not reach back far enough.
    #[error("the history of the embedded cluster is too short")]
    History,
}

/// Virtual time of a run and its cluster.
#[derive(Clone, Debug)]
pub struct VirtualClock(Arc<AtomicU64>);

impl VirtualClock {
    fn start() -> Self {
        Self(Arc::new(AtomicU64::new(START_TIME.0)))
    }

    pub fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }

    /// Advances the time, which never goes back.
    pub fn advance_to(&self, timestamp: Timestamp) {
        self.0.fetch_max(timestamp.0, Ordering::Relaxed);
    }

    fn ambient(&self, seed: u64) -> ClockAndRng {
        let (clock, chance) = (self.clone(), AtomicU64::new(seed));
        let fill = move |bytes: &mut [u8]| {
            for chunk in bytes.chunks_mut(8) {
                let word = split_mix(chance.fetch_add(1, Ordering::Relaxed)).to_le_bytes();
                chunk.copy_from_slice(&word[..chunk.len()]);
            }
        };
        ClockAndRng::new(move || clock.now().to_jiff(), fill)
    }
}

/// Random number generator SplitMix64: the same distinct numbers in every run.
fn split_mix(seed: u64) -> u64 {
    let mut word = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// Cluster of one run.
pub struct RunCluster {
    cluster: Cluster,
    logical: Arc<LogicalCluster>,
    pub store: ObjectStore,
    pub clock: VirtualClock,
    user: KubeWriter,
    changes: StoreWatch,
}

/// Name of the only cluster.
pub fn name() -> ClusterName {
    ClusterName::new("main")
}

impl RunCluster {
    /// Creates the initial state of all runs of a case.
    pub async fn initial_state(case: &ProbeCase) -> Result<Cluster, ScriptError> {
        let clock = VirtualClock::start();
        let cluster = Cluster::with_store(ObjectStore::in_memory(StoreLimits::default()), clock.ambient(0)).await;
        cluster.start_controllers();
        cluster.wait_for_controllers().await;
        let mut run = Self::of(cluster, clock).await?;
        for namespace in namespaces(case) {
            let object = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            run.perform(&ScriptStep::apply(object)).await?;
        }
        for object in &case.given {
            run.perform(&ScriptStep::apply(object.clone())).await?;
            // Later objects may be of a kind that this one defines.
            run.collect().await?;
        }
        run.cluster.wait_for_controllers().await;
        Ok(run.cluster)
    }

    /// Creates a cluster in the initial state.
    pub async fn from(initial_state: &Cluster) -> Result<Self, ScriptError> {
        let clock = VirtualClock::start();
        // Far from the numbers used for the initial state, which are in its UIDs.
        let cluster = initial_state.fork(clock.ambient(1 << 32));
        Self::of(cluster, clock).await
    }

    async fn of(cluster: Cluster, clock: VirtualClock) -> Result<Self, ScriptError> {
        let store = cluster.store().clone();
        let logical = cluster.logical(DEFAULT_CLUSTER).await;
        let changes = store.watch("", store.revision()).map_err(|_| ScriptError::History)?;
        let clients = BTreeMap::from([(name(), cluster.client())]);
        let user = KubeWriter::new(clients);
        Ok(Self { cluster, logical, store, clock, user, changes })
    }

    /// Returns the operator's writer.
    pub fn writer(&self) -> KubeWriter {
        KubeWriter::new(BTreeMap::from([(name(), self.cluster.client())]))
    }

    /// Returns everything written since the last call, after the cluster's own controllers have settled.
    pub async fn collect(&mut self) -> Result<Vec<Arc<StoreChange>>, ScriptError> {
        let mut collected = Vec::new();
        if self.store.revision() == self.changes.revision() {
            return Ok(collected);
        }
        self.cluster.wait_for_controllers().await;
        loop {
            let batch = self.changes.progress().map_err(|_| ScriptError::History)?;
            if batch.changes.is_empty() {
                return Ok(collected);
            }
            collected.extend(batch.changes);
        }
    }

    /// Returns the watch events of a list.
    pub fn list(&self, table: &TableKey) -> Result<Vec<TableEvent>, ScriptError> {
        if !self.serves(&table.resource) {
            return Ok(vec![TableEvent::NotServed]);
        }
        let prefix = StoreKey::prefix(DEFAULT_CLUSTER, &table.resource.to_string(), None);
        let page = self.store.list(&prefix, None, 0, None).map_err(|_| ScriptError::History)?;
        let mut observed = vec![TableEvent::Begin];
        for (_, record) in page.records {
            check_version(&table.resource, &record.bytes)?;
            observed.push(TableEvent::Put(record.bytes));
        }
        observed.push(TableEvent::Synced { revision: page.revision });
        Ok(observed)
    }

    /// Whether the API server serves a kind now.
    pub fn serves(&self, resource: &Resource) -> bool {
        self.logical.registry().get(&resource.group, &resource.version, &resource.plural).is_some()
    }

    /// Executes a step of the user.
    pub async fn perform(&mut self, step: &ScriptStep) -> Result<(), ScriptError> {
        let failed = |message: String, early: bool| ScriptError::Step { step: step.to_string(), message, early };
        let api_version = step.text("/apiVersion");
        let resource = self.resource(api_version, step.text("/kind"));
        let resource = resource.ok_or_else(|| failed(format!("{api_version} has no such kind"), true))?;
        let request = request(step, resource);
        match self.user.send(&request).await {
            WriteResponse::Done { .. } | WriteResponse::AlreadyPresent { .. } => Ok(()),
            WriteResponse::Refused { code: 404, .. } if step.verb == StepVerb::Delete => Ok(()),
            WriteResponse::Refused { code, message, .. } => Err(failed(message, matches!(code, 404 | 409))),
            WriteResponse::Unknown { message } => Err(failed(message, false)),
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

/// Whether a change may change the served kinds.
pub fn defines_kinds(change: &StoreChange) -> bool {
    change.key.resource() == DEFINITIONS
}

/// Returns the watch event of a change; `None` for another kind.
pub fn event_for(resource: &Resource, change: &StoreChange) -> Result<Option<TableEvent>, ScriptError> {
    if change.key.cluster() != DEFAULT_CLUSTER || change.key.resource() != resource.to_string() {
        return Ok(None);
    }
    check_version(resource, change.object())?;
    let object = change.object().clone();
    Ok(Some(if change.after.is_some() { TableEvent::Put(object) } else { TableEvent::Remove(object) }))
}

fn check_version(resource: &Resource, object: &Bytes) -> Result<(), ScriptError> {
    #[derive(Deserialize)]
    struct ObjectVersion<'a> {
        #[serde(rename = "apiVersion")]
        api_version: &'a str,
    }
    let same = serde_json::from_slice(object).is_ok_and(|v: ObjectVersion<'_>| v.api_version == resource.api_version());
    if same { Ok(()) } else { Err(ScriptError::Version(resource.to_string())) }
}

fn request(step: &ScriptStep, resource: Resource) -> WriteRequest {
    let (namespace, name_) = (step.text("/metadata/namespace"), step.text("/metadata/name"));
    let mutation = match step.verb {
        StepVerb::Apply => Mutation::apply(&resource, step.object.clone()).forced(),
        StepVerb::Patch => Mutation::patch(&resource, namespace, name_, PatchType::Merge, step.object.clone()),
        StepVerb::Delete => Mutation::delete(&resource, namespace, name_),
    };
    let table = TableKey { cluster: name(), resource: Arc::new(resource) };
    let object = ObjectKey { table, namespace: namespace.into(), name: name_.into() };
    let write = Write { mutation, object, result: WriteResult::Skipped };
    WriteRequest { write, user: None, manager: USER.to_string(), dry_run: false }
}

/// Returns the namespaces in a case, sorted by name.
fn namespaces(case: &ProbeCase) -> Vec<String> {
    let objects = case.given.iter().chain(case.script.iter().map(|step| &step.object));
    let named = objects.filter_map(|object| object.pointer("/metadata/namespace").and_then(Value::as_str));
    let mut all: Vec<String> = named.filter(|name| *name != "default").map(str::to_string).collect();
    all.sort();
    all.dedup();
    all
}
