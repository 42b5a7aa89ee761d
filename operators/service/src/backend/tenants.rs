//! Units: namespaces, each of which may be a tenant. What a tenant's project may use follows from all of its resources, and what is
//! left of a tenant whose namespace is gone goes.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_gitops::flow::tenant;
use switchboard_gitops::repository::normalise;
use switchboard_kernel::operator::{Declaration, Declared, Outward, Stop, Unit, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Plan, Standing};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::ids::{EngineInstanceId, Uid};
use switchboard_ledger::rows::left::{Home, ServiceAccount};
use switchboard_ledger::rows::{
    AppProjectManagedEnvironment, AppProjectRepository, Application, ApplicationOwner, ClusterAccess, ClusterUser,
    ManagedEnvironment, Operation, RepositoryCredentials,
};
use switchboard_ledger::{Change, Filter, Key, Moment};

use super::{Backend, TENANTS_NAME};
use crate::asked::{self, stamp, text};
use crate::error::ServiceError;
use crate::resources::{CREDENTIALS, DEPLOYMENTS, NAMESPACES};
use crate::{ids, rows};

/// The operator of namespaces.
#[derive(Clone)]
pub struct Tenants(pub Backend);

#[derive(Serialize, Deserialize)]
struct Question {
    now: String,
    stamp: String,
    namespace: String,
    /// None if it is gone, or going.
    uid: Option<String>,
    /// Repositories that its credentials name.
    credentials: BTreeSet<String>,
    /// Repositories that its deployments name, if all of them were looked at.
    deployments: Option<All>,
}

/// All deployments of a namespace.
#[derive(Serialize, Deserialize)]
struct All {
    repositories: BTreeSet<String>,
    /// How often the namespace was marked before.
    marks: u64,
}

/// What a unit is told.
#[derive(Default, Serialize, Deserialize)]
struct Told {
    plan: Plan,
    /// All deployments are to be looked at, with this number of marks.
    look: Option<u64>,
}

impl Outward for Tenants {
    fn name(&self) -> &str {
        TENANTS_NAME
    }

    fn declaration(&self) -> Declaration {
        let inputs: BTreeSet<Declared> = [&DEPLOYMENTS, &CREDENTIALS].into_iter().map(Declared::every).collect();
        let units = Units::Each { place: Place::Configuration, resource: NAMESPACES, selection: Selection::all() };
        Declaration { inputs, outputs: BTreeSet::new(), service_account: None, units }
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        let (this, question) = (self.clone(), Question::deserialize(request).map_err(|error| error.to_string())?);
        let plan = self.0.store().wait(async move || this.answer(&question).await)?;
        serde_json::to_value(plan).map_err(|error| error.to_string())
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let live = view.get(&NAMESPACES, "", unit.name())?.map(|object| object.value());
        let live = live.filter(|live| live["metadata"]["deletionTimestamp"].is_null());
        let mut question = Question {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.name().to_string(),
            uid: live.map(|live| text(&live, "/metadata/uid")),
            credentials: named(view, unit.name(), &CREDENTIALS, "/spec/repository")?,
            deployments: None,
        };
        let ask = |question: &Question| -> Result<Told, Stop> {
            let answer = outside.ask(serde_json::to_value(question)?).map_err(Stop::Failed)?;
            Ok(serde_json::from_value(answer)?)
        };
        let told = ask(&question)?;
        // What is not read does not wake: only while there is something to compare does each of them count.
        let Some(marks) = told.look else { return Ok(told.plan) };
        let repositories = named(view, unit.name(), &DEPLOYMENTS, "/spec/source/repoURL")?;
        question.deployments = Some(All { repositories, marks });
        Ok(ask(&question)?.plan)
    }
}

/// Repositories that resources of a namespace name.
fn named(view: &View, namespace: &str, kind: &Resource, pointer: &str) -> Result<BTreeSet<String>, Stop> {
    let mut into = BTreeSet::new();
    for object in view.list(kind, &Selection::namespace(namespace))? {
        let object = object.value();
        if object["metadata"]["deletionTimestamp"].is_null() {
            into.insert(normalise(&text(&object, pointer)));
        }
    }
    Ok(into)
}

impl Tenants {
    /// A namespace in which nothing that counts has changed since it was settled costs no question.
    async fn answer(&self, question: &Question) -> Result<Told, ServiceError> {
        let mut hasher = DefaultHasher::new();
        (&question.uid, &question.credentials).hash(&mut hasher);
        let (namespace, seen) = (&question.namespace, hasher.finish());
        let Some(all) = &question.deployments else {
            return Ok(Told { look: self.0.settled().look(namespace, seen), ..Told::default() });
        };
        let wanted: BTreeSet<String> = all.repositories.union(&question.credentials).cloned().collect();
        let decided = self.0.store().settle(async |view| self.decide_on(view, question, &wanted).await);
        let Decided { plan, is_tenant, is_changed } = decided.await?;
        // One whose first row is about to be written is looked at again when it is. What was changed is: a deployment that came
        // meanwhile may have relied on it.
        let is_told = is_tenant || wanted.is_empty();
        if is_told && !is_changed && plan.standing == Standing::Ready {
            self.0.settled().set(namespace, seen, all.marks, question.uid.is_some());
        }
        Ok(Told { plan, look: None })
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_ledger::View,
        question: &Question,
        wanted: &BTreeSet<String>,
    ) -> Result<(Vec<Change>, Decided), ServiceError> {
        let now = asked::now(&question.now, &question.stamp)?.moment;
        let mut changes = Vec::new();
        let (mut plan, mut is_tenant) = (Plan::nothing(), false);
        if let Some(uid) = &question.uid
            && let Some(user) = rows::user(view, &Uid::from(uid.as_str())).await?
        {
            project(view, &user, wanted, now, &mut changes).await?;
            is_tenant = true;
            if let Some(cluster) = self.0.settings().cluster.as_ref().filter(|_| self.0.settings().shared)
                && !rows::is_home(view, &user.id, cluster).await?
            {
                changes.push(Change::put(&Home { user: user.id.clone(), cluster: cluster.clone() }));
            }
        }
        let filter = Filter::all().is("display_name", question.namespace.as_str());
        let users: Vec<ClusterUser> = view.list(&filter).await?;
        for user in users.iter().filter(|user| question.uid.as_ref() != Some(&user.user_name)) {
            if self.is_ours(view, user).await? && !self.forget(view, user, now, &mut changes).await? {
                // A unit without an object is forgotten when it is done, whatever it waits for: so it is not.
                plan = plan.failing("something of the tenant is left");
            }
        }
        let is_changed = !changes.is_empty();
        Ok((changes, Decided { plan, is_tenant, is_changed }))
    }
}

/// What was decided of a namespace.
struct Decided {
    plan: Plan,
    /// Whether it has a row.
    is_tenant: bool,
    /// Whether any row changes.
    is_changed: bool,
}

impl Tenants {
    /// Whether a tenant of that name is one of this backend's.
    async fn is_ours(&self, view: &mut switchboard_ledger::View, user: &ClusterUser) -> Result<bool, ServiceError> {
        let settings = self.0.settings();
        match &settings.cluster {
            _ if !settings.shared => Ok(true),
            Some(cluster) => Ok(rows::is_home(view, &user.id, cluster).await?),
            None => Ok(false),
        }
    }

    /// As [`forget`]. Where backends share the database, whose a service account on a target is is known by its tenant alone.
    async fn forget(
        &self,
        view: &mut switchboard_ledger::View,
        user: &ClusterUser,
        now: Moment,
        changes: &mut Vec<Change>,
    ) -> Result<bool, ServiceError> {
        if self.0.settings().shared {
            let of_user = Filter::all().is("resource_namespace_uid", user.user_name.as_str()).limit(1);
            if !view.list::<ServiceAccount>(&of_user).await?.is_empty() {
                return Ok(false);
            }
        }
        forget(view, user, now, changes).await
    }
}

/// Makes the repositories of a tenant those that its resources name, and has every Argo CD look that knows the tenant.
async fn project(
    view: &mut switchboard_ledger::View,
    user: &ClusterUser,
    wanted: &BTreeSet<String>,
    now: Moment,
    changes: &mut Vec<Change>,
) -> Result<(), ServiceError> {
    let rows: Vec<AppProjectRepository> = view.list(&Filter::all().is("clusteruser_id", &user.id)).await?;
    changes.extend(tenant::repositories(&user.id, &rows, wanted, ids::new, now));
    if !changes.is_empty() {
        let asked = rows::operations(view, user.id.as_str()).await?;
        let instances = rows::instances_of(view, &user.id).await?;
        changes.extend(tenant::look_at_project(&user.id, &instances, &asked, ids::new, now));
    }
    Ok(())
}

/// Removes a tenant of whom nothing is left; its project goes first. False if something is left.
async fn forget(
    view: &mut switchboard_ledger::View,
    user: &ClusterUser,
    now: Moment,
    changes: &mut Vec<Change>,
) -> Result<bool, ServiceError> {
    let of = |column| Filter::all().is(column, &user.id);
    let applications: Vec<ApplicationOwner> = view.list(&of("application_owner_user_id").limit(1)).await?;
    let environments: Vec<AppProjectManagedEnvironment> = view.list(&of("clusteruser_id").limit(1)).await?;
    let credentials: Vec<RepositoryCredentials> = view.list(&of("repo_cred_user_id").limit(1)).await?;
    let operations: Vec<Operation> = view.list(&of("operation_owner_user_id")).await?;
    let busy = operations.iter().any(rows::is_open);
    if busy || !applications.is_empty() || !environments.is_empty() || !credentials.is_empty() {
        return Ok(false);
    }
    let repositories: Vec<AppProjectRepository> = view.list(&of("clusteruser_id")).await?;
    let instances = rows::instances_of(view, &user.id).await?;
    // A project that nobody was asked to look at may be there all the same: the original makes one for each who asks for something.
    let is_looked_at = |instance: &EngineInstanceId| {
        operations.iter().any(|row| row.resource_id == user.id.as_str() && row.instance == *instance)
    };
    if !repositories.is_empty() || !instances.iter().all(is_looked_at) {
        changes.extend(repositories.iter().map(Change::delete));
        changes.extend(tenant::look_at_project(&user.id, &instances, &operations, ids::new, now));
        return Ok(false);
    }
    for row in &operations {
        changes.push(Change::update(row, &Operation { owner: None, ..row.clone() }));
    }
    let accesses: Vec<ClusterAccess> = view.list(&of("clusteraccess_user_id")).await?;
    changes.extend(accesses.iter().map(Change::delete));
    if let Some(mapping) = rows::own_environment(view, &Uid::from(user.user_name.as_str())).await? {
        let own: Option<ManagedEnvironment> = view.get(&Key::from(mapping.relation_key.as_str())).await?;
        let used: Vec<Application> =
            view.list(&Filter::all().is("managed_environment_id", mapping.relation_key.as_str()).limit(1)).await?;
        if !used.is_empty() {
            return Ok(false);
        }
        changes.push(Change::delete(&mapping));
        if let Some(own) = own {
            let credentials: Option<switchboard_ledger::rows::ClusterCredentials> =
                view.get(&Key::from(&own.credentials)).await?;
            changes.push(Change::delete(&own));
            changes.extend(credentials.iter().map(Change::delete));
        }
    }
    changes.push(Change::delete(user));
    Ok(true)
}
