//! Removal of an instance from the fleet.

use std::collections::BTreeSet;

use switchboard_sql::{DbTimestamp, Filter, LedgerView, RowChange, RowLimit};

use crate::argocd::{DATABASE_ID, SECRET_TYPE};
use crate::error::ServiceError;
use crate::ids::{EngineInstanceId, KubernetesRelation, OperationId, OperationResource, OperationState};
use crate::instance::fleet::{Fleet, FleetError, FleetInstance, entries};
use crate::instance::membership::entry_of;
use crate::moves::{RESERVING_STEPS, delete_write};
use crate::operation::{OperationRequest, request};
use crate::placement::InstanceCandidate;
use crate::placement::listing::first_placements_on;
use crate::rows::fleet::Move;
use crate::rows::{ClusterAccess, EngineInstance, KubernetesToDatabase, Operation, RepositoryCredentials};
use crate::{kinds, random_id};

/// Maximum number of attempts if other writers use the instance meanwhile.
const MAX_ATTEMPTS: u32 = 8;

impl Fleet {
    /// Removes an instance from the fleet. Credentials of tenants without placements there move to another instance.
    /// Everything else in the namespace stays, because it belongs to Argo CD.
    ///
    /// With `force`, removals in progress are abandoned, and the resources they would delete stay.
    ///
    /// # Errors
    /// When the instance has placements or Applications of managed-gitops; without `force`, when removals are in
    /// progress.
    pub async fn remove(&self, namespace: &str, force: bool) -> Result<EngineInstance, FleetError> {
        let cluster = self.cluster().await?;
        for _ in 0..MAX_ATTEMPTS {
            let mut view = self.store.ledger().view().await?;
            let all = entries(&mut view).await?;
            let entry = &entry_of(&mut view, namespace, &cluster).await?;
            require_unused(&mut view, entry).await?;
            let instance = entry.candidate.instance.clone();
            match view.list::<Operation>(&removals(&instance.id)).await?.len() {
                0 => {}
                _ if force => {}
                removals => return Err(FleetError::Removing { namespace: namespace.to_string(), removals }),
            }
            let rung: Vec<Operation> = view.list(&Filter::all().is("instance_id", &instance.id)).await?;
            let left: Vec<RepositoryCredentials> =
                view.list(&Filter::all().is("repo_cred_engine_id", &instance.id)).await?;
            let changes = match left.is_empty() {
                true => removal_changes(&mut view, entry, force).await?,
                false => move_credentials(&mut view, &all, entry, &left, self.now()).await?,
            };
            view.end();
            if left.is_empty() {
                self.delete_secrets(namespace).await?;
            }
            // If the commit conflicts, another writer has used the instance.
            if self.store.commit(&changes).await? && left.is_empty() {
                self.engine.set_namespace_owner(namespace, None).await?;
                self.delete_operation_objects(namespace, &rung).await?;
                return Ok(instance);
            }
        }
        Err(ServiceError::Contended { attempts: MAX_ATTEMPTS }.into())
    }

    /// Deletes the Operation resources of rows that were deleted with the instance.
    async fn delete_operation_objects(&self, namespace: &str, rows: &[Operation]) -> Result<(), FleetError> {
        let names: BTreeSet<String> = rows.iter().map(|row| crate::operation::kind::name(&row.id)).collect();
        for ring in self.engine.list(kinds::API_VERSION, crate::operation::kind::KIND, namespace, "").await? {
            if ring["metadata"]["name"].as_str().is_some_and(|name| names.contains(name)) {
                self.engine.act(&delete_write(&ring)).await?;
            }
        }
        Ok(())
    }

    /// Deletes the Secrets of the service, because no agent maintains them any more.
    async fn delete_secrets(&self, namespace: &str) -> Result<(), FleetError> {
        let ours = format!("{SECRET_TYPE},{DATABASE_ID}");
        for secret in self.engine.list("v1", "Secret", namespace, &ours).await? {
            self.engine.act(&delete_write(&secret)).await?;
        }
        Ok(())
    }
}

async fn require_unused(view: &mut LedgerView, entry: &FleetInstance) -> Result<(), FleetError> {
    let namespace = entry.candidate.instance.namespace.clone();
    match (entry.candidate.environments.max(u64::from(entry.candidate.applications > 0)), entry.moving) {
        (0, 0) => Ok(()),
        (0, placements) => Err(FleetError::PlacementsMoving { namespace, placements }),
        (placements, _) => {
            let first = first_placements_on(view, &entry.candidate.instance.id).await?;
            Err(FleetError::InUse { namespace, placements, first })
        }
    }
}

/// Returns the filter for open removals. An instance without Applications has no other open Operations about
/// Applications.
fn removals(instance: &EngineInstanceId) -> Filter {
    let open = [OperationState::Waiting, OperationState::InProgress];
    Filter::all()
        .is("instance_id", instance)
        .is("resource_type", OperationResource::Application)
        .is_any_of("state", open)
}

/// Moves credentials to an instance of their tenant, or to another one.
async fn move_credentials(
    view: &mut LedgerView,
    all: &[FleetInstance],
    from: &FleetInstance,
    credentials: &[RepositoryCredentials],
    now: DbTimestamp,
) -> Result<Vec<RowChange>, FleetError> {
    let mut changes = Vec::new();
    for row in credentials {
        let used = crate::placement::selection::instances_of_placements(view, &row.user).await?;
        let Some(target) = used.into_iter().next().or_else(|| other_instance(all, &from.candidate)) else {
            let namespace = from.candidate.instance.namespace.clone();
            return Err(FleetError::LastInstance { namespace, credentials: credentials.len() });
        };
        let moved = RepositoryCredentials { instance: target.clone(), ..row.clone() };
        changes.push(RowChange::update(row, &moved));
        let existing = crate::related_rows::operations(view, row.id.as_str()).await?;
        let wish = OperationRequest {
            instance: &target,
            resource: OperationResource::RepositoryCredentials,
            resource_id: row.id.as_str(),
            owner: &row.user,
        };
        changes.extend(request(&existing, &wish, || OperationId::from(random_id::new()), now));
    }
    Ok(changes)
}

/// Returns the first other instance of the fleet, by namespace.
fn other_instance(all: &[FleetInstance], from: &InstanceCandidate) -> Option<EngineInstanceId> {
    let members = all.iter().filter(|entry| entry.candidate.member.is_some());
    members.map(|entry| &entry.candidate.instance.id).find(|id| **id != from.instance.id).cloned()
}

async fn removal_changes(
    view: &mut LedgerView,
    entry: &FleetInstance,
    force: bool,
) -> Result<Vec<RowChange>, FleetError> {
    let instance = &entry.candidate.instance;
    let mut changes = Vec::new();
    if let Some(member) = &entry.candidate.member {
        // The commit also fails if a move to the instance or a removal began meanwhile.
        let moves = Filter::all().is("target_id", &instance.id).is_any_of("step", RESERVING_STEPS);
        let mut bounds = vec![RowLimit::at_most(0).counting::<Move>(moves)];
        bounds.extend((!force).then(|| RowLimit::at_most(0).counting::<Operation>(removals(&instance.id))));
        changes.extend([RowChange::require_limits(member, bounds), RowChange::delete(member)]);
    }
    let operations: Vec<Operation> = view.list(&Filter::all().is("instance_id", &instance.id)).await?;
    changes.extend(operations.iter().map(RowChange::delete));
    // Accesses remain from placements that were deleted.
    let accesses = Filter::all().is("clusteraccess_gitops_engine_instance_id", &instance.id);
    changes.extend(view.list::<ClusterAccess>(&accesses).await?.iter().map(RowChange::delete));
    let mappings = Filter::all()
        .is("db_relation_type", KubernetesRelation::EngineInstance)
        .is("db_relation_key", instance.id.as_str());
    changes.extend(view.list::<KubernetesToDatabase>(&mappings).await?.iter().map(RowChange::delete));
    changes.push(RowChange::delete(instance));
    Ok(changes)
}
