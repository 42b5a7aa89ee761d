//! What can be asked of a host while it works.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::LimitsByName;
use super::recorder::{self, Counts, Question};
use crate::cache::Snapshot;
use crate::decision::DecisionId;
use crate::journal::Journal;
use crate::limits::{GlobalLimits, Limits};
use crate::operator::{Operator, OperatorName, Unit, UnitId};
use crate::place::ClusterName;
use crate::resource::ObjectKey;
use crate::state::{State, UnitState};

pub(super) enum Request {
    State(oneshot::Sender<State>),
    Counts(oneshot::Sender<Counts>),
    Ask(OperatorName, Option<Unit>, oneshot::Sender<Option<usize>>),
    Unit(UnitId, oneshot::Sender<Option<UnitState>>),
    Pause(OperatorName, bool, oneshot::Sender<bool>),
    Add(Box<Added>),
    Remove(OperatorName, oneshot::Sender<bool>),
    Units(OperatorName, BTreeSet<Unit>, Vec<Unit>, oneshot::Sender<bool>),
    Tell(OperatorName, Vec<Unit>, Option<Arc<str>>, oneshot::Sender<bool>),
    Limits(GlobalLimits, LimitsByName),
    Fields(ObjectKey, oneshot::Sender<Result<Option<Value>, String>>),
    Picture(oneshot::Sender<Arc<Snapshot>>),
    Clusters(oneshot::Sender<BTreeMap<ClusterName, kube::Client>>),
    Journal(Question),
    Stop,
}

/// An operator that is taken in while the host works, and the cluster it comes with.
pub(super) struct Added {
    pub operator: Arc<dyn Operator>,
    pub limits: Limits,
    pub cluster: Option<(ClusterName, kube::Client)>,
}

/// The host is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kernel has stopped")]
pub struct Stopped;

/// Asks a host, and stops it. The host stops as well when the last handle is dropped.
#[derive(Clone)]
pub struct Handle(mpsc::Sender<Request>);

impl Handle {
    pub(super) fn new(requests: mpsc::Sender<Request>) -> Self {
        Self(requests)
    }

    async fn ask_for<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, Stopped> {
        let (reply, answer) = oneshot::channel();
        self.0.send(request(reply)).await.map_err(|_| Stopped)?;
        answer.await.map_err(|_| Stopped)
    }

    /// The kernel at this moment.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn state(&self) -> Result<State, Stopped> {
        self.ask_for(Request::State).await
    }

    /// How much was recorded.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn counts(&self) -> Result<Counts, Stopped> {
        self.ask_for(Request::Counts).await
    }

    /// Runs a unit of an operator soon, or all of them. Says how many; `None` when there is no such operator.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn wake(&self, operator: OperatorName, unit: Option<Unit>) -> Result<Option<usize>, Stopped> {
        self.ask_for(|reply| Request::Ask(operator, unit, reply)).await
    }

    /// One unit at this moment; `None` when there is none of that name.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn unit(&self, unit: UnitId) -> Result<Option<UnitState>, Stopped> {
        self.ask_for(|reply| Request::Unit(unit, reply)).await
    }

    /// Takes an operator in, with a cluster that nobody knew before it; a cluster of that name that is known stays. One that is taken
    /// in again takes the place of the former, and so does its cluster.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn add(
        &self,
        operator: Arc<dyn Operator>,
        limits: Limits,
        cluster: Option<(ClusterName, kube::Client)>,
    ) -> Result<(), Stopped> {
        self.0.send(Request::Add(Box::new(Added { operator, limits, cluster }))).await.map_err(|_| Stopped)
    }

    /// Lets an operator go, with the cluster that came with it; see [`crate::core::Core::remove`]. False when there is no such
    /// operator.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn remove(&self, operator: OperatorName) -> Result<bool, Stopped> {
        self.ask_for(|reply| Request::Remove(operator, reply)).await
    }

    /// Names the units of an operator that has [`crate::operator::Units::Given`], and wakes those for which something
    /// changed. False when there is no such operator.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn set_units(
        &self,
        operator: OperatorName,
        units: BTreeSet<Unit>,
        changed: Vec<Unit>,
    ) -> Result<bool, Stopped> {
        self.ask_for(|reply| Request::Units(operator, units, changed, reply)).await
    }

    /// Wakes units for which something changed outside of every cluster, even if their objects are gone. False when there is
    /// no such operator.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn tell(&self, operator: OperatorName, units: Vec<Unit>) -> Result<bool, Stopped> {
        self.ask_for(|reply| Request::Tell(operator, units, None, reply)).await
    }

    /// As [`Handle::tell`], of units that somebody shares with others whose units have the same namespace: from here on they
    /// take turns by `party`, not by their namespace.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn tell_of(&self, operator: OperatorName, party: &str, units: Vec<Unit>) -> Result<bool, Stopped> {
        let party = Some(Arc::from(party));
        self.ask_for(|reply| Request::Tell(operator, units, party, reply)).await
    }

    /// Pauses an operator, or lets it go on. False when there is no such operator.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn pause(&self, operator: OperatorName, paused: bool) -> Result<bool, Stopped> {
        self.ask_for(|reply| Request::Pause(operator, paused, reply)).await
    }

    /// Changes limits; operators that are not named keep theirs.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn set_limits(&self, global: GlobalLimits, operators: LimitsByName) -> Result<(), Stopped> {
        self.0.send(Request::Limits(global, operators)).await.map_err(|_| Stopped)
    }

    /// An object as it is now, with nothing but its `managedFields` and its revision; `None` when it is not there, and the inner error, for
    /// people, when its cluster did not say.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn managed_fields(&self, object: ObjectKey) -> Result<Result<Option<Value>, String>, Stopped> {
        self.ask_for(|reply| Request::Fields(object, reply)).await
    }

    /// All that is cached at this moment. It never changes.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn picture(&self) -> Result<Arc<Snapshot>, Stopped> {
        self.ask_for(Request::Picture).await
    }

    /// The clusters that are worked on, those that came with an operator included.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn clusters(&self) -> Result<BTreeMap<ClusterName, kube::Client>, Stopped> {
        self.ask_for(Request::Clusters).await
    }

    /// Looks something up in the journal, on the thread that writes it: what is looked up should be bounded, since nothing
    /// is recorded meanwhile.
    ///
    /// # Errors
    /// When the host has stopped, or its journal is too far behind to be asked.
    pub async fn journal<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Journal) -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let question = |reply: oneshot::Sender<T>| -> Request {
            Request::Journal(Box::new(move |journal| drop(reply.send(look(journal)))))
        };
        self.ask_for(question).await
    }

    /// Has decisions whose numbers are about to be told written, so that who is told can ask the journal's files for them. All
    /// that was recorded before is in those by then.
    ///
    /// # Errors
    /// As [`Handle::journal`].
    pub async fn keep(&self, told: Vec<DecisionId>) -> Result<(), Stopped> {
        let question = |reply: oneshot::Sender<()>| -> Request {
            Request::Journal(Box::new(move |journal| {
                recorder::keep_told(journal, &told);
                let _ = reply.send(());
            }))
        };
        self.ask_for(question).await
    }

    /// Finishes what is under way and stops.
    pub async fn stop(&self) {
        // A host that is gone has stopped.
        let _ = self.0.send(Request::Stop).await;
    }
}

pub(super) async fn fields(client: Option<kube::Client>, key: &ObjectKey) -> Result<Option<Value>, String> {
    let client = client.ok_or_else(|| format!("no cluster is called {}", key.table.cluster))?;
    let request = http::Request::get(key.path()).body(Vec::new());
    let request = request.map_err(|error| format!("{key} cannot be asked for: {error}"))?;
    match client.request::<Value>(request).await {
        // Only who wrote what: the object itself may hold secrets.
        Ok(object) => {
            let of = |field: &str| object["metadata"][field].clone();
            let (fields, revision) = (of("managedFields"), of("resourceVersion"));
            Ok(Some(serde_json::json!({"metadata": {"managedFields": fields, "resourceVersion": revision}})))
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(format!("could not read {key} of cluster {}: {error}", key.table.cluster)),
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

    /// A client whose server always answers so.
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
    async fn an_object_that_cannot_be_read_is_not_said_to_be_gone() {
        let resource = Arc::new(Resource::namespaced("", "v1", "ConfigMap", "configmaps"));
        let table = TableKey { cluster: ClusterName::new("main"), resource };
        let key = ObjectKey { table, namespace: "shop".into(), name: "web".into() };
        assert_eq!(fields(Some(answering(404)), &key).await, Ok(None));
        for code in [403, 500, 503] {
            let message = fields(Some(answering(code)), &key).await.unwrap_err();
            assert!(message.starts_with("could not read configmaps/shop/web of cluster main: "), "{message}");
        }
        assert_eq!(fields(None, &key).await, Err("no cluster is called main".to_string()));
    }
}
