//! Conditions of a plug. Reasons and messages are those of integration-operator, because scripts depend on them.

use serde_json::{Value, json};
use switchboard_kernel::redact::REDACTED;

use super::record::CouplingRecord;
use crate::model::{PlugMeta, SOCKETS};

/// State of a plug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlugState {
    /// The plug was created.
    Created,
    /// The plug is not bound to a socket.
    NoSocket,
    /// The requested socket does not exist.
    SocketMissing(String),
    /// Coupling is in progress, possibly waiting for the given object.
    Coupling(Option<String>),
    /// An update is in progress.
    Updating(Option<String>),
    /// The plug is coupled.
    Coupled,
    /// The socket does not accept the plug: reason and message.
    Refused(&'static str, String),
    /// An apparatus does not answer yet.
    Apparatus {
        /// Whether an update is in progress; otherwise coupling is in progress.
        updating: bool,
        /// Reason for the wait.
        why: String,
    },
    /// An error occurred.
    Failing(String),
    /// Another field manager owns a field that the coupling applies.
    Conflict(String),
}

/// Status fields of a plug besides its conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusExtras {
    /// Name of the Secret with the results, if there is one.
    pub binding: Option<String>,
}

/// Type, status, reason and message.
pub type StatusCondition = (&'static str, bool, String, String);

/// Returns the conditions of a state.
fn state_conditions(state: &PlugState, is_deleting: bool) -> Vec<StatusCondition> {
    let one = |of_type, status, reason: &str, message: &str| (of_type, status, reason.to_string(), message.to_string());
    let coupled = |status, reason: &str, message: &str| one("Coupled", status, reason, message);
    let waiting =
        |on: &Option<String>| on.iter().map(|on| one("Waiting", true, "ResultMissing", on)).collect::<Vec<_>>();
    let attempt = if is_deleting { "decoupling failed" } else { "coupling failed" };
    let failed = |message: &str| vec![coupled(false, "Error", attempt), one("Failed", true, "Error", message)];
    match state {
        PlugState::Created => vec![coupled(false, "PlugCreated", "plug created")],
        PlugState::NoSocket => vec![coupled(false, "SocketNotCreated", "waiting for socket to be created")],
        PlugState::SocketMissing(which) => vec![
            coupled(false, "SocketNotCreated", "waiting for socket to be created"),
            one("Waiting", true, "SocketMissing", which),
        ],
        PlugState::Coupling(on) => {
            [vec![coupled(false, "CouplingInProcess", "coupling to socket")], waiting(on)].concat()
        }
        PlugState::Updating(on) => {
            [vec![coupled(false, "UpdatingInProcess", "updating coupling")], waiting(on)].concat()
        }
        PlugState::Apparatus { updating, why } => {
            let coupled = match updating {
                true => coupled(false, "UpdatingInProcess", "updating coupling"),
                false => coupled(false, "CouplingInProcess", "coupling to socket"),
            };
            vec![coupled, one("ApparatusReady", false, "NotReady", why)]
        }
        PlugState::Coupled => vec![coupled(true, "CouplingSucceeded", "coupling succeeded")],
        PlugState::Refused(reason, message) => vec![coupled(false, reason, message)],
        PlugState::Failing(message) => failed(message),
        PlugState::Conflict(message) => {
            [failed(message), vec![one("Conflict", true, "FieldConflict", message)]].concat()
        }
    }
}

/// Returns conditions as written to the status. A condition with an unchanged status keeps its transition time.
pub fn conditions(wanted: Vec<StatusCondition>, generation: i64, before: &Value, now: &str) -> Value {
    let one = |(of_type, status, reason, message): StatusCondition| {
        let status = if status { "True" } else { "False" };
        let old = before.as_array().into_iter().flatten().find(|one| one["type"] == of_type);
        let since = old.filter(|old| old["status"] == status).and_then(|old| old["lastTransitionTime"].as_str());
        json!({"type": of_type, "status": status, "reason": reason, "message": message,
            "observedGeneration": generation, "lastTransitionTime": since.unwrap_or(now)})
    };
    Value::Array(wanted.into_iter().map(one).collect())
}

/// Returns the status of a plug.
pub fn plug_status(
    state: &PlugState,
    record: &CouplingRecord,
    meta: &PlugMeta,
    shown: &StatusExtras,
    before: &Value,
    now: &str,
) -> Value {
    let wanted = state_conditions(state, meta.is_deleting);
    let mut status = json!({"conditions": conditions(wanted, meta.generation, &before["conditions"], now)});
    let Some(socket) = record.socket.as_ref().filter(|_| record.coupled) else { return status };
    status["coupledSocket"] = json!({"apiVersion": SOCKETS.api_version(), "kind": SOCKETS.kind,
        "namespace": socket.namespace, "name": socket.name, "uid": socket.uid});
    if let Some(result) = &record.result {
        let mut open = result.clone();
        for (values, redacted) in [(&mut open.plug, &record.redacted.plug), (&mut open.socket, &record.redacted.socket)]
        {
            for name in redacted {
                if let Some(value) = values.get_mut(name) {
                    *value = REDACTED.to_string();
                }
            }
        }
        let seen = before["coupledResult"]["observedGeneration"].as_i64();
        let generation = if *state == PlugState::Coupled { meta.generation } else { seen.unwrap_or(meta.generation) };
        status["coupledResult"] = json!({"plug": open.plug, "socket": open.socket, "observedGeneration": generation});
    }
    if let Some(binding) = &shown.binding {
        status["binding"] = json!({"name": binding});
    }
    status
}
