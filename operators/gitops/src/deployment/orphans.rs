//! Applications that no row has in their namespace, or that stay paused although their move no longer exists: the move was
//! deleted with its environment, or an older database was restored.

use serde_json::Value;
use switchboard_sql::{Filter, LedgerView, RowKey};

use crate::agent::Agent;
use crate::argocd::deployment_of;
use crate::deployment::application;
use crate::error::ServiceError;
use crate::ids::{OperationState, Uid};
use crate::moves::{self, owning_move};
use crate::related_rows;
use crate::rows::Application;
use crate::rows::fleet::Move;

/// Hold of a move on an Application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveHold {
    /// No move holds the Application.
    Free,
    /// A move in progress holds the Application; only the move changes it.
    Active,
    /// A finished or deleted move has left the Application paused.
    Stale,
}

/// Returns the hold of a move on an Application.
///
/// # Errors
/// When the database fails.
pub(crate) async fn move_hold(view: &mut LedgerView, object: &Value) -> Result<MoveHold, ServiceError> {
    let Some(id) = owning_move(object) else { return Ok(MoveHold::Free) };
    let row: Option<Move> = view.get(&RowKey::from(&id)).await?;
    Ok(if row.is_some_and(|row| moves::is_open(&row)) { MoveHold::Active } else { MoveHold::Stale })
}

/// Whether the placement of a row is being moved.
///
/// # Errors
/// When the database fails.
pub(crate) async fn is_moving(view: &mut LedgerView, row: &Application) -> Result<bool, ServiceError> {
    let Some(environment) = &row.environment else { return Ok(false) };
    let Some(owner) = related_rows::owner_of(view, &row.id).await? else { return Ok(false) };
    let moves: Vec<Move> = view.list(&Filter::all().is("move_user_id", &owner.user)).await?;
    Ok(moves.iter().any(|one| one.environment == *environment && moves::is_open(one)))
}

/// Returns the namespace uid of the instance, and whether an Operation about the Application at that instance is
/// unfinished. A failed Operation is retried.
///
/// # Errors
/// When the database fails.
pub(crate) async fn pending_at(
    agent: &Agent,
    view: &mut LedgerView,
    namespace: &str,
    object: &Value,
) -> Result<Option<(Uid, bool)>, ServiceError> {
    let Some(id) = application::row_of(object) else { return Ok(None) };
    let Some(instance) = related_rows::instance_in(view, namespace, &agent.0.cluster).await? else { return Ok(None) };
    let mut about = related_rows::operations(view, id).await?;
    if let Some(deployment) = object["metadata"]["name"].as_str().and_then(deployment_of) {
        about.extend(related_rows::removals(view, &deployment).await?);
    }
    let is_asked = about.iter().any(|row| row.instance == instance.id && row.state != OperationState::Completed);
    Ok(Some((instance.namespace_uid, is_asked)))
}
