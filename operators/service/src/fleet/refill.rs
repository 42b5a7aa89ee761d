//! An instance whose namespace was made anew is given again what it had.

use switchboard_gitops::flow::operation::{Wish, ask};
use switchboard_ledger::ids::{OperationId, OperationResource, UserId};
use switchboard_ledger::rows::{Application, EngineInstance, RepositoryCredentials};
use switchboard_ledger::{Change, Filter, Moment, View};

use super::FleetError;
use crate::{ids, rows};

/// Asks its agent to look at everything that it has.
pub async fn changes(view: &mut View, instance: &EngineInstance, now: Moment) -> Result<Vec<Change>, FleetError> {
    let mut wanted: Vec<(OperationResource, String, UserId)> = Vec::new();
    for row in view.list::<Application>(&Filter::all().is("engine_instance_inst_id", &instance.id)).await? {
        if let Some(owner) = rows::owner_of(view, &row.id).await? {
            wanted.push((OperationResource::Application, row.id.to_string(), owner.user));
        }
    }
    for row in view.list::<RepositoryCredentials>(&Filter::all().is("repo_cred_engine_id", &instance.id)).await? {
        wanted.push((OperationResource::RepositoryCredentials, row.id.to_string(), row.user));
    }
    let mut changes = Vec::new();
    for (resource, resource_id, owner) in &wanted {
        let asked = rows::operations(view, resource_id).await?;
        let wish = Wish { instance: &instance.id, resource: *resource, resource_id, owner };
        changes.extend(ask(&asked, &wish, || OperationId::from(ids::new()), now));
    }
    Ok(changes)
}
