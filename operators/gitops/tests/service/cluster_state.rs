//! Snapshot of every row of every table and every object of every kind on every cluster, to detect leftovers,
//! duplicates and dangling references.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use switchboard_gitops::argocd::{credential_name, environment_name, project_name};
use switchboard_gitops::ids::{ApiResource, KubernetesRelation};
use switchboard_gitops::related_rows::is_open;
use switchboard_gitops::repository::normalize;
use switchboard_gitops::rows::fleet::{self, Member, Move, Placement};
use switchboard_gitops::rows::tenant_clusters::{self, ServiceAccount, TenantCluster};
use switchboard_gitops::rows::*;
use switchboard_sql::Row;

use crate::fixture::{ARGO, CREDENTIALS, DEPLOYMENTS, GROUP, ServiceFixture, decoded, send};

/// Snapshot of rows and objects, without Argo CD registrations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterState {
    rows: BTreeMap<&'static str, BTreeSet<String>>,
    objects: BTreeMap<&'static str, BTreeSet<String>>,
}

const POLL_INTERVAL: Duration = Duration::from_millis(60);

/// Kinds that are created and deleted independently of the service.
const IGNORED_KINDS: [&str; 1] = ["Event"];

impl ClusterState {
    pub async fn of(fixture: &ServiceFixture) -> ClusterState {
        ClusterState { rows: rows(fixture).await, objects: objects(fixture).await }
    }

    /// Creates a snapshot with objects of the target only.
    pub fn with_target(objects: BTreeSet<String>) -> ClusterState {
        ClusterState { rows: BTreeMap::new(), objects: BTreeMap::from([("target", objects)]) }
    }

    /// Describes the entries that `other` does not have.
    fn additions_to(&self, other: &ClusterState) -> Vec<String> {
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

pub async fn rows(fixture: &ServiceFixture) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    macro_rules! tables {
        ($($row:ty)*) => {$({
            let rows: Vec<$row> = fixture.all().await;
            let keys = rows.iter().map(|row| format!("{:?}", row.key())).collect();
            found.insert(<$row>::TABLE.name, keys);
        })*};
    }
    tables! {
        ClusterCredentials EngineCluster EngineInstance ManagedEnvironment ClusterUser ClusterAccess Application ApplicationState
        DeploymentToApplication KubernetesToDatabase ApiToDatabase SyncOperation RepositoryCredentials AppProjectRepository
        AppProjectManagedEnvironment ApplicationOwner Member Placement Move ServiceAccount TenantCluster
    }
    // Completed operations are kept for a while.
    let open: Vec<Operation> = fixture.all::<Operation>().await.into_iter().filter(is_open).collect();
    found.insert(Operation::TABLE.name, open.iter().map(|row| format!("{row:?}")).collect());
    let all: BTreeSet<&str> =
        [TABLES, fleet::TABLES, tenant_clusters::TABLES].concat().iter().map(|table| table.name).collect();
    assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), all, "every table is compared");
    // Further Argo CD registrations are expected.
    for table in [EngineInstance::TABLE.name, Member::TABLE.name] {
        found.remove(table);
    }
    let mappings: Vec<KubernetesToDatabase> = fixture.all().await;
    let mappings = mappings.iter().filter(|row| row.relation != KubernetesRelation::EngineInstance);
    found.insert(KubernetesToDatabase::TABLE.name, mappings.map(|row| format!("{:?}", row.key())).collect());
    found
}

async fn objects(fixture: &ServiceFixture) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut found = BTreeMap::from([("engine", objects_of(&fixture.engine).await)]);
    if fixture.has_two_clusters() {
        found.insert("tenants", objects_of(&fixture.tenants).await);
    }
    found.insert("target", objects_of(&fixture.target).await);
    found
}

/// Kind, namespace and name of the objects; the metadata format keeps the response small.
async fn names(client: &Client, path: &str) -> Value {
    let partial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let request = http::Request::get(path).header("Accept", partial);
    client.request(request.body(Vec::new()).unwrap()).await.unwrap()
}

/// Every object of a cluster, except the objects that every namespace has.
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
            if !can_list || IGNORED_KINDS.contains(&singular) {
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

/// Describes the objects that the target has gained.
pub fn additions_to(empty: &ClusterState, now: &BTreeSet<String>) -> Vec<String> {
    ClusterState::with_target(now.clone()).additions_to(empty)
}

/// Waits before the next snapshot unless the condition holds: snapshots are expensive.
async fn pause_unless(verify: bool) -> Option<()> {
    if !verify {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    verify.then_some(())
}

/// Waits until no row or object is duplicated or has a dangling reference.
pub async fn assert_consistent(fixture: &ServiceFixture, empty: &ClusterState) {
    let last = std::sync::Mutex::new(Vec::new());
    let verify = async || {
        let wrong = inconsistencies(fixture, empty).await;
        let is_right = wrong.is_empty();
        *last.lock().unwrap() = wrong;
        pause_unless(is_right).await
    };
    fixture.wait_for_or("a consistent state", verify, || format!("{:#?}", last.lock().unwrap())).await;
}

/// Deletes the tenant and waits until the snapshot equals the one from before the tenant existed.
pub async fn assert_nothing_left(fixture: &ServiceFixture, empty: &ClusterState) {
    // The namespace can be deleted already.
    let _ = send(&fixture.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await;
    let last = std::sync::Mutex::new(Vec::new());
    // The tenant's row is deleted last, so the expensive snapshot can wait for it.
    let tenants = async || fixture.all::<ClusterUser>().await.is_empty().then_some(());
    fixture.wait_for("no tenant", tenants).await;
    let verify = async || {
        let left = ClusterState::of(fixture).await.additions_to(empty);
        let is_nothing = left.is_empty();
        *last.lock().unwrap() = left;
        pause_unless(is_nothing).await
    };
    fixture.wait_for_or("nothing left", verify, || format!("{:#?}", last.lock().unwrap())).await;
}

/// Describes inconsistent rows and objects.
async fn inconsistencies(fixture: &ServiceFixture, empty: &ClusterState) -> Vec<String> {
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
    let applications: Vec<Application> = fixture.all().await;
    let ids = of(&applications, |row| row.id.to_string());
    same(
        "mappings",
        ids.clone(),
        of(&fixture.all::<DeploymentToApplication>().await, |row| row.application.to_string()),
    );
    same("owners", ids.clone(), of(&fixture.all::<ApplicationOwner>().await, |row| row.application.to_string()));
    let objects = fixture.list_objects(&format!("{ARGO}/applications")).await;
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_string();
    same("Applications", of(&applications, |row| row.name.clone()), of(&objects, name));
    same("states", ids, of(&fixture.all::<ApplicationState>().await, |row| row.application.to_string()));

    let known: Vec<ApiToDatabase> = fixture.all().await;
    let keys = |of: ApiResource| -> Vec<String> {
        known.iter().filter(|row| row.resource == of).map(|row| row.relation_key.clone()).collect()
    };
    let (environments, credentials) = (keys(ApiResource::ManagedEnvironment), keys(ApiResource::RepositoryCredential));
    let runs = of(&fixture.all::<SyncOperation>().await, |row| row.id.to_string());
    same("sync runs", keys(ApiResource::SyncRun), runs);
    let rows = of(&fixture.all::<RepositoryCredentials>().await, |row| row.id.to_string());
    same("credentials", credentials.clone(), rows);
    let own = fixture.all::<KubernetesToDatabase>().await;
    let own = own.iter().filter(|row| row.relation == KubernetesRelation::ManagedEnvironment);
    let own: Vec<String> = own.map(|row| row.relation_key.clone()).collect();
    let all: Vec<ManagedEnvironment> = fixture.all().await;
    let both: Vec<String> = environments.iter().cloned().chain(own.clone()).collect();
    same("environments", both, of(&all, |row| row.id.to_string()));
    let rows = fixture.all::<AppProjectManagedEnvironment>().await;
    same("environments of projects", environments.clone(), of(&rows, |row| row.environment.to_string()));
    let clusters: Vec<EngineCluster> = fixture.all().await;
    let used =
        all.iter().map(|row| row.credentials.to_string()).chain(clusters.iter().map(|row| row.credentials.to_string()));
    let logins: Vec<ClusterCredentials> = fixture.all().await;
    same("clusters' credentials", used.collect(), of(&logins, |row| row.id.to_string()));

    let users: Vec<ClusterUser> = fixture.all().await;
    let projects = fixture.list_objects(&format!("{ARGO}/appprojects")).await;
    let may = BTreeSet::from_iter(users.iter().map(|user| project_name(&user.id)));
    let extra: Vec<String> = projects.iter().map(name).filter(|name| !may.contains(name)).collect();
    same("projects without a tenant", extra, vec![]);
    same("duplicate projects", of(&projects, name), BTreeSet::from_iter(of(&projects, name)).into_iter().collect());
    let rows = of(&fixture.all::<AppProjectRepository>().await, |row| row.repo_url.clone());
    same("repositories of projects", rows, wanted_repositories(fixture).await);

    let secrets = fixture.argocd_secrets().await;
    let wanted = environments.iter().map(|id| environment_name(&id.as_str().into()));
    let wanted = wanted.chain(credentials.iter().map(|id| credential_name(&id.as_str().into())));
    same("Secrets", wanted.collect(), of(&secrets, name));
    let doubled: BTreeSet<String> = secrets.iter().map(|one| decoded(one, "server") + &decoded(one, "url")).collect();
    same("Secrets by purpose", vec![secrets.len().to_string()], vec![doubled.len().to_string()]);

    let units = |user: &dyn std::fmt::Display, environment: &dyn std::fmt::Display| format!("{user} {environment}");
    let placed = of(&fixture.all::<Placement>().await, |row| units(&row.user, &row.environment));
    let allowed = of(&fixture.all::<ClusterAccess>().await, |row| units(&row.user, &row.environment));
    same("placements", placed, allowed);

    let accounts: Vec<ServiceAccount> = fixture.all().await;
    let own = logins.iter().filter(|row| row.own_service_account).count();
    same("accounts of the service", vec![own.to_string()], vec![accounts.len().to_string()]);
    let there = additions_to(empty, &objects_of(&fixture.target).await);
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
    same("objects of the service on the target", accounts.iter().flat_map(of_account).collect(), there);
    wrong
}

/// Repositories that the tenants' resources refer to.
async fn wanted_repositories(fixture: &ServiceFixture) -> Vec<String> {
    let mut urls = BTreeSet::new();
    for (plural, pointer) in [(DEPLOYMENTS, "/spec/source/repoURL"), (CREDENTIALS, "/spec/repository")] {
        let list = send(&fixture.tenants, "GET", &format!("{GROUP}/{plural}"), Value::Null).await.unwrap();
        for object in list["items"].as_array().unwrap() {
            urls.insert(normalize(object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()));
        }
    }
    urls.into_iter().collect()
}
