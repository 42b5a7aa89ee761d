//! What there is: every row of every table, every object of every kind on every cluster. So nothing that is left behind, doubled or
//! without what it belongs to goes unseen.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use switchboard_gitops::argo::{credential_name, environment_name, project_name};
use switchboard_gitops::repository::normalise;
use switchboard_ledger::Row;
use switchboard_ledger::ids::{ApiResource, KubernetesRelation};
use switchboard_ledger::rows::fleet::{self, Member, Move, Placement};
use switchboard_ledger::rows::left::{self, Home, ServiceAccount};
use switchboard_ledger::rows::*;
use switchboard_service::rows::is_open;

use crate::stage::{ARGO, CREDENTIALS, DEPLOYMENTS, GROUP, Stage, decoded, send};

/// All there is, but for what only Argo CDs are known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    rows: BTreeMap<&'static str, BTreeSet<String>>,
    objects: BTreeMap<&'static str, BTreeSet<String>>,
}

const LOOK_AGAIN: Duration = Duration::from_millis(60);

/// Kinds that come and go by themselves.
const FLEETING: [&str; 1] = ["Event"];

impl World {
    pub async fn of(stage: &Stage) -> World {
        World { rows: rows(stage).await, objects: objects(stage).await }
    }

    /// Of which only the target matters.
    pub fn with_target(objects: BTreeSet<String>) -> World {
        World { rows: BTreeMap::new(), objects: BTreeMap::from([("target", objects)]) }
    }

    /// What is here and not there, as sentences.
    fn beyond(&self, other: &World) -> Vec<String> {
        let mut found = Vec::new();
        for (one, other, what) in [(&self.rows, &other.rows, "row"), (&self.objects, &other.objects, "object")] {
            for (place, names) in one {
                let more = names.iter().filter(|name| !other.get(place).is_some_and(|all| all.contains(*name)));
                found.extend(more.map(|name| format!("{what} of {place}: {name}")));
            }
        }
        found
    }
}

pub async fn rows(stage: &Stage) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    macro_rules! tables {
        ($($row:ty)*) => {$({
            let rows: Vec<$row> = stage.all().await;
            let keys = rows.iter().map(|row| format!("{:?}", row.key())).collect();
            found.insert(<$row>::TABLE.name, keys);
        })*};
    }
    tables! {
        ClusterCredentials EngineCluster EngineInstance ManagedEnvironment ClusterUser ClusterAccess Application ApplicationState
        DeploymentToApplication KubernetesToDatabase ApiToDatabase SyncOperation RepositoryCredentials AppProjectRepository
        AppProjectManagedEnvironment ApplicationOwner Member Placement Move ServiceAccount Home
    }
    // One that is over is kept for a while.
    let open: Vec<Operation> = stage.all::<Operation>().await.into_iter().filter(is_open).collect();
    found.insert(Operation::TABLE.name, open.iter().map(|row| format!("{row:?}")).collect());
    let all: BTreeSet<&str> = [TABLES, fleet::TABLES, left::TABLES].concat().iter().map(|table| table.name).collect();
    assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), all, "every table is looked at");
    // An Argo CD more is no remainder.
    for table in [EngineInstance::TABLE.name, Member::TABLE.name] {
        found.remove(table);
    }
    let mappings: Vec<KubernetesToDatabase> = stage.all().await;
    let mappings = mappings.iter().filter(|row| row.relation != KubernetesRelation::EngineInstance);
    found.insert(KubernetesToDatabase::TABLE.name, mappings.map(|row| format!("{:?}", row.key())).collect());
    found
}

async fn objects(stage: &Stage) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut found = BTreeMap::from([("engine", objects_of(&stage.engine).await)]);
    if stage.is_apart() {
        found.insert("tenants", objects_of(&stage.tenants).await);
    }
    found.insert("target", objects_of(&stage.target).await);
    found
}

/// Who and where, and no more: the rest is most of it.
async fn names(client: &Client, path: &str) -> Value {
    let partial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let request = http::Request::get(path).header("Accept", partial);
    client.request(request.body(Vec::new()).unwrap()).await.unwrap()
}

/// Every object of a cluster, but for what every namespace has.
pub async fn objects_of(client: &Client) -> BTreeSet<String> {
    let mut groups = vec!["/api/v1".to_string()];
    let listed = send(client, "GET", "/apis", Value::Null).await.unwrap();
    for group in listed["groups"].as_array().unwrap() {
        groups.push(format!("/apis/{}", group["preferredVersion"]["groupVersion"].as_str().unwrap()));
    }
    let mut found = BTreeSet::new();
    for group in groups {
        let kinds = send(client, "GET", &group, Value::Null).await.unwrap();
        for kind in kinds["resources"].as_array().unwrap() {
            let can_list = kind["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|verb| verb == "list"));
            let (name, singular) = (kind["name"].as_str().unwrap(), kind["kind"].as_str().unwrap());
            if !can_list || FLEETING.contains(&singular) {
                continue;
            }
            let list = names(client, &format!("{group}/{name}")).await;
            for object in list["items"].as_array().unwrap() {
                let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_string();
                found.insert(format!("{singular} {}/{}", text("namespace"), text("name")));
            }
        }
    }
    found.retain(|one| {
        let (kind, name) = one.split_once(' ').unwrap();
        kind != "Namespace"
            && !name.ends_with("/kube-root-ca.crt")
            && !(kind == "ServiceAccount" && name.ends_with("/default"))
    });
    found
}

/// What is on a target now and was not then.
pub fn beyond(empty: &World, now: &BTreeSet<String>) -> Vec<String> {
    World::with_target(now.clone()).beyond(empty)
}

/// To look at everything again and again is what most of the time would go to.
async fn rest(holds: bool) -> Option<()> {
    if !holds {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    holds.then_some(())
}

/// Waits until nothing is doubled, and nothing is without what it belongs to.
pub async fn consistent(stage: &Stage, empty: &World) {
    let last = std::sync::Mutex::new(Vec::new());
    let holds = async || {
        let wrong = wrong(stage, empty).await;
        let is_right = wrong.is_empty();
        *last.lock().unwrap() = wrong;
        rest(is_right).await
    };
    stage.until_or("all belongs together", holds, || format!("{:#?}", last.lock().unwrap())).await;
}

/// Lets the tenant go with all it has, and waits until there is what was there before it came.
pub async fn nothing(stage: &Stage, empty: &World) {
    // It may be gone already.
    let _ = send(&stage.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await;
    let last = std::sync::Mutex::new(Vec::new());
    // That it is forgotten is the last thing that happens to a tenant; all the rest is a long look.
    let tenants = async || stage.all::<ClusterUser>().await.is_empty().then_some(());
    stage.until("no tenant", tenants).await;
    let holds = async || {
        let left = World::of(stage).await.beyond(empty);
        let is_nothing = left.is_empty();
        *last.lock().unwrap() = left;
        rest(is_nothing).await
    };
    stage.until_or("nothing left", holds, || format!("{:#?}", last.lock().unwrap())).await;
}

/// What does not go together, as sentences.
async fn wrong(stage: &Stage, empty: &World) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut same = |what: &str, one: Vec<String>, other: Vec<String>| {
        let sorted = |mut all: Vec<String>| {
            all.sort();
            all
        };
        let (one, other) = (sorted(one), sorted(other));
        if one != other {
            wrong.push(format!("{what}: {one:?} and {other:?}"));
        }
    };
    fn of<R>(rows: &[R], name: impl Fn(&R) -> String) -> Vec<String> {
        rows.iter().map(name).collect()
    }
    let applications: Vec<Application> = stage.all().await;
    let ids = of(&applications, |row| row.id.to_string());
    same("mappings", ids.clone(), of(&stage.all::<DeploymentToApplication>().await, |row| row.application.to_string()));
    same("owners", ids.clone(), of(&stage.all::<ApplicationOwner>().await, |row| row.application.to_string()));
    let objects = stage.listed(&format!("{ARGO}/applications")).await;
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_string();
    same("Applications", of(&applications, |row| row.name.clone()), of(&objects, name));
    same("states", ids, of(&stage.all::<ApplicationState>().await, |row| row.application.to_string()));

    let known: Vec<ApiToDatabase> = stage.all().await;
    let keys = |of: ApiResource| -> Vec<String> {
        known.iter().filter(|row| row.resource == of).map(|row| row.relation_key.clone()).collect()
    };
    let (environments, credentials) = (keys(ApiResource::ManagedEnvironment), keys(ApiResource::RepositoryCredential));
    let runs = of(&stage.all::<SyncOperation>().await, |row| row.id.to_string());
    same("sync runs", keys(ApiResource::SyncRun), runs);
    let rows = of(&stage.all::<RepositoryCredentials>().await, |row| row.id.to_string());
    same("credentials", credentials.clone(), rows);
    let own = stage.all::<KubernetesToDatabase>().await;
    let own = own.iter().filter(|row| row.relation == KubernetesRelation::ManagedEnvironment);
    let own: Vec<String> = own.map(|row| row.relation_key.clone()).collect();
    let all: Vec<ManagedEnvironment> = stage.all().await;
    let both: Vec<String> = environments.iter().cloned().chain(own.clone()).collect();
    same("environments", both, of(&all, |row| row.id.to_string()));
    let rows = stage.all::<AppProjectManagedEnvironment>().await;
    same("environments of projects", environments.clone(), of(&rows, |row| row.environment.to_string()));
    let clusters: Vec<EngineCluster> = stage.all().await;
    let used =
        all.iter().map(|row| row.credentials.to_string()).chain(clusters.iter().map(|row| row.credentials.to_string()));
    let logins: Vec<ClusterCredentials> = stage.all().await;
    same("clusters' credentials", used.collect(), of(&logins, |row| row.id.to_string()));

    let users: Vec<ClusterUser> = stage.all().await;
    let projects = stage.listed(&format!("{ARGO}/appprojects")).await;
    let may = BTreeSet::from_iter(users.iter().map(|user| project_name(&user.id)));
    let extra: Vec<String> = projects.iter().map(name).filter(|name| !may.contains(name)).collect();
    same("projects of nobody", extra, vec![]);
    same(
        "projects that are there twice",
        of(&projects, name),
        BTreeSet::from_iter(of(&projects, name)).into_iter().collect(),
    );
    let rows = of(&stage.all::<AppProjectRepository>().await, |row| row.repo_url.clone());
    same("repositories of projects", rows, wanted_repositories(stage).await);

    let secrets = stage.secrets_of_argo().await;
    let wanted = environments.iter().map(|id| environment_name(&id.as_str().into()));
    let wanted = wanted.chain(credentials.iter().map(|id| credential_name(&id.as_str().into())));
    same("Secrets", wanted.collect(), of(&secrets, name));
    let doubled: BTreeSet<String> = secrets.iter().map(|one| decoded(one, "server") + &decoded(one, "url")).collect();
    same("Secrets by what they are for", vec![secrets.len().to_string()], vec![doubled.len().to_string()]);

    let units = |user: &dyn std::fmt::Display, environment: &dyn std::fmt::Display| format!("{user} {environment}");
    let placed = of(&stage.all::<Placement>().await, |row| units(&row.user, &row.environment));
    let allowed = of(&stage.all::<ClusterAccess>().await, |row| units(&row.user, &row.environment));
    same("placements", placed, allowed);

    let accounts: Vec<ServiceAccount> = stage.all().await;
    let own = logins.iter().filter(|row| row.own_service_account).count();
    same("accounts of ours", vec![own.to_string()], vec![accounts.len().to_string()]);
    let there = beyond(empty, &objects_of(&stage.target).await);
    let of_account = |row: &ServiceAccount| {
        let uid = &row.resource_uid;
        [
            format!("ServiceAccount kube-system/argocd-manager-{uid}"),
            format!("Secret kube-system/argocd-manager-token-{uid}"),
            format!("ClusterRole /argocd-manager-cluster-role-{uid}"),
            format!("ClusterRoleBinding /argocd-manager-cluster-role-binding-{uid}"),
        ]
        .map(|name| format!("object of target: {name}"))
    };
    same("what is ours on the target", accounts.iter().flat_map(of_account).collect(), there);
    wrong
}

/// What the tenants' resources name.
async fn wanted_repositories(stage: &Stage) -> Vec<String> {
    let mut urls = BTreeSet::new();
    for (plural, pointer) in [(DEPLOYMENTS, "/spec/source/repoURL"), (CREDENTIALS, "/spec/repository")] {
        let list = send(&stage.tenants, "GET", &format!("{GROUP}/{plural}"), Value::Null).await.unwrap();
        for object in list["items"].as_array().unwrap() {
            urls.insert(normalise(object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()));
        }
    }
    urls.into_iter().collect()
}
