//! Lifecycle steps of CRDs: status writes, the registry, and the deletion of instances.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use switchboard_object::status::Status;

use super::status::{self, NamesInUse};
use super::{PLURAL, RESOURCE};
use crate::registry::{Registry, from_stored};
use crate::request::RequestInfo;
use crate::request::delete::DeleteOptions;
use crate::request::write::WriteOptions;
use crate::resource::ServedResource;
use crate::server::{LogicalCluster, ServerState};
use crate::store::{StoreKey, StoredObject};
use crate::verbs::{self, ApiCall};
use crate::wire;

/// Bound on the steps of a CRD; its whole lifecycle takes fewer.
const MAX_STEPS: usize = 8;

/// Loads the CRDs of an existing store, and continues where the previous process stopped.
pub(crate) async fn load(inner: &Arc<ServerState>, logical: &Arc<LogicalCluster>) {
    for (key, _) in stored(inner, logical) {
        reconcile(inner, logical, key.name()).await;
    }
}

/// Reconciles the CRD `name` after a write, and the CRDs of its group that may have waited for its names.
///
/// Boxed, because the steps are writes, which are reconciled themselves.
pub(crate) fn reconcile<'a>(
    inner: &'a Arc<ServerState>,
    logical: &'a Arc<LogicalCluster>,
    name: &'a str,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    Box::pin(async move {
        let released = run_steps(inner, logical, name).await;
        update_registry(inner, logical, name);
        if !released {
            return;
        }
        let group = name.split_once('.').map_or("", |(_, group)| group);
        for (key, record) in stored(inner, logical) {
            let waits = !status::is_condition_true(&wire::parse(&record.bytes), "NamesAccepted");
            if waits && key.name() != name && key.name().ends_with(group) {
                run_steps(inner, logical, key.name()).await;
                update_registry(inner, logical, key.name());
            }
        }
    })
}

/// Takes steps until there is none. Returns true if names may have become free.
async fn run_steps(inner: &Arc<ServerState>, logical: &Arc<LogicalCluster>, name: &str) -> bool {
    let mut released = false;
    for _ in 0..MAX_STEPS {
        let Some(record) = inner.store.get(&StoreKey::new(logical.name(), RESOURCE, "", name)) else { return true };
        let crd = wire::parse(&record.bytes);
        if status::awaits_cleanup(&crd) {
            released |= clean_up(inner, logical, name, &crd, &record).await;
            if !released {
                return false;
            }
            continue;
        }
        let (plural, group) = name.split_once('.').unwrap_or((name, ""));
        let taken = NamesInUse::new(logical.registry().group(group), plural);
        let stepped = write_status(inner, logical, name, |crd, now| {
            // kube-apiserver takes these two steps separately because of its caches; one write is enough here.
            match status::accept_names(crd, &taken, now) {
                Some(named) => Some(status::establish(&named, now).unwrap_or(named)),
                None => status::establish(crd, now),
            }
        });
        if !stepped.await {
            return released;
        }
    }
    released
}

/// Adds the CRD's resources to the registry. The CRD is read under the registry's lock, so that the last read is the
/// newest.
fn update_registry(inner: &ServerState, logical: &LogicalCluster, name: &str) {
    let Some((plural, group)) = name.split_once('.') else { return };
    logical.change_registry(|registry| {
        let record = inner.store.get(&StoreKey::new(logical.name(), RESOURCE, "", name));
        let resources = record.map_or_else(Vec::new, |record| {
            let crd = wire::parse(&record.bytes);
            if status::is_condition_true(&crd, "Established") { from_stored(&crd, &record.bytes) } else { Vec::new() }
        });
        registry.with_custom(group, plural, resources)
    });
}

/// Deletes instances and, once there are none, removes the CRD. Returns false if instances wait for their finalizers.
async fn clean_up(
    inner: &Arc<ServerState>,
    logical: &Arc<LogicalCluster>,
    name: &str,
    crd: &Value,
    record: &StoredObject,
) -> bool {
    if status::is_condition_true(crd, "Established") {
        write_status(inner, logical, name, |crd, now| Some(status::deleting_instances(crd, now))).await;
        let Some(resource) = from_stored(crd, &record.bytes).into_iter().next() else { return false };
        if !delete_instances(inner, logical, name, &resource).await {
            return false;
        }
    }
    write_status(inner, logical, name, |crd, now| Some(status::cleaned_up(crd, now))).await
}

/// Deletes instances. Returns true if none is left.
async fn delete_instances(
    inner: &Arc<ServerState>,
    logical: &Arc<LogicalCluster>,
    name: &str,
    resource: &Arc<ServedResource>,
) -> bool {
    let prefix = StoreKey::prefix(logical.name(), name, None);
    let instances = || inner.store.list(&prefix, None, 0, None).map(|p| p.records).unwrap_or_default();
    for (key, _) in instances() {
        let info = RequestInfo { namespace: key.namespace().into(), name: key.name().into(), ..RequestInfo::default() };
        let call = ApiCall::internal(inner, logical, resource, info);
        // An instance that is already deleted, or waits for its finalizers, does not stop the loop.
        let _ = verbs::remove(&call, key.name(), &DeleteOptions::default()).await;
    }
    instances().is_empty()
}

/// Writes the next status like Kubernetes' controllers. Returns false if there is none.
async fn write_status(
    inner: &Arc<ServerState>,
    logical: &Arc<LogicalCluster>,
    name: &str,
    next: impl Fn(&Value, &str) -> Option<Value> + Sync,
) -> bool {
    let registry = Registry::built_in();
    let Some(resource) = registry.get("apiextensions.k8s.io", "v1", PLURAL) else { return false };
    let info = RequestInfo { name: name.into(), subresource: "status".into(), ..RequestInfo::default() };
    let call = ApiCall::internal(inner, logical, resource, info);
    let now = inner.clock_and_rng.now_text();
    let options = WriteOptions::default();
    let written = call.change(name, false, |live| {
        let Some(mut new) = next(live, &now) else { return Err(Status::new(304, "", "")) };
        call.record_managers(Some(live), &mut new, &options);
        // The status strategy keeps metadata, but the finalizer is removed in this write, too.
        Ok(new)
    });
    match written.await {
        Ok(_) => true,
        Err(status) if status.code == 304 || status.code == 404 => false,
        Err(status) => {
            tracing::warn!(crd = name, error = %status, "could not write the status of CRD {name}");
            false
        }
    }
}

fn stored(inner: &ServerState, logical: &LogicalCluster) -> Vec<(StoreKey, StoredObject)> {
    let prefix = StoreKey::prefix(logical.name(), RESOURCE, None);
    inner.store.list(&prefix, None, 0, None).map(|page| page.records).unwrap_or_default()
}
