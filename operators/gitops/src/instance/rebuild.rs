//! Requests to rebuild the objects of an instance whose namespace was recreated.

use switchboard_sql::{DbTimestamp, Filter, LedgerView, RowChange};

use crate::ids::{OperationId, OperationResource, UserId};
use crate::instance::fleet::FleetError;
use crate::operation::{OperationRequest, request};
use crate::rows::{Application, EngineInstance, RepositoryCredentials};
use crate::{random_id, related_rows};

/// Returns Operations for every object of the instance.
pub async fn changes(
    view: &mut LedgerView,
    instance: &EngineInstance,
    now: DbTimestamp,
) -> Result<Vec<RowChange>, FleetError> {
    let mut wanted: Vec<(OperationResource, String, UserId)> = Vec::new();
    for row in view.list::<Application>(&Filter::all().is("engine_instance_inst_id", &instance.id)).await? {
        if let Some(owner) = related_rows::owner_of(view, &row.id).await? {
            wanted.push((OperationResource::Application, row.id.to_string(), owner.user));
        }
    }
    for row in view.list::<RepositoryCredentials>(&Filter::all().is("repo_cred_engine_id", &instance.id)).await? {
        wanted.push((OperationResource::RepositoryCredentials, row.id.to_string(), row.user));
    }
    let mut changes = Vec::new();
    for (resource, resource_id, owner) in &wanted {
        let existing = related_rows::operations(view, resource_id).await?;
        let wish = OperationRequest { instance: &instance.id, resource: *resource, resource_id, owner };
        changes.extend(request(&existing, &wish, || OperationId::from(random_id::new()), now));
    }
    Ok(changes)
}
