//! Progress of a side: the number of Applications, and whether a process is idle.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::StreamExt;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind, PartialObjectMeta};
use kube::runtime::{WatchStreamExt, watcher};
use tokio::sync::watch;

use super::NAMESPACE;
use super::work::seconds_of;

/// Timeout for all Applications.
const TIMEOUT: Duration = Duration::from_secs(900);

/// Time window of the idle check, followed by the maximum load of an idle process.
const IDLE_WINDOW: Duration = Duration::from_secs(2);
const IDLE_LOAD: f64 = 0.05;

/// Returns the current number of Applications from a single watch; repeated lists would dominate the measurement.
pub fn applications(client: &kube::Client) -> watch::Receiver<usize> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("argoproj.io", "v1alpha1", "Application"));
    let applications: Api<PartialObjectMeta<DynamicObject>> =
        Api::namespaced_with(client.clone(), NAMESPACE, &resource);
    let (tell, told) = watch::channel(0);
    tokio::spawn(async move {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        // With retries, because a new server does not serve the kind yet.
        let changes = watcher(applications, watcher::Config::default()).default_backoff().applied_objects();
        let mut changes = changes.filter_map(async |change| change.ok()).boxed();
        // Ends with the last receiver.
        while let Some(object) = tokio::select! { next = changes.next() => next, () = tell.closed() => None } {
            seen.insert(object.metadata.name.unwrap());
            let _ = tell.send(seen.len());
        }
    });
    told
}

/// Waits for the given number of Applications.
pub async fn until_deployed(applications: &mut watch::Receiver<usize>, count: usize) {
    let all = tokio::time::timeout(TIMEOUT, applications.wait_for(|seen| *seen >= count)).await;
    all.expect("all Applications are there in time").expect("the counter runs");
}

/// Waits until a process is idle.
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
