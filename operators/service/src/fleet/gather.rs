//! What is known of a move, from rows and objects.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_gitops::argo::{
    self, API_VERSION, DATABASE_ID, application, cluster_secret, credential_name, environment_name, project,
    project_name, repository_secret,
};
use switchboard_gitops::fleet::moving::{Scene, is_held_by};
use switchboard_gitops::repository::normalise;
use switchboard_ledger::ids::{EngineInstanceId, KubernetesRelation, MoveId, OperationResource, OperationState};
use switchboard_ledger::rows::fleet::{Move, Placement};
use switchboard_ledger::rows::{
    Application, ApplicationOwner, ClusterAccess, ClusterCredentials, EngineInstance, KubernetesToDatabase,
    ManagedEnvironment, Operation, RepositoryCredentials, SyncOperation,
};
use switchboard_ledger::{Filter, Key, LedgerError, Moment, Row, View};

use super::{Fleet, FleetError};

/// Where an Application says what it deploys from.
const REPOSITORY: &str = "/spec/source/repoURL";

/// Rows and objects of a move. [`Gathered::scene`] is what is decided on.
pub struct Gathered {
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
    needs: Vec<Value>,
    has: Vec<Value>,
    leftovers: Vec<Value>,
    in_use: usize,
    prepared: Vec<Value>,
}

impl Gathered {
    pub fn scene(&self, now: Moment) -> Scene<'_> {
        Scene {
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
            needs: &self.needs,
            has: &self.has,
            leftovers: &self.leftovers,
            in_use: self.in_use,
            prepared: &self.prepared,
        }
    }
}

/// Rows of a move, and what follows from them alone.
struct Rows {
    row: Move,
    placement: Placement,
    source: Option<EngineInstance>,
    target: EngineInstance,
    applications: Vec<Application>,
    operations: Vec<Operation>,
    syncs: BTreeSet<String>,
    access: Vec<ClusterAccess>,
    credentials: Vec<RepositoryCredentials>,
    /// Whether the tenant has no other unit at the source.
    is_last: bool,
    /// Whether it has none at the target.
    is_first: bool,
    needs: Vec<Value>,
}

impl Fleet {
    /// Everything about a move, as it is now: rows first, so that an object that came later is seen at worst too early. Without
    /// `sees_target`, as if nothing were there: what the move left asleep is then let go by the agent.
    pub(super) async fn gather(&self, id: &MoveId, sees_target: bool) -> Result<Gathered, FleetError> {
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
        let mut has = Vec::new();
        for wanted in rows.needs.iter().filter(|_| sees_target) {
            has.extend(self.same_named(wanted, &rows.target.namespace).await?);
        }
        let (leftovers, in_use) = match &rows.source {
            Some(source) => self.unneeded(&rows, source, rows.is_last).await?,
            None => (vec![], 0),
        };
        // What is used there is taken away with whatever uses it.
        let (prepared, _) = match sees_target {
            true => self.unneeded(&rows, &rows.target, rows.is_first).await?,
            false => (vec![], 0),
        };
        let operations = concerned(&rows, &at_target, &at_source);
        let credentials = if rows.is_last { rows.credentials } else { vec![] };
        Ok(Gathered {
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
            needs: rows.needs,
            has,
            leftovers,
            in_use,
            prepared,
        })
    }

    async fn rows(&self, view: &mut View, id: &MoveId) -> Result<Rows, FleetError> {
        let row: Move = view.get(&Key::from(id)).await?.ok_or(FleetError::NoMove)?;
        let unit = Key::of([row.user.as_str(), row.environment.as_str()]);
        let placement: Placement = view.get(&unit).await?.ok_or(FleetError::NoMove)?;
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
        let needs = self.needs(view, &row, &target.namespace, &credentials).await?;
        let source = instance(&row.source);
        Ok(Rows {
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
            needs,
        })
    }

    /// Project, repository Secrets and the environment's Secret, as they are at the target.
    async fn needs(
        &self,
        view: &mut View,
        row: &Move,
        namespace: &str,
        credentials: &[RepositoryCredentials],
    ) -> Result<Vec<Value>, FleetError> {
        let mut needs = Vec::new();
        let own = Filter::all()
            .is("db_relation_type", KubernetesRelation::ManagedEnvironment)
            .is("db_relation_key", row.environment.as_str());
        let is_own = !view.list::<KubernetesToDatabase>(&own).await?.is_empty();
        if self.isolated {
            // A tenant with nothing to deploy from or to has none at the source either.
            needs.extend(crate::project::wanted(view, &row.user, namespace, true).await?);
        }
        needs.extend(credentials.iter().map(|row| repository_secret::object(row, namespace, self.isolated)));
        if !is_own {
            let environment: Option<ManagedEnvironment> = view.get(&Key::from(&row.environment)).await?;
            if let Some(environment) = environment
                && let Some(credentials) = view.get::<ClusterCredentials>(&Key::from(&environment.credentials)).await?
            {
                let user = self.isolated.then_some(&row.user);
                // One that cannot be made was never made at the source either.
                needs.extend(cluster_secret::object(&environment, &credentials, namespace, user).ok());
            }
        }
        Ok(needs)
    }

    /// Applications of a namespace that belong to the move.
    async fn applications(&self, namespace: &str, rows: &Rows) -> Result<Vec<Value>, FleetError> {
        let mut found = self.engine.list(API_VERSION, application::KIND, namespace, DATABASE_ID).await?;
        found.retain(|object| {
            let id = object["metadata"]["labels"][DATABASE_ID].as_str().unwrap_or_default();
            is_held_by(object, &rows.row.id) || rows.applications.iter().any(|row| row.id.as_str() == id)
        });
        Ok(found)
    }

    async fn same_named(&self, wanted: &Value, namespace: &str) -> Result<Option<Value>, FleetError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let (version, kind) = (text(&wanted["apiVersion"]), text(&wanted["kind"]));
        Ok(self.engine.get(&version, &kind, namespace, &text(&wanted["metadata"]["name"])).await?)
    }

    /// What nobody needs at an instance when the unit is not there; and how much more that would be, were it not for Applications that
    /// no row tells of: those that are being deleted.
    async fn unneeded(&self, rows: &Rows, at: &EngineInstance, alone: bool) -> Result<(Vec<Value>, usize), FleetError> {
        let mut names = Vec::new();
        if !rows.access.iter().any(|access| access.instance == at.id) {
            let name = environment_name(&rows.row.environment);
            names.push(("v1", "Secret", name.clone(), ("/spec/destination/name", name)));
        }
        if alone {
            let name = project_name(&rows.row.user);
            names.push((API_VERSION, project::KIND, name.clone(), ("/spec/project", name)));
            let guests = rows.credentials.iter().filter(|row| row.instance != at.id);
            let used_by = |row: &RepositoryCredentials| (REPOSITORY, normalise(&row.url));
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
            let uses = |said: String| if path == REPOSITORY { normalise(&said) == value } else { said == value };
            match applications.iter().filter_map(says).any(uses) {
                true => in_use += 1,
                false => found.push(object),
            }
        }
        Ok((found, in_use))
    }
}

/// Open Operations about the unit: its Applications, their syncs, and what this move still holds.
fn concerned(rows: &Rows, at_target: &[Value], at_source: &[Value]) -> Vec<Operation> {
    let held = |id: &str| {
        at_target.iter().chain(at_source).any(|object| object["metadata"]["labels"][argo::DATABASE_ID] == id)
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
    switchboard_ledger::Value: From<&'a V>,
{
    Filter::all().is(column, value)
}

/// Every row of a table.
pub(super) async fn all<R: Row>(view: &mut View) -> Result<Vec<R>, LedgerError> {
    view.list(&Filter::all()).await
}
