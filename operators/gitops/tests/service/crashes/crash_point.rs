//! Kill of a process after a number of steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use switchboard_gitops::store::{CommitHook, CommitPhase};

use crate::fixture::Clients;

/// Counter of the steps until the kill. A step is a commit or a write on any cluster.
#[derive(Clone)]
pub struct CrashPoint(Arc<AtomicI64>);

impl CrashPoint {
    pub fn of(steps: i64) -> CrashPoint {
        CrashPoint(Arc::new(AtomicI64::new(steps)))
    }

    pub fn has_crashed(&self) -> bool {
        self.0.load(Ordering::SeqCst) <= 0
    }

    fn step(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    pub fn commit_hook(&self) -> CommitHook {
        let crash_point = self.clone();
        Arc::new(move |when| match when {
            CommitPhase::Before => !crash_point.has_crashed(),
            CommitPhase::After => {
                crash_point.step();
                // The process does not receive the result of its last commit.
                !crash_point.has_crashed()
            }
        })
    }

    pub fn clients(&self, clients: &Clients) -> Clients {
        Clients {
            tenants: self.client(&clients.tenants),
            engine: self.client(&clients.engine),
            target: self.client(&clients.target),
        }
    }

    /// Wraps a client: after the crash point its writes fail, and it loses the response to the last write.
    fn client(&self, client: &Client) -> Client {
        let (crash_point, client) = (self.clone(), client.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (crash_point, client) = (crash_point.clone(), client.clone());
            async move {
                let is_write = request.method() != Method::GET;
                if is_write && crash_point.has_crashed() {
                    return std::future::pending::<Result<Response<Body>, tower::BoxError>>().await;
                }
                let answer = client.send(request).await?;
                if is_write {
                    crash_point.step();
                    if crash_point.has_crashed() {
                        return std::future::pending().await;
                    }
                }
                Ok(answer)
            }
        });
        Client::new(service, "default")
    }
}
