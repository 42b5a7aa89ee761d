//! Tenants: a namespace is one, by its uid. One that is made anew under its old name is another.

use std::collections::BTreeSet;

use switchboard_ledger::ids::{
    AppProjectRepositoryId, CredentialsId, EngineInstanceId, KubernetesRelation, KubernetesResource,
    ManagedEnvironmentId, OperationId, OperationResource, Uid, UserId,
};
use switchboard_ledger::rows::{
    AppProjectRepository, ClusterAccess, ClusterCredentials, ClusterUser, KubernetesToDatabase, ManagedEnvironment,
    Operation,
};
use switchboard_ledger::{Change, Moment};

use super::operation::{self, Wish};
use crate::kinds::field;
use crate::repository::{has_login, is_pattern};

/// What stands in credentials that nobody uses: the target is the cluster Argo CD runs on. The original's words.
const PLACEHOLDER_TOKEN: &str = "serviceaccount_bearer_token";

/// A tenant's namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// Which of that name.
    pub uid: Uid,
}

/// The tenant of a namespace: the row there is, or a new one.
pub fn user(
    found: Option<&ClusterUser>,
    namespace: &Namespace,
    id: impl FnOnce() -> UserId,
    now: Moment,
) -> (ClusterUser, Vec<Change>) {
    match found {
        Some(user) if user.display_name.as_deref() == Some(namespace.name.as_str()) => (user.clone(), vec![]),
        // Rows of older versions of the original have no name.
        Some(user) => {
            let named = ClusterUser { display_name: Some(namespace.name.clone()), ..user.clone() };
            (named.clone(), vec![Change::update(user, &named)])
        }
        None => {
            let user = ClusterUser {
                id: id(),
                user_name: namespace.uid.as_str().to_string(),
                created_on: now,
                display_name: Some(namespace.name.clone()),
            };
            (user.clone(), vec![Change::insert(&user)])
        }
    }
}

/// Has every Argo CD that knows a tenant look at its project: what it may use changes in the same transaction.
pub fn look_at_project(
    user: &UserId,
    instances: &BTreeSet<EngineInstanceId>,
    asked: &[Operation],
    mut id: impl FnMut() -> String,
    now: Moment,
) -> Vec<Change> {
    // No Application has a tenant's id: the agent finds nothing to deploy, and puts the project right.
    let (resource, resource_id) = (OperationResource::Application, user.as_str());
    let wish = |instance| Wish { instance, resource, resource_id, owner: user };
    let ask = |instance| operation::ask_anew(asked, &wish(instance), || OperationId::from(id()), now);
    instances.iter().map(ask).collect()
}

/// The environment that is the tenant's own namespace: the one there is, or a new one with all it stands on.
pub fn own_environment(
    found: Option<&KubernetesToDatabase>,
    namespace: &Namespace,
    mut id: impl FnMut() -> String,
    now: Moment,
) -> (ManagedEnvironmentId, Vec<Change>) {
    if let Some(mapping) = found {
        return (ManagedEnvironmentId::from(mapping.relation_key.as_str()), vec![]);
    }
    let credentials = ClusterCredentials {
        id: CredentialsId::from(id()),
        host: Some("host".to_string()),
        kube_config: Some("kube_config".into()),
        kube_config_context: Some("kube_config_context".to_string()),
        bearer_token: Some(PLACEHOLDER_TOKEN.into()),
        service_account_namespace: Some("serviceaccount_ns".to_string()),
        allow_insecure: false,
        namespaces: None,
        cluster_resources: false,
        created_on: now,
        ca_data: None,
        client_certificate: None,
        client_key: None,
        own_service_account: false,
        source_digest: None,
    };
    let environment = ManagedEnvironment {
        id: ManagedEnvironmentId::from(id()),
        name: format!("Managed Environment for {}", namespace.name).chars().take(256).collect(),
        credentials: credentials.id.clone(),
        created_on: now,
    };
    let mapping = KubernetesToDatabase {
        resource: KubernetesResource::Namespace,
        resource_uid: namespace.uid.clone(),
        relation: KubernetesRelation::ManagedEnvironment,
        relation_key: environment.id.as_str().to_string(),
    };
    let changes = vec![Change::insert(&credentials), Change::insert(&environment), Change::insert(&mapping)];
    (environment.id, changes)
}

/// The tenant uses an environment through an Argo CD.
pub fn access(user: &UserId, environment: &ManagedEnvironmentId, instance: &EngineInstanceId, now: Moment) -> Change {
    Change::ensure(&ClusterAccess {
        user: user.clone(),
        environment: environment.clone(),
        instance: instance.clone(),
        created_on: now,
    })
}

/// Makes the repositories that a tenant's project may use those that its resources name, and no others. A URL with a login is
/// refused wherever it stands, so it is not written down here either; one that the original wrote stays while it is named. A pattern
/// does not stay: it permits what nobody named.
pub fn repositories(
    user: &UserId,
    rows: &[AppProjectRepository],
    wanted: &BTreeSet<String>,
    mut id: impl FnMut() -> String,
    now: Moment,
) -> Vec<Change> {
    let gone =
        rows.iter().filter(|row| !wanted.contains(&row.repo_url) || is_pattern(&row.repo_url)).map(Change::delete);
    let is_allowed = |url: &&String| !has_login(url) && !is_pattern(url);
    let new = wanted.iter().filter(is_allowed).filter(|url| !rows.iter().any(|row| row.repo_url == **url));
    let mut add = |url: &String| {
        Change::insert(&AppProjectRepository {
            id: AppProjectRepositoryId::from(id()),
            user: user.clone(),
            repo_url: url.clone(),
            created_on: now,
        })
    };
    let mut changes: Vec<Change> = gone.collect();
    // A resource that names another is refused, and no row may hold it: it keeps no other from being written down.
    changes.extend(new.filter(|url| field::judge("", url).is_ok()).map(&mut add));
    changes
}
