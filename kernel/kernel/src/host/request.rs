//! Requests to a running host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use switchboard_object::causes::root_cause;
use tokio::sync::{mpsc, oneshot};

use super::LimitsByName;
use super::recorder::{self, JournalCounts, JournalQuery};
use crate::cache::Snapshot;
use crate::decision::DecisionId;
use crate::journal::Journal;
use crate::limits::{GlobalLimits, Limits};
use crate::operator::{Operator, OperatorName, Unit, UnitId};
use crate::resource::ObjectKey;
use crate::state::{KernelState, UnitState};
use crate::topology::ClusterName;

pub(super) enum HostRequest {
    State(oneshot::Sender<KernelState>),
    Counts(oneshot::Sender<JournalCounts>),
    Reconcile(OperatorName, Option<Unit>, oneshot::Sender<Option<usize>>),
    Unit(UnitId, oneshot::Sender<Option<UnitState>>),
    /// Pauses an operator for a user, or resumes it for `None`.
    Pause(OperatorName, Option<String>, oneshot::Sender<bool>),
    Add(Box<NewOperator>),
    Remove(OperatorName, oneshot::Sender<bool>),
    Units(OperatorName, BTreeSet<Unit>, Vec<Unit>, oneshot::Sender<bool>),
    Enqueue(OperatorName, Vec<Unit>, Option<Arc<str>>, oneshot::Sender<bool>),
    Limits(GlobalLimits, LimitsByName),
    ManagedFields(ObjectKey, oneshot::Sender<Result<Option<Value>, String>>),
    Snapshot(oneshot::Sender<Arc<Snapshot>>),
    Clusters(oneshot::Sender<BTreeMap<ClusterName, kube::Client>>),
    Journal(JournalQuery),
    Stop,
}

/// Operator to add to a running host, with its cluster.
pub(super) struct NewOperator {
    pub operator: Arc<dyn Operator>,
    pub limits: Limits,
    pub cluster: Option<(ClusterName, kube::Client)>,
}

/// Error: the host has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kernel has stopped")]
pub struct HostStopped;

/// Handle to query and stop a host. The host also stops when its last handle is dropped.
#[derive(Clone)]
pub struct Handle(mpsc::Sender<HostRequest>);

impl Handle {
    pub(super) fn new(requests: mpsc::Sender<HostRequest>) -> Self {
        Self(requests)
    }

    async fn send_request<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> HostRequest) -> Result<T, HostStopped> {
        let (reply, answer) = oneshot::channel();
        self.0.send(request(reply)).await.map_err(|_| HostStopped)?;
        answer.await.map_err(|_| HostStopped)
    }

    /// Returns the current state of the kernel.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn state(&self) -> Result<KernelState, HostStopped> {
        self.send_request(HostRequest::State).await
    }

    /// Returns the numbers of recorded and dropped entries.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn counts(&self) -> Result<JournalCounts, HostStopped> {
        self.send_request(HostRequest::Counts).await
    }

    /// Triggers a unit of an operator, or all of them. Returns their number; `None` if the operator does not exist.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn reconcile(&self, operator: OperatorName, unit: Option<Unit>) -> Result<Option<usize>, HostStopped> {
        self.send_request(|reply| HostRequest::Reconcile(operator, unit, reply)).await
    }

    /// Returns the state of a unit; `None` if it does not exist.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn unit(&self, unit: UnitId) -> Result<Option<UnitState>, HostStopped> {
        self.send_request(|reply| HostRequest::Unit(unit, reply)).await
    }

    /// Adds an operator, with a cluster if it has one of its own; a cluster with that name that is already known stays.
    /// An operator that is added again replaces the previous one and its cluster.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn add(
        &self,
        operator: Arc<dyn Operator>,
        limits: Limits,
        cluster: Option<(ClusterName, kube::Client)>,
    ) -> Result<(), HostStopped> {
        self.0
            .send(HostRequest::Add(Box::new(NewOperator { operator, limits, cluster })))
            .await
            .map_err(|_| HostStopped)
    }

    /// Removes an operator and the cluster that was added with it; see [`crate::core::Core::remove`]. Returns whether
    /// the operator existed.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn remove(&self, operator: OperatorName) -> Result<bool, HostStopped> {
        self.send_request(|reply| HostRequest::Remove(operator, reply)).await
    }

    /// Replaces the units of an operator with [`crate::operator::Units::External`], and triggers the changed ones.
    /// Returns whether the operator exists.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn set_units(
        &self,
        operator: OperatorName,
        units: BTreeSet<Unit>,
        changed: Vec<Unit>,
    ) -> Result<bool, HostStopped> {
        self.send_request(|reply| HostRequest::Units(operator, units, changed, reply)).await
    }

    /// Triggers units because an external input changed, even if their objects are deleted. Returns
    /// whether the operator exists.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn enqueue(&self, operator: OperatorName, units: Vec<Unit>) -> Result<bool, HostStopped> {
        self.send_request(|reply| HostRequest::Enqueue(operator, units, None, reply)).await
    }

    /// Triggers units like [`Handle::enqueue`], for units whose namespace is shared by several tenants: from now on
    /// they are scheduled fairly by `flow`, not by namespace.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn enqueue_for_flow(
        &self,
        operator: OperatorName,
        flow: &str,
        units: Vec<Unit>,
    ) -> Result<bool, HostStopped> {
        let flow = Some(Arc::from(flow));
        self.send_request(|reply| HostRequest::Enqueue(operator, units, flow, reply)).await
    }

    /// Pauses an operator until it is resumed, and records the user who requested it. Returns whether the operator
    /// exists.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn pause(&self, operator: OperatorName, by: String) -> Result<bool, HostStopped> {
        self.send_request(|reply| HostRequest::Pause(operator, Some(by), reply)).await
    }

    /// Resumes a paused operator. Returns whether the operator exists.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn resume(&self, operator: OperatorName) -> Result<bool, HostStopped> {
        self.send_request(|reply| HostRequest::Pause(operator, None, reply)).await
    }

    /// Changes limits; operators that are not listed keep theirs.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn set_limits(&self, global: GlobalLimits, operators: LimitsByName) -> Result<(), HostStopped> {
        self.0.send(HostRequest::Limits(global, operators)).await.map_err(|_| HostStopped)
    }

    /// Reads the `managedFields` and revision of an object from its cluster; `None` if the object does not exist. The
    /// inner error is a message for users.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn managed_fields(&self, object: ObjectKey) -> Result<Result<Option<Value>, String>, HostStopped> {
        self.send_request(|reply| HostRequest::ManagedFields(object, reply)).await
    }

    /// Returns an immutable snapshot of all cached objects.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>, HostStopped> {
        self.send_request(HostRequest::Snapshot).await
    }

    /// Returns the clusters in use, including those added with an operator.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn clusters(&self) -> Result<BTreeMap<ClusterName, kube::Client>, HostStopped> {
        self.send_request(HostRequest::Clusters).await
    }

    /// Runs a query on the journal's thread. The query should be short, because nothing is recorded meanwhile.
    ///
    /// # Errors
    /// When the host has stopped, or its journal is too far behind.
    pub async fn journal<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Journal) -> T + Send + 'static,
    ) -> Result<T, HostStopped> {
        let question = |reply: oneshot::Sender<T>| -> HostRequest {
            HostRequest::Journal(Box::new(move |journal| drop(reply.send(look(journal)))))
        };
        self.send_request(question).await
    }

    /// Writes decisions whose numbers are about to be returned to a client, so that the client finds them in the
    /// journal's files. Everything recorded before is written too.
    ///
    /// # Errors
    /// Errors of [`Handle::journal`].
    pub async fn flush(&self, ids: Vec<DecisionId>) -> Result<(), HostStopped> {
        let question = |reply: oneshot::Sender<()>| -> HostRequest {
            HostRequest::Journal(Box::new(move |journal| {
                recorder::flush(journal, &ids);
                let _ = reply.send(());
            }))
        };
        self.send_request(question).await
    }

    /// Finishes active work and stops the host.
    pub async fn stop(&self) {
        // If the host does not exist any more, it has stopped.
        let _ = self.0.send(HostRequest::Stop).await;
    }
}

pub(super) async fn managed_fields(client: Option<kube::Client>, key: &ObjectKey) -> Result<Option<Value>, String> {
    let client = client.ok_or_else(|| format!("unknown cluster {}", key.table.cluster))?;
    let request = http::Request::get(key.path()).body(Vec::new());
    let request = request.map_err(|error| format!("could not request {key}: {error}"))?;
    match client.request::<Value>(request).await {
        // Only the `managedFields`: the object itself may hold secrets.
        Ok(object) => {
            let of = |field: &str| object["metadata"][field].clone();
            let (fields, revision) = (of("managedFields"), of("resourceVersion"));
            Ok(Some(serde_json::json!({"metadata": {"managedFields": fields, "resourceVersion": revision}})))
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(format!("could not read {key} of cluster {}: {}", key.table.cluster, root_cause(&error))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http::Response;
    use http_body_util::Full;
    use kube::client::Body;

    use super::*;
    use crate::resource::{Resource, TableKey};

    /// Returns a client whose server always responds with this code.
    fn answering(code: u16) -> kube::Client {
        let answer = move |_: http::Request<Body>| async move {
            let status = serde_json::json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                "message": "not now", "reason": "Because", "metadata": {}});
            let body = Full::new(bytes::Bytes::from(status.to_string()));
            Ok::<_, std::convert::Infallible>(Response::builder().status(code).body(body).unwrap())
        };
        kube::Client::new(tower::service_fn(answer), "default")
    }

    #[tokio::test]
    async fn an_object_that_cannot_be_read_is_not_reported_as_deleted() {
        let resource = Arc::new(Resource::namespaced("", "v1", "ConfigMap", "configmaps"));
        let table = TableKey { cluster: ClusterName::new("main"), resource };
        let key = ObjectKey { table, namespace: "shop".into(), name: "web".into() };
        assert_eq!(managed_fields(Some(answering(404)), &key).await, Ok(None));
        for code in [403, 500, 503] {
            let message = managed_fields(Some(answering(code)), &key).await.unwrap_err();
            assert!(message.starts_with("could not read configmaps/shop/web of cluster main: "), "{message}");
        }
        assert_eq!(managed_fields(None, &key).await, Err("unknown cluster main".to_string()));
    }
}
