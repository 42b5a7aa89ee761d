//! What can be asked of a host while it works.

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::LimitsByName;
use super::recorder::Counts;
use crate::limits::GlobalLimits;
use crate::operator::{OperatorName, UnitId};
use crate::resource::ObjectKey;
use crate::state::State;

pub(super) enum Request {
    State(oneshot::Sender<State>),
    Counts(oneshot::Sender<Counts>),
    Ask(UnitId, oneshot::Sender<bool>),
    Pause(OperatorName, bool, oneshot::Sender<bool>),
    Limits(GlobalLimits, LimitsByName),
    Fields(ObjectKey, oneshot::Sender<Option<Value>>),
    Stop,
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

    /// Runs a unit soon. False when there is no such operator.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn wake(&self, unit: UnitId) -> Result<bool, Stopped> {
        self.ask_for(|reply| Request::Ask(unit, reply)).await
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

    /// An object as it is now, with nothing but its `managedFields`; `None` when it is not there or cannot be asked for.
    ///
    /// # Errors
    /// When the host has stopped.
    pub async fn managed_fields(&self, object: ObjectKey) -> Result<Option<Value>, Stopped> {
        self.ask_for(|reply| Request::Fields(object, reply)).await
    }

    /// Finishes what is under way and stops.
    pub async fn stop(&self) {
        // A host that is gone has stopped.
        let _ = self.0.send(Request::Stop).await;
    }
}

pub(super) async fn fields(client: Option<kube::Client>, key: &ObjectKey) -> Option<Value> {
    let request = http::Request::get(key.path()).body(Vec::new()).ok()?;
    let object: Value = client?.request(request).await.ok()?;
    // Only who wrote what: the object itself may hold secrets.
    Some(serde_json::json!({"metadata": {"managedFields": object.pointer("/metadata/managedFields")}}))
}
