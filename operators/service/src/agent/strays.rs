//! Applications that are where no row has them, or asleep though no move holds them any more: an environment that went took the move
//! along, or a database came back that is older than they are.

use serde_json::Value;
use switchboard_gitops::argo::{application, deployment_of};
use switchboard_gitops::fleet::moving::{self, held_by};
use switchboard_ledger::ids::{OperationState, Uid};
use switchboard_ledger::rows::Application;
use switchboard_ledger::rows::fleet::Move;
use switchboard_ledger::{Filter, Key, View};

use super::Agent;
use crate::error::ServiceError;
use crate::rows;

/// Who holds an Application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grip {
    /// Nobody.
    Free,
    /// A move that is under way: nobody else touches it.
    Held,
    /// A move that is over, or gone: it sleeps until somebody wakes it.
    Left,
}

/// Who holds an Application.
///
/// # Errors
/// As reading.
pub(super) async fn grip(view: &mut View, object: &Value) -> Result<Grip, ServiceError> {
    let Some(id) = held_by(object) else { return Ok(Grip::Free) };
    let row: Option<Move> = view.get(&Key::from(&id)).await?;
    Ok(if row.is_some_and(|row| moving::is_open(&row)) { Grip::Held } else { Grip::Left })
}

/// Whether the unit of a row is on its way.
///
/// # Errors
/// As reading.
pub(super) async fn is_moving(view: &mut View, row: &Application) -> Result<bool, ServiceError> {
    let Some(environment) = &row.environment else { return Ok(false) };
    let Some(owner) = rows::owner_of(view, &row.id).await? else { return Ok(false) };
    let moves: Vec<Move> = view.list(&Filter::all().is("move_user_id", &owner.user)).await?;
    Ok(moves.iter().any(|one| one.environment == *environment && moving::is_open(one)))
}

/// Which namespace the Argo CD of a name has, and whether anything that was asked of it about an Application is not done. One that failed is
/// tried again.
///
/// # Errors
/// As reading.
pub(super) async fn asked_at(
    agent: &Agent,
    view: &mut View,
    namespace: &str,
    object: &Value,
) -> Result<Option<(Uid, bool)>, ServiceError> {
    let Some(id) = application::row_of(object) else { return Ok(None) };
    let Some(instance) = rows::instance_in(view, namespace, &agent.0.cluster).await? else { return Ok(None) };
    let mut about = rows::operations(view, id).await?;
    if let Some(deployment) = object["metadata"]["name"].as_str().and_then(deployment_of) {
        about.extend(rows::removals(view, &deployment).await?);
    }
    let is_asked = about.iter().any(|row| row.instance == instance.id && row.state != OperationState::Completed);
    Ok(Some((instance.namespace_uid, is_asked)))
}
