//! Commands and queries of the command line on the socket.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::json;

use super::local_user::LocalUser;
use super::object_names;
use super::{flush, json_of, problem};
use crate::host::{Handle, HostStopped};
use crate::operator::{OperatorName, Unit, UnitId};
use crate::resource::ObjectKey;

/// Maximum size of a request body.
const MAX_COMMAND_BYTES: usize = 64 * 1024;

/// Operator and unit of a command.
#[derive(Deserialize)]
struct UnitTarget {
    operator: OperatorName,
    unit: Option<Unit>,
}

/// Handles a `POST` below `/api/v1/`.
pub(super) async fn command(
    path: &str,
    request: Request<Incoming>,
    handle: &Handle,
    user: LocalUser,
) -> Response<Full<Bytes>> {
    let bytes = match Limited::new(request.into_body(), MAX_COMMAND_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return problem(StatusCode::BAD_REQUEST, "could not read the body"),
    };
    let done = match path {
        "/api/v1/fields" => match serde_json::from_slice(&bytes) {
            Ok(key) => fields(handle, key).await,
            Err(_) => Ok(problem(StatusCode::BAD_REQUEST, "the body has no object")),
        },
        "/api/v1/names" => match serde_json::from_slice(&bytes) {
            Ok(query) => handle.snapshot().await.map(|snapshot| json_of(&object_names::find(&snapshot, &query))),
            Err(_) => Ok(problem(StatusCode::BAD_REQUEST, "the body has no kind and uids")),
        },
        "/api/v1/pause" | "/api/v1/resume" | "/api/v1/reconcile" | "/api/v1/unit" => {
            match serde_json::from_slice(&bytes) {
                Ok(target) => operator_command(path, target, handle, user).await,
                Err(_) => Ok(problem(StatusCode::BAD_REQUEST, "the body has no operator")),
            }
        }
        _ => Ok(problem(StatusCode::NOT_FOUND, "not found")),
    };
    done.unwrap_or_else(|stopped| problem(StatusCode::SERVICE_UNAVAILABLE, &stopped.to_string()))
}

async fn fields(handle: &Handle, key: ObjectKey) -> Result<Response<Full<Bytes>>, HostStopped> {
    Ok(match handle.managed_fields(key).await? {
        Ok(fields) => json_of(&fields),
        Err(message) => problem(StatusCode::BAD_GATEWAY, &message),
    })
}

async fn operator_command(
    path: &str,
    target: UnitTarget,
    handle: &Handle,
    user: LocalUser,
) -> Result<Response<Full<Bytes>>, HostStopped> {
    let UnitTarget { operator, unit } = target;
    let unknown = || problem(StatusCode::NOT_FOUND, &format!("unknown operator {operator}"));
    let no_unit = |unit: &Unit| problem(StatusCode::NOT_FOUND, &format!("{operator} has no unit {unit}"));
    Ok(match (path, unit) {
        ("/api/v1/reconcile", unit) => match (handle.reconcile(operator.clone(), unit.clone()).await?, unit) {
            (None, _) => unknown(),
            (Some(0), Some(unit)) => no_unit(&unit),
            (Some(triggered), _) => json_of(&json!({"triggered": triggered})),
        },
        ("/api/v1/unit", Some(unit)) => {
            let found = handle.unit(UnitId { operator: operator.clone(), unit: unit.clone() }).await?;
            flush(handle, found.iter().filter_map(|found| found.last_decision).collect()).await;
            found.map_or_else(|| no_unit(&unit), |found| json_of(&found))
        }
        ("/api/v1/unit", None) => problem(StatusCode::BAD_REQUEST, "the body has no unit"),
        (path, _) => {
            let paused = path == "/api/v1/pause";
            let known = match paused {
                true => handle.pause(operator.clone(), user.name()).await?,
                false => handle.resume(operator.clone()).await?,
            };
            if known { json_of(&json!({"paused": paused})) } else { unknown() }
        }
    })
}
