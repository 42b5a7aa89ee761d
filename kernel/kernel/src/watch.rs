//! Watch of a kind: one task that reports the API server's state to the cache, across disconnects and errors.
//!
//! # Expected Flow
//! A streaming list (`sendInitialEvents`) returns the current objects and continues as a watch. If the server rejects
//! it, the kind is listed in pages. A watch that ends is resumed at its revision; if that has expired, the kind is
//! listed again. A kind that is not served is retried, so that a CRD that is created or deleted later is noticed.
//!
//! # Guarantees
//! - A list is reported completely or restarted, never mixed with another. // test: guarantees_a_broken_list_is_restarted
//! - No change is lost over a disconnect.                                   // test: guarantees_no_change_is_lost_over_disconnects
//! - A server that stops responding is reported.                            // test: guarantees_a_server_that_stops_responding_is_reported

mod event;
mod lines;
mod response;
mod task;

#[cfg(test)]
mod tests;

use std::time::Duration;

use kube::Client;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::cache::TableEvent;
use crate::rate_limiter::RateLimiter;
use crate::resource::{Resource, TableKey};

/// Delay before the first retry; doubled with each further one.
pub const RETRY_MIN: Duration = Duration::from_millis(200);
/// Maximum delay between retries.
pub const RETRY_MAX: Duration = Duration::from_secs(30);
/// Delay between retries of a kind that is not served.
pub const UNSERVED_RETRY: Duration = Duration::from_secs(5);
/// Timeout of a connection without events: a server sends a bookmark every minute.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(75);
/// Timeout for the response headers of a watch request. Servers send them at once; the first event may take longer.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum time until a server that stops responding is reported: the active connection times out, and then the next
/// request.
pub const MAX_DETECTION_DELAY: Duration = SILENCE_TIMEOUT.saturating_add(RESPONSE_TIMEOUT);
/// Maximum duration of a watch. It limits the effect of servers that do not end the watch of a deleted CRD.
pub const WATCH_DURATION: Duration = Duration::from_secs(290);
/// Maximum duration of a watch for kinds that a CRD may define: the CRD can be deleted at any time, and servers do not
/// always report it.
pub const CUSTOM_WATCH_DURATION: Duration = Duration::from_secs(30);
/// Number of objects in a page of a list.
pub const LIST_PAGE_OBJECTS: usize = 500;
/// Maximum size of an event; the API server limits objects to 3 MiB by default.
pub const MAX_EVENT_BYTES: usize = 64 << 20;
/// Maximum size of a page of a list.
pub const MAX_PAGE_BYTES: usize = 1 << 30;

/// Timeouts and delays of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchTimeouts {
    /// Delay before the first retry.
    pub retry_min: Duration,
    /// Maximum delay between retries.
    pub retry_max: Duration,
    /// Delay between retries of a kind that is not served.
    pub unserved_retry: Duration,
    /// Timeout of a connection without events.
    pub silence: Duration,
    /// Timeout for the response headers.
    pub response: Duration,
    /// Maximum duration of a watch.
    pub duration: Duration,
    /// Maximum duration of a watch for kinds that a CRD may define.
    pub custom_duration: Duration,
}

impl Default for WatchTimeouts {
    fn default() -> Self {
        Self {
            retry_min: RETRY_MIN,
            retry_max: RETRY_MAX,
            unserved_retry: UNSERVED_RETRY,
            silence: SILENCE_TIMEOUT,
            response: RESPONSE_TIMEOUT,
            duration: WATCH_DURATION,
            custom_duration: CUSTOM_WATCH_DURATION,
        }
    }
}

impl WatchTimeouts {
    /// Returns the maximum duration of a watch for a kind.
    pub fn duration_of(&self, resource: &Resource) -> Duration {
        if may_be_custom(resource) { self.custom_duration.min(self.duration) } else { self.duration }
    }

    /// Returns the delay after this number of failures in a row.
    pub fn backoff(&self, failures: u32) -> Duration {
        let doubled = self.retry_min.saturating_mul(2u32.saturating_pow(failures.saturating_sub(1)));
        doubled.min(self.retry_max)
    }
}

/// API groups of Kubernetes with a dot. Other groups that end in `.k8s.io` belong to projects that use CRDs.
const BUILT_IN: [&str; 17] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Whether a CRD may define the kind.
fn may_be_custom(resource: &Resource) -> bool {
    resource.group.contains('.') && !BUILT_IN.contains(&&*resource.group)
}

/// Update from a watch.
#[derive(Clone, Debug)]
pub enum WatchUpdate {
    /// Event for the cache. After [`WatchUpdate::Failed`], the first event means that the watch works again.
    Event(TableEvent),
    /// The API server cannot be read; the watch retries. Cached objects stay, and may be outdated.
    Failed {
        /// Error message for users.
        message: String,
    },
}

/// Active watch; it ends when it is dropped.
#[derive(Debug)]
pub struct TableWatch {
    task: JoinHandle<()>,
}

impl TableWatch {
    /// Starts to watch a kind and sends its updates to `sink`, waiting while it is full. Every request passes the rate
    /// limiter. The watch ends when the receiver is dropped.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(
        client: Client,
        table: TableKey,
        sink: mpsc::Sender<(TableKey, WatchUpdate)>,
        timeouts: WatchTimeouts,
        rate_limiter: RateLimiter,
    ) -> Self {
        Self { task: tokio::spawn(task::run(client, table, sink, timeouts, rate_limiter)) }
    }
}

impl Drop for TableWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}
