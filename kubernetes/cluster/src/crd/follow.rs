//! Carrying out the steps: status writes, the registry, and the end of instances.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use switchboard_object::status::Status;

use super::state::{self, Taken};
use super::{PLURAL, RESOURCE};
use crate::registry::{Registry, from_stored};
use crate::request::Info;
use crate::request::delete::DeleteOptions;
use crate::request::write::WriteOptions;
use crate::resource::Resource;
use crate::server::{Inner, Logical};
use crate::store::{Key, Record};
use crate::verbs::{self, Call};
use crate::wire;

/// More steps than a CRD takes from its creation to its end.
const MAX_STEPS: usize = 8;

/// Takes in the CRDs of an older store, and goes on where the last process ended.
pub(crate) async fn load(inner: &Arc<Inner>, logical: &Arc<Logical>) {
    for (key, _) in stored(inner, logical) {
        follow(inner, logical, key.name()).await;
    }
}

/// Looks at the CRD `name` after it was written, and at those of its group that may have waited for its names.
///
/// Boxed, since the steps are writes, which are followed themselves.
pub(crate) fn follow<'a>(
    inner: &'a Arc<Inner>,
    logical: &'a Arc<Logical>,
    name: &'a str,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    Box::pin(async move {
        let released = steps(inner, logical, name).await;
        serve(inner, logical, name);
        if !released {
            return;
        }
        let group = name.split_once('.').map_or("", |(_, group)| group);
        for (key, record) in stored(inner, logical) {
            let waits = !state::is(&wire::parse(&record.bytes), "NamesAccepted");
            if waits && key.name() != name && key.name().ends_with(group) {
                steps(inner, logical, key.name()).await;
                serve(inner, logical, key.name());
            }
        }
    })
}

/// Takes steps until there is none. True when names may have become free.
async fn steps(inner: &Arc<Inner>, logical: &Arc<Logical>, name: &str) -> bool {
    let mut released = false;
    for _ in 0..MAX_STEPS {
        let Some(record) = inner.store.get(&Key::new(logical.name(), RESOURCE, "", name)) else { return true };
        let crd = wire::parse(&record.bytes);
        if state::awaits_cleanup(&crd) {
            released |= clean_up(inner, logical, name, &crd, &record).await;
            if !released {
                return false;
            }
            continue;
        }
        let (plural, group) = name.split_once('.').unwrap_or((name, ""));
        let taken = Taken::new(logical.registry().group(group), plural);
        let stepped = write_status(inner, logical, name, |crd, now| {
            // Upstream takes these two steps one after the other, for the sake of its caches; one write is enough here.
            match state::accept_names(crd, &taken, now) {
                Some(named) => Some(state::establish(&named, now).unwrap_or(named)),
                None => state::establish(crd, now),
            }
        });
        if !stepped.await {
            return released;
        }
    }
    released
}

/// Puts what the CRD serves into the registry. Read under the registry's lock, so that the last look is the newest.
fn serve(inner: &Inner, logical: &Logical, name: &str) {
    let Some((plural, group)) = name.split_once('.') else { return };
    logical.change_registry(|registry| {
        let record = inner.store.get(&Key::new(logical.name(), RESOURCE, "", name));
        let resources = record.map_or_else(Vec::new, |record| {
            let crd = wire::parse(&record.bytes);
            if state::is(&crd, "Established") { from_stored(&crd, &record.bytes) } else { Vec::new() }
        });
        registry.with_custom(group, plural, resources)
    });
}

/// Deletes instances and, once there are none, lets the CRD go. False when instances wait for their finalizers.
async fn clean_up(inner: &Arc<Inner>, logical: &Arc<Logical>, name: &str, crd: &Value, record: &Record) -> bool {
    if state::is(crd, "Established") {
        write_status(inner, logical, name, |crd, now| Some(state::deleting_instances(crd, now))).await;
        let Some(resource) = from_stored(crd, &record.bytes).into_iter().next() else { return false };
        if !delete_instances(inner, logical, name, &resource).await {
            return false;
        }
    }
    write_status(inner, logical, name, |crd, now| Some(state::cleaned_up(crd, now))).await
}

/// True when none is left.
async fn delete_instances(inner: &Arc<Inner>, logical: &Arc<Logical>, name: &str, resource: &Arc<Resource>) -> bool {
    let prefix = Key::prefix(logical.name(), name, None);
    let instances = || inner.store.list(&prefix, None, 0, None).map(|p| p.records).unwrap_or_default();
    for (key, _) in instances() {
        let info = Info { namespace: key.namespace().into(), name: key.name().into(), ..Info::default() };
        let call = Call::internal(inner, logical, resource, info);
        // One that is gone already, or waits for its finalizers, is nothing to stop at.
        let _ = verbs::remove(&call, key.name(), &DeleteOptions::default()).await;
    }
    instances().is_empty()
}

/// Writes the next status as upstream's controllers do. False when there is none.
async fn write_status(
    inner: &Arc<Inner>,
    logical: &Arc<Logical>,
    name: &str,
    next: impl Fn(&Value, &str) -> Option<Value> + Sync,
) -> bool {
    let registry = Registry::built_in();
    let Some(resource) = registry.get("apiextensions.k8s.io", "v1", PLURAL) else { return false };
    let info = Info { name: name.into(), subresource: "status".into(), ..Info::default() };
    let call = Call::internal(inner, logical, resource, info);
    let now = inner.ambient.now_text();
    let options = WriteOptions::default();
    let written = call.change(name, false, |live| {
        let Some(mut new) = next(live, &now) else { return Err(Status::new(304, "", "")) };
        call.record_managers(Some(live), &mut new, &options);
        // The strategy of status keeps metadata; the finalizer goes by this write, too.
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

fn stored(inner: &Inner, logical: &Logical) -> Vec<(Key, Record)> {
    let prefix = Key::prefix(logical.name(), RESOURCE, None);
    inner.store.list(&prefix, None, 0, None).map(|page| page.records).unwrap_or_default()
}
