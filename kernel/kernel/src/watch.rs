//! One task per watched kind: tells the cache what an API server says, whatever happens in between.
//!
//! # Expected Flow
//! A streaming list (`sendInitialEvents`) tells what there is and goes on as a watch. A server that refuses it is listed in
//! pages. A watch that ends goes on where it was; one whose revision is forgotten lists anew. A kind that is not served is
//! asked for again and again, so a CRD that comes later is noticed, and one that goes.
//!
//! # Guarantees
//! - A list is told whole or begun anew, never mixed with another.     // test: guarantees_a_broken_list_begins_anew
//! - No change is lost over a disconnect.                              // test: guarantees_no_change_is_lost_over_disconnects
//! - A server that falls silent is told of.                            // test: guarantees_a_server_that_falls_silent_is_told_of

mod answer;
mod event;
mod lines;
mod task;

#[cfg(test)]
mod tests;

use std::time::Duration;

use kube::Client;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::cache::Observed;
use crate::gate::Gate;
use crate::resource::{Resource, TableKey};

/// How long to wait before the second try; doubled with each further one.
pub const RETRY_MIN: Duration = Duration::from_millis(200);
/// The longest wait between two tries.
pub const RETRY_MAX: Duration = Duration::from_secs(30);
/// How often a kind that is not served is asked for.
pub const UNSERVED_RETRY: Duration = Duration::from_secs(5);
/// A server sends a bookmark every minute: a connection that is silent for longer is given up.
pub const SILENCE: Duration = Duration::from_secs(75);
/// How long a server may take to answer that it begins to tell. It does so at once; what it has to tell may take longer.
pub const ANSWER: Duration = Duration::from_secs(15);
/// A server that falls silent without a word is noticed, and told of, after this at the latest: what was under way is given up,
/// and what is asked then is not answered.
pub const NOTICED_WITHIN: Duration = SILENCE.saturating_add(ANSWER);
/// How long a watch may last before it is begun anew. Servers that forget to end the watch of a CRD that went are caught by it.
pub const WATCH_LIFE: Duration = Duration::from_secs(290);
/// The same for kinds that a CRD may define: it can go at any time, and a server does not always say so.
pub const CUSTOM_WATCH_LIFE: Duration = Duration::from_secs(30);
/// Objects in a page of a list.
pub const LIST_PAGE_OBJECTS: usize = 500;
/// The longest event; the API server allows objects of 3 MiB at most by default.
pub const MAX_EVENT_BYTES: usize = 64 << 20;
/// The longest page of a list.
pub const MAX_PAGE_BYTES: usize = 1 << 30;

/// How long a watch waits for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Before the second try.
    pub retry_min: Duration,
    /// Between two tries at most.
    pub retry_max: Duration,
    /// Between two questions whether a kind is served.
    pub unserved_retry: Duration,
    /// For anything at all to come over a connection.
    pub silence: Duration,
    /// For a server to say that it begins to tell.
    pub answer: Duration,
    /// For a watch to end.
    pub life: Duration,
    /// For the watch of a kind that may vanish to end.
    pub custom_life: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            retry_min: RETRY_MIN,
            retry_max: RETRY_MAX,
            unserved_retry: UNSERVED_RETRY,
            silence: SILENCE,
            answer: ANSWER,
            life: WATCH_LIFE,
            custom_life: CUSTOM_WATCH_LIFE,
        }
    }
}

impl Pace {
    /// How long a watch of a kind may last.
    pub fn life_of(&self, resource: &Resource) -> Duration {
        if may_vanish(resource) { self.custom_life.min(self.life) } else { self.life }
    }

    /// The wait after so many failures in a row.
    pub fn after(&self, failures: u32) -> Duration {
        let doubled = self.retry_min.saturating_mul(2u32.saturating_pow(failures.saturating_sub(1)));
        doubled.min(self.retry_max)
    }
}

/// The groups of Kubernetes itself that have a dot. Others that end in `.k8s.io` belong to projects, which use CRDs.
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

/// Whether a CRD may define a kind.
fn may_vanish(resource: &Resource) -> bool {
    resource.group.contains('.') && !BUILT_IN.contains(&&*resource.group)
}

/// What a watch tells.
#[derive(Clone, Debug)]
pub enum Told {
    /// For the cache. After a [`Told::Lost`], the first of these says that all is well again.
    Observed(Observed),
    /// The API server cannot be read from; it is tried again. What is cached stays, and ages.
    Lost {
        /// Why, in words for people.
        message: String,
    },
}

/// A watch under way. Dropping it ends it.
#[derive(Debug)]
pub struct Watch {
    task: JoinHandle<()>,
}

impl Watch {
    /// Starts to watch a kind and tells what it sees, waiting when `sink` is full. Every request passes the gate first. Ends
    /// when nobody listens.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(
        client: Client,
        table: TableKey,
        sink: mpsc::Sender<(TableKey, Told)>,
        pace: Pace,
        gate: Gate,
    ) -> Self {
        Self { task: tokio::spawn(task::run(client, table, sink, pace, gate)) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}
