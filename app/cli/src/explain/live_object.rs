//! Live object of `why`: the running kernel reads its field managers.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use switchboard_cluster::registry::Registry;
use switchboard_cluster::resource::ServedResource;
use switchboard_kernel::decision::{Decision, RunOutcome};
use switchboard_kernel::explain::{self, ObjectTarget};
use switchboard_kernel::journal::JournalEntry;
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::state::KernelState;
use switchboard_kernel::topology::ClusterName;
use switchboard_runtime::state_dir::StateDir;
use switchboard_runtime::stderr::print_stderr;

use crate::failure::CommandError;

/// Live state of an object.
pub enum LiveState {
    /// Its cluster was not queried.
    Unknown,
    /// The object does not exist. Unless it is certain, an object of that name may exist in another namespace.
    Absent { key: ObjectKey, certain: bool },
    /// Field managers of the object.
    Exists(Value),
}

impl LiveState {
    /// Returns the key of the object if it does not exist.
    pub fn absent_key(&self) -> Option<&ObjectKey> {
        match self {
            LiveState::Absent { key, .. } => Some(key),
            LiveState::Unknown | LiveState::Exists(_) => None,
        }
    }

    /// Returns the value for the report: null if the object does not exist, `None` if that is unknown.
    pub fn value(&self) -> Option<&Value> {
        match self {
            LiveState::Unknown | LiveState::Absent { certain: false, .. } => None,
            LiveState::Absent { certain: true, .. } => Some(&Value::Null),
            LiveState::Exists(value) => Some(value),
        }
    }
}

/// Reads the field managers of the object from the running kernel.
pub async fn read(
    kernel: &StateDir,
    target: &ObjectTarget,
    entries: &[JournalEntry],
    state: &KernelState,
) -> Result<LiveState, CommandError> {
    let known = explain::resolve_target(target, entries);
    let is_known = known.is_some() || target.namespace.is_some();
    let mut live = LiveState::Unknown;
    for key in known.map_or_else(|| candidates(target, state), |key| vec![key]) {
        let body = serde_json::to_string(&key)?;
        match kernel.request::<Value>("POST", "/api/v1/fields", body).await {
            Ok(Value::Null) => {
                let certain = is_known || !key.table.resource.namespaced;
                live = LiveState::Absent { key, certain };
            }
            Ok(found) => return Ok(LiveState::Exists(found)),
            Err(error) => {
                if !state.operators.is_empty() {
                    print_stderr(format_args!("note: {error}"));
                }
                return Ok(LiveState::Unknown);
            }
        }
    }
    Ok(live)
}

/// Default namespace, as in kubectl.
const NAMESPACE: &str = "default";

/// Returns the objects that a target may be: of watched kinds, or else of the built-in kind on every cluster.
fn candidates(target: &ObjectTarget, state: &KernelState) -> Vec<ObjectKey> {
    let key = |table: TableKey| {
        let namespace = target.namespace.as_deref().unwrap_or(NAMESPACE);
        let namespace = if table.resource.namespaced { namespace } else { "" };
        ObjectKey { table, namespace: namespace.into(), name: target.name.as_str().into() }
    };
    let tables = state.tables.iter().map(|table| table.table.clone());
    let watched: Vec<ObjectKey> = tables.map(key).filter(|key| target.matches(key)).collect();
    if !watched.is_empty() {
        return watched;
    }
    let Some(resource) = built_in(target).map(Arc::new) else { return Vec::new() };
    let clusters: BTreeSet<&ClusterName> = state.tables.iter().map(|table| &table.table.cluster).collect();
    let clusters = clusters.into_iter().filter(|cluster| target.matches_cluster(cluster));
    clusters.map(|cluster| key(TableKey { cluster: cluster.clone(), resource: resource.clone() })).collect()
}

/// Returns the built-in kind of a target, which every cluster serves.
fn built_in(target: &ObjectTarget) -> Option<Resource> {
    let registry = Registry::built_in();
    let versions = registry.groups().flat_map(|group| &group.versions);
    let served = versions.flat_map(|version| &version.resources);
    let readable = served.filter(|served| served.verbs.iter().any(|verb| **verb == *"get"));
    readable.map(|served| resource(served)).find(|resource| target.matches_kind(resource))
}

fn resource(served: &ServedResource) -> Resource {
    Resource {
        group: served.kind.group.to_string().into(),
        version: served.kind.version.to_string().into(),
        kind: served.kind.kind.to_string().into(),
        plural: served.plural.to_string().into(),
        namespaced: served.namespaced,
    }
}

/// Maximum number of types or clusters that a hint lists.
const MAX_NAMED: usize = 12;

/// Refuses a type or cluster that no operator uses: most likely it is mistyped.
pub fn check_known(target: &ObjectTarget, entries: &[JournalEntry], state: &KernelState) -> Result<(), CommandError> {
    let decisions = entries.iter().filter_map(|entry| match entry {
        JournalEntry::Decision(decision) => Some(decision),
        JournalEntry::Finding(_) => None,
    });
    let watched = state.tables.iter().map(|table| table.table.clone());
    let known: BTreeSet<TableKey> = decisions.flat_map(|decision| tables_of(decision)).chain(watched).collect();
    if known.is_empty() {
        return Ok(());
    }
    let named = |names: BTreeSet<String>| names.into_iter().take(MAX_NAMED).collect::<Vec<_>>().join(", ");
    if let Some(cluster) =
        target.cluster.as_ref().filter(|_| !known.iter().any(|table| target.matches_cluster(&table.cluster)))
    {
        let names = named(known.iter().map(|table| table.cluster.to_string()).collect());
        return Err(format!("no operator here uses a cluster {cluster}\nhint: clusters: {names}").into());
    }
    let known: BTreeSet<&Arc<Resource>> = known.iter().map(|table| &table.resource).collect();
    if built_in(target).is_some() || known.iter().any(|resource| target.matches_kind(resource)) {
        return Ok(());
    }
    let names: Vec<String> = known.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let names = names.join(", ");
    Err(format!("no operator here uses a kind {}\nhint: kinds: {names}", target.kind).into())
}

/// Returns the kinds that a decision read or wrote.
fn tables_of(decision: &Decision) -> Vec<TableKey> {
    let written = match &decision.outcome {
        RunOutcome::Decided { writes, .. } => writes.as_slice(),
        _ => &[],
    };
    let gets = decision.gets.iter().map(|(key, _)| &key.table);
    let lists = decision.lists.iter().map(|(query, _)| &query.table);
    written.iter().map(|write| &write.object.table).chain(gets).chain(lists).cloned().collect()
}
