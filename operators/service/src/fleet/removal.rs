//! An instance leaves the fleet.

use std::collections::BTreeSet;

use switchboard_gitops::argo::{DATABASE_ID, SECRET_TYPE};
use switchboard_gitops::fleet::Candidate;
use switchboard_gitops::fleet::moving::{ARRIVING, forget};
use switchboard_gitops::flow::operation::{Wish, ask};
use switchboard_gitops::kinds;
use switchboard_ledger::ids::{EngineInstanceId, KubernetesRelation, OperationId, OperationResource, OperationState};
use switchboard_ledger::rows::fleet::Move;
use switchboard_ledger::rows::{ClusterAccess, EngineInstance, KubernetesToDatabase, Operation, RepositoryCredentials};
use switchboard_ledger::{Bound, Change, Filter, Moment, View};

use super::members::entry_of;
use super::units::first_on;
use super::{Entry, Fleet, FleetError, entries};
use crate::error::ServiceError;
use crate::ids;

/// How often is tried to remove an instance that somebody gives something to meanwhile.
const MAX_ATTEMPTS: u32 = 8;

impl Fleet {
    /// Takes an instance out of the fleet. Credentials of tenants that have nothing there but those go to another one; what is in
    /// its namespace beside them stays: it is Argo CD's.
    ///
    /// With `force`, what is being removed there is given up: whatever was deployed stays.
    ///
    /// # Errors
    /// When it has units, or Applications of the original; without `force`, when anything is being removed there.
    pub async fn remove(&self, namespace: &str, force: bool) -> Result<EngineInstance, FleetError> {
        let cluster = self.cluster().await?;
        for _ in 0..MAX_ATTEMPTS {
            let mut view = self.store.ledger().view().await?;
            let all = entries(&mut view).await?;
            let entry = &entry_of(&mut view, namespace, &cluster).await?;
            unused(&mut view, entry).await?;
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
                true => gone(&mut view, entry, force).await?,
                false => rehomed(&mut view, &all, entry, &left, self.now()).await?,
            };
            view.end();
            if left.is_empty() {
                self.without_secrets(namespace).await?;
            }
            // If not, somebody placed a unit there meanwhile.
            if self.store.commit(&changes).await? && left.is_empty() {
                self.engine.mark(namespace, None).await?;
                self.silence(namespace, &rung).await?;
                return Ok(instance);
            }
        }
        Err(ServiceError::Contended { attempts: MAX_ATTEMPTS }.into())
    }

    /// Nothing rings any more for rows that went with their Argo CD.
    async fn silence(&self, namespace: &str, rows: &[Operation]) -> Result<(), FleetError> {
        let names: BTreeSet<String> = rows.iter().map(|row| kinds::operation::name(&row.id)).collect();
        for ring in self.engine.list(kinds::API_VERSION, kinds::operation::KIND, namespace, "").await? {
            if ring["metadata"]["name"].as_str().is_some_and(|name| names.contains(name)) {
                self.engine.act(&forget(&ring)).await?;
            }
        }
        Ok(())
    }

    /// No credential stays where nobody looks after it.
    async fn without_secrets(&self, namespace: &str) -> Result<(), FleetError> {
        let ours = format!("{SECRET_TYPE},{DATABASE_ID}");
        for secret in self.engine.list("v1", "Secret", namespace, &ours).await? {
            self.engine.act(&forget(&secret)).await?;
        }
        Ok(())
    }
}

async fn unused(view: &mut View, entry: &Entry) -> Result<(), FleetError> {
    let namespace = entry.candidate.instance.namespace.clone();
    match (entry.candidate.environments.max(u64::from(entry.candidate.applications > 0)), entry.moving) {
        (0, 0) => Ok(()),
        (0, units) => Err(FleetError::OnTheirWay { namespace, units }),
        (units, _) => {
            let first = first_on(view, &entry.candidate.instance.id).await?;
            Err(FleetError::InUse { namespace, units, first })
        }
    }
}

/// What an instance without Applications is still asked about some: that they go.
fn removals(instance: &EngineInstanceId) -> Filter {
    let open = [OperationState::Waiting, OperationState::InProgress];
    Filter::all().is("instance_id", instance).is("resource_type", OperationResource::Application).any("state", open)
}

/// Credentials go to where their tenant is, or where it would be.
async fn rehomed(
    view: &mut View,
    all: &[Entry],
    from: &Entry,
    credentials: &[RepositoryCredentials],
    now: Moment,
) -> Result<Vec<Change>, FleetError> {
    let mut changes = Vec::new();
    for row in credentials {
        let used = crate::instance::of_units(view, &row.user).await?;
        let Some(target) = used.into_iter().next().or_else(|| other(all, &from.candidate)) else {
            let namespace = from.candidate.instance.namespace.clone();
            return Err(FleetError::LastOne { namespace, credentials: credentials.len() });
        };
        let moved = RepositoryCredentials { instance: target.clone(), ..row.clone() };
        changes.push(Change::update(row, &moved));
        let asked = crate::rows::operations(view, row.id.as_str()).await?;
        let wish = Wish {
            instance: &target,
            resource: OperationResource::RepositoryCredentials,
            resource_id: row.id.as_str(),
            owner: &row.user,
        };
        changes.extend(ask(&asked, &wish, || OperationId::from(ids::new()), now));
    }
    Ok(changes)
}

/// The first other instance of the fleet, by its namespace.
fn other(all: &[Entry], from: &Candidate) -> Option<EngineInstanceId> {
    let members = all.iter().filter(|entry| entry.candidate.member.is_some());
    members.map(|entry| &entry.candidate.instance.id).find(|id| **id != from.instance.id).cloned()
}

async fn gone(view: &mut View, entry: &Entry, force: bool) -> Result<Vec<Change>, FleetError> {
    let instance = &entry.candidate.instance;
    let mut changes = Vec::new();
    if let Some(member) = &entry.candidate.member {
        // Nor may a unit be on its way to it by then, or something be asked to go.
        let moves = Filter::all().is("target_id", &instance.id).any("step", ARRIVING);
        let mut bounds = vec![Bound::of(0).counting::<Move>(moves)];
        bounds.extend((!force).then(|| Bound::of(0).counting::<Operation>(removals(&instance.id))));
        changes.extend([Change::room(member, bounds), Change::delete(member)]);
    }
    let operations: Vec<Operation> = view.list(&Filter::all().is("instance_id", &instance.id)).await?;
    changes.extend(operations.iter().map(Change::delete));
    // What was used through it once is used no longer: there is no unit.
    let accesses = Filter::all().is("clusteraccess_gitops_engine_instance_id", &instance.id);
    changes.extend(view.list::<ClusterAccess>(&accesses).await?.iter().map(Change::delete));
    let mappings = Filter::all()
        .is("db_relation_type", KubernetesRelation::EngineInstance)
        .is("db_relation_key", instance.id.as_str());
    changes.extend(view.list::<KubernetesToDatabase>(&mappings).await?.iter().map(Change::delete));
    changes.push(Change::delete(instance));
    Ok(changes)
}
