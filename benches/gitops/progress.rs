//! How far a side has come: how many Applications there are, and whether a process has done what follows.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::StreamExt;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind, PartialObjectMeta};
use kube::runtime::{WatchStreamExt, watcher};
use tokio::sync::watch;

use super::NAMESPACE;
use super::work::seconds_of;

/// How long until everything must be there.
const TIMEOUT: Duration = Duration::from_secs(900);

/// How long is looked whether a process rests, and how much of a processor it may take then.
const IDLE_WINDOW: Duration = Duration::from_secs(2);
const IDLE_LOAD: f64 = 0.05;

/// How many Applications there are, from now on. It watches, and once for all that is measured: to list them all again and again would be
/// the most of the work.
pub fn applications(client: &kube::Client) -> watch::Receiver<usize> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("argoproj.io", "v1alpha1", "Application"));
    let applications: Api<PartialObjectMeta<DynamicObject>> =
        Api::namespaced_with(client.clone(), NAMESPACE, &resource);
    let (tell, told) = watch::channel(0);
    tokio::spawn(async move {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        // A server that has just begun does not serve the kind yet: it is asked again.
        let changes = watcher(applications, watcher::Config::default()).default_backoff().applied_objects();
        let mut changes = changes.filter_map(async |change| change.ok()).boxed();
        // It ends with whoever wants to know.
        while let Some(object) = tokio::select! { next = changes.next() => next, () = tell.closed() => None } {
            seen.insert(object.metadata.name.unwrap());
            let _ = tell.send(seen.len());
        }
    });
    told
}

/// Ends when there are so many Applications.
pub async fn until_deployed(applications: &mut watch::Receiver<usize>, count: usize) {
    let all = tokio::time::timeout(TIMEOUT, applications.wait_for(|seen| *seen >= count)).await;
    all.expect("all Applications are there in time").expect("somebody counts them");
}

/// Ends when a process has done whatever follows: it takes next to nothing of the processors any more.
pub async fn until_idle(process: u32) {
    let end = Instant::now() + TIMEOUT;
    let mut before = seconds_of(process);
    while Instant::now() < end {
        tokio::time::sleep(IDLE_WINDOW).await;
        let now = seconds_of(process);
        if now - before < IDLE_WINDOW.as_secs_f64() * IDLE_LOAD {
            return;
        }
        before = now;
    }
    panic!("it does not come to rest");
}
