//! Rows and objects that a move depends on.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_sql::{DbTimestamp, Filter, LedgerError, LedgerView, Row, RowKey};

use crate::argocd::{self, API_VERSION, DATABASE_ID, credential_name, environment_name, project_name};
use crate::credential::repository_secret;
use crate::deployment::application;
use crate::environment::cluster_secret;
use crate::ids::{EngineInstanceId, KubernetesRelation, MoveId, OperationResource, OperationState};
use crate::instance::fleet::{Fleet, FleetError};
use crate::moves::{MoveState, is_paused_by};
use crate::repository::normalize;
use crate::rows::fleet::{Move, Placement};
use crate::rows::{
    Application, ApplicationOwner, ClusterAccess, ClusterCredentials, EngineInstance, KubernetesToDatabase,
    ManagedEnvironment, Operation, RepositoryCredentials, SyncOperation,
};
use crate::tenant::project;

/// Path of the repository URL in an Application.
const REPOSITORY_POINTER: &str = "/spec/source/repoURL";

/// Rows and objects of a move. [`MoveInputs::state`] returns them for the decision.
pub struct MoveInputs {
    pub row: Move,
    pub placement: Placement,
    source: Option<EngineInstance>,
    target: EngineInstance,
    applications: Vec<Application>,
    operations: Vec<Operation>,
    access: Vec<ClusterAccess>,
    credentials: Vec<RepositoryCredentials>,
    at_source: Vec<Value>,
    at_target: Vec<Value>,
    required: Vec<Value>,
    existing: Vec<Value>,
    leftovers: Vec<Value>,
    in_use: usize,
    prepared: Vec<Value>,
}

impl MoveInputs {
    pub fn state(&self, now: DbTimestamp) -> MoveState<'_> {
        MoveState {
            now,
            row: &self.row,
            placement: &self.placement,
            source: self.source.as_ref(),
            target: &self.target,
            applications: &self.applications,
            operations: &self.operations,
            access: &self.access,
            credentials: &self.credentials,
            at_source: &self.at_source,
            at_target: &self.at_target,
            required: &self.required,
            existing: &self.existing,
            leftovers: &self.leftovers,
            in_use: self.in_use,
            prepared: &self.prepared,
        }
    }
}

/// Rows of a move, and what follows from them alone.
struct MoveRows {
    row: Move,
    placement: Placement,
    source: Option<EngineInstance>,
    target: EngineInstance,
    applications: Vec<Application>,
    operations: Vec<Operation>,
    syncs: BTreeSet<String>,
    access: Vec<ClusterAccess>,
    credentials: Vec<RepositoryCredentials>,
    /// Whether the tenant has no other placement at the source.
    is_last: bool,
    /// Whether the tenant has no other placement at the target.
    is_first: bool,
    required: Vec<Value>,
}

impl Fleet {
    /// Reads the current inputs of a move. Rows are read first, so an object that was created later is at worst seen
    /// too early. Without `sees_target`, objects at the target are ignored, and the agent releases what the move left
    /// there.
    pub(crate) async fn read_move_inputs(&self, id: &MoveId, sees_target: bool) -> Result<MoveInputs, FleetError> {
        let mut view = self.store.ledger().view().await?;
        let rows = self.rows(&mut view, id).await?;
        view.end();
        let at_source = match &rows.source {
            Some(source) => self.applications(&source.namespace, &rows).await?,
            None => vec![],
        };
        let at_target = match sees_target {
            true => self.applications(&rows.target.namespace, &rows).await?,
            false => vec![],
        };
        let mut existing = Vec::new();
        for wanted in rows.required.iter().filter(|_| sees_target) {
            existing.extend(self.live_counterpart(wanted, &rows.target.namespace).await?);
        }
        let (leftovers, in_use) = match &rows.source {
            Some(source) => self.unused_objects(&rows, source, rows.is_last).await?,
            None => (vec![], 0),
        };
        // Objects in use at the target are removed together with the Applications that use them.
        let (prepared, _) = match sees_target {
            true => self.unused_objects(&rows, &rows.target, rows.is_first).await?,
            false => (vec![], 0),
        };
        let operations = relevant_operations(&rows, &at_target, &at_source);
        let credentials = if rows.is_last { rows.credentials } else { vec![] };
        Ok(MoveInputs {
            row: rows.row,
            placement: rows.placement,
            source: rows.source,
            target: rows.target,
            applications: rows.applications,
            operations,
            access: rows.access,
            credentials,
            at_source,
            at_target,
            required: rows.required,
            existing,
            leftovers,
            in_use,
            prepared,
        })
    }

    async fn rows(&self, view: &mut LedgerView, id: &MoveId) -> Result<MoveRows, FleetError> {
        let row: Move = view.get(&RowKey::from(id)).await?.ok_or(FleetError::NoMove)?;
        let key = RowKey::of([row.user.as_str(), row.environment.as_str()]);
        let placement: Placement = view.get(&key).await?.ok_or(FleetError::NoMove)?;
        let instances: Vec<EngineInstance> = view.list(&Filter::all()).await?;
        let instance = |id: &EngineInstanceId| instances.iter().find(|instance| instance.id == *id).cloned();
        let target = instance(&row.target).ok_or_else(|| FleetError::NoInstance(row.target.to_string()))?;
        let owned: Vec<ApplicationOwner> = view.list(&of("application_owner_user_id", &row.user)).await?;
        let owned: BTreeSet<_> = owned.into_iter().map(|owner| owner.application).collect();
        let mut applications: Vec<Application> = view.list(&of("managed_environment_id", &row.environment)).await?;
        applications.retain(|application| owned.contains(&application.id));
        let mut syncs = BTreeSet::new();
        for application in &applications {
            let found: Vec<SyncOperation> = view.list(&of("application_id", &application.id)).await?;
            syncs.extend(found.into_iter().map(|sync| sync.id.to_string()));
        }
        let mut operations = Vec::new();
        for at in [&row.source, &row.target] {
            for state in [OperationState::Waiting, OperationState::InProgress] {
                operations.extend(view.list::<Operation>(&of("instance_id", at).is("state", state)).await?);
            }
        }
        let mut access: Vec<ClusterAccess> = view.list(&of("clusteraccess_user_id", &row.user)).await?;
        access.retain(|access| access.environment == row.environment);
        let credentials: Vec<RepositoryCredentials> = view.list(&of("repo_cred_user_id", &row.user)).await?;
        let others: Vec<Placement> = view.list(&of("placement_user_id", &row.user)).await?;
        let is_alone = |at: &EngineInstanceId| {
            !others.iter().any(|other| other.environment != row.environment && other.instance == *at)
        };
        let (is_last, is_first) = (is_alone(&row.source), is_alone(&row.target));
        let required = self.required(view, &row, &target.namespace, &credentials).await?;
        let source = instance(&row.source);
        Ok(MoveRows {
            row,
            placement,
            source,
            target,
            applications,
            operations,
            syncs,
            access,
            credentials,
            is_last,
            is_first,
            required,
        })
    }

    /// Returns the project, the repository Secrets and the environment's Secret for the target.
    async fn required(
        &self,
        view: &mut LedgerView,
        row: &Move,
        namespace: &str,
        credentials: &[RepositoryCredentials],
    ) -> Result<Vec<Value>, FleetError> {
        let mut required = Vec::new();
        let own = Filter::all()
            .is("db_relation_type", KubernetesRelation::ManagedEnvironment)
            .is("db_relation_key", row.environment.as_str());
        let is_own = !view.list::<KubernetesToDatabase>(&own).await?.is_empty();
        if self.isolated {
            // A tenant without repositories and environments has no project at the source either.
            required.extend(crate::tenant::desired_project::desired_project(view, &row.user, namespace, true).await?);
        }
        required.extend(credentials.iter().map(|row| repository_secret::object(row, namespace, self.isolated)));
        if !is_own {
            let environment: Option<ManagedEnvironment> = view.get(&RowKey::from(&row.environment)).await?;
            if let Some(environment) = environment
                && let Some(credentials) =
                    view.get::<ClusterCredentials>(&RowKey::from(&environment.credentials)).await?
            {
                let user = self.isolated.then_some(&row.user);
                // A Secret that cannot be built does not exist at the source either.
                required.extend(cluster_secret::object(&environment, &credentials, namespace, user).ok());
            }
        }
        Ok(required)
    }

    /// Lists the Applications of a namespace that belong to the move.
    async fn applications(&self, namespace: &str, rows: &MoveRows) -> Result<Vec<Value>, FleetError> {
        let mut found = self.engine.list(API_VERSION, application::KIND, namespace, DATABASE_ID).await?;
        found.retain(|object| {
            let id = object["metadata"]["labels"][DATABASE_ID].as_str().unwrap_or_default();
            is_paused_by(object, &rows.row.id) || rows.applications.iter().any(|row| row.id.as_str() == id)
        });
        Ok(found)
    }

    async fn live_counterpart(&self, wanted: &Value, namespace: &str) -> Result<Option<Value>, FleetError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let (version, kind) = (text(&wanted["apiVersion"]), text(&wanted["kind"]));
        Ok(self.engine.get(&version, &kind, namespace, &text(&wanted["metadata"]["name"])).await?)
    }

    /// Returns the objects that an instance no longer needs without the placement, and the number of objects still in
    /// use by Applications without a row, which are being deleted.
    async fn unused_objects(
        &self,
        rows: &MoveRows,
        at: &EngineInstance,
        alone: bool,
    ) -> Result<(Vec<Value>, usize), FleetError> {
        let mut names = Vec::new();
        if !rows.access.iter().any(|access| access.instance == at.id) {
            let name = environment_name(&rows.row.environment);
            names.push(("v1", "Secret", name.clone(), ("/spec/destination/name", name)));
        }
        if alone {
            let name = project_name(&rows.row.user);
            names.push((API_VERSION, project::KIND, name.clone(), ("/spec/project", name)));
            let guests = rows.credentials.iter().filter(|row| row.instance != at.id);
            let used_by = |row: &RepositoryCredentials| (REPOSITORY_POINTER, normalize(&row.url));
            names.extend(guests.map(|row| ("v1", "Secret", credential_name(&row.id), used_by(row))));
        }
        let (mut found, mut in_use) = (Vec::new(), 0);
        if names.is_empty() {
            return Ok((found, in_use));
        }
        let applications = self.engine.list(API_VERSION, application::KIND, &at.namespace, "").await?;
        for (version, kind, name, (path, value)) in names {
            let Some(object) = self.engine.get(version, kind, &at.namespace, &name).await? else { continue };
            let says = |one: &Value| one.pointer(path).and_then(Value::as_str).map(ToString::to_string);
            let uses =
                |said: String| if path == REPOSITORY_POINTER { normalize(&said) == value } else { said == value };
            match applications.iter().filter_map(says).any(uses) {
                true => in_use += 1,
                false => found.push(object),
            }
        }
        Ok((found, in_use))
    }
}

/// Returns the open Operations of the placement: those of its Applications, of their syncs, and of Applications held by
/// the move.
fn relevant_operations(rows: &MoveRows, at_target: &[Value], at_source: &[Value]) -> Vec<Operation> {
    let held = |id: &str| {
        at_target.iter().chain(at_source).any(|object| object["metadata"]["labels"][argocd::DATABASE_ID] == id)
    };
    let about = |row: &&Operation| match row.resource {
        OperationResource::Application => {
            rows.applications.iter().any(|application| application.id.as_str() == row.resource_id)
                || held(&row.resource_id)
        }
        OperationResource::SyncOperation => rows.syncs.contains(&row.resource_id),
        _ => false,
    };
    rows.operations.iter().filter(about).cloned().collect()
}

fn of<'a, V>(column: &'static str, value: &'a V) -> Filter
where
    switchboard_sql::SqlValue: From<&'a V>,
{
    Filter::all().is(column, value)
}

/// Returns every row of a table.
pub(crate) async fn all<R: Row>(view: &mut LedgerView) -> Result<Vec<R>, LedgerError> {
    view.list(&Filter::all()).await
}
