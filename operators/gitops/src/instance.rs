//! Registration of a namespace as an Argo CD instance: its rows, and the objects that Argo CD reads at startup.
//!
//! Argo CD's own workloads are not included; they are installed by a release manifest, a chart or an operator.

pub mod fleet;
pub(crate) mod membership;
mod objects;
pub(crate) mod ownership;
pub(crate) mod rebuild;
pub(crate) mod removal;
pub(crate) mod rest;
pub(crate) mod tracking;

use switchboard_sql::{DbTimestamp, RowChange};

pub use objects::{InstanceScope, configuration, definitions};

use crate::ids::{
    CredentialsId, EngineClusterId, EngineInstanceId, InstanceState, KubernetesRelation, KubernetesResource, Uid,
};
use crate::placement::assignment::{MAX_APPLICATIONS, MAX_ENVIRONMENTS};
use crate::rows::fleet::Member;
use crate::rows::{ClusterCredentials, EngineCluster, EngineInstance, KubernetesToDatabase};
use crate::tenant::TenantNamespace;

/// Input of the registration of an Argo CD instance.
pub struct InstanceRegistration<'a> {
    /// Cluster of the instance, identified by the UID of its namespace `kube-system`.
    pub cluster: &'a Uid,
    /// Namespace of the instance.
    pub namespace: &'a TenantNamespace,
    /// Mappings from Kubernetes objects to the rows of clusters and instances.
    pub mappings: &'a [KubernetesToDatabase],
    /// Existing instances.
    pub instances: &'a [EngineInstance],
    /// Limits of the fleet's instances.
    pub members: &'a [Member],
    /// Limits of this instance; unset values keep their previous value or the default.
    pub limits: InstanceLimits,
    /// Whether the cluster was recreated, and replaces the cluster of the instance in the namespace of the same name.
    pub is_cluster_recreated: bool,
    /// Current time.
    pub now: DbTimestamp,
}

/// Limits of an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstanceLimits {
    /// Maximum number of Applications.
    pub max_applications: Option<i64>,
    /// Maximum number of placements.
    pub max_environments: Option<i64>,
}

/// Registers an Argo CD instance and returns its existing or new row with the required changes.
///
/// A namespace that was recreated under its old name is the same instance, because its deployments are in the rows. In
/// managed-gitops the rows must be repaired manually.
pub fn register(input: &InstanceRegistration<'_>, mut id: impl FnMut() -> String) -> (EngineInstance, Vec<RowChange>) {
    let (cluster, mut changes) = cluster(input, &mut id);
    let found = input
        .instances
        .iter()
        .find(|instance| instance.cluster == cluster && instance.namespace == input.namespace.name);
    let instance = EngineInstance {
        id: found.map_or_else(|| EngineInstanceId::from(id()), |found| found.id.clone()),
        namespace: input.namespace.name.clone(),
        namespace_uid: input.namespace.uid.clone(),
        cluster,
    };
    match found {
        None => changes.push(RowChange::insert(&instance)),
        Some(found) if *found != instance => changes.push(RowChange::update(found, &instance)),
        Some(_) => {}
    }
    let key = instance.id.as_str();
    for stale in input.mappings.iter().filter(|row| {
        row.relation == KubernetesRelation::EngineInstance
            && row.relation_key == key
            && row.resource_uid != input.namespace.uid
    }) {
        changes.push(RowChange::delete(stale));
    }
    changes.push(mapping(&input.namespace.uid, KubernetesRelation::EngineInstance, key));
    let before = input.members.iter().find(|member| member.instance == instance.id);
    let member = Member {
        instance: instance.id.clone(),
        state: before.map_or(InstanceState::Active, |before| before.state),
        max_applications: limit(input.limits.max_applications, before.map(|b| b.max_applications), MAX_APPLICATIONS),
        max_environments: limit(input.limits.max_environments, before.map(|b| b.max_environments), MAX_ENVIRONMENTS),
        created_on: before.map_or(input.now, |before| before.created_on),
    };
    match before {
        None => changes.push(RowChange::insert(&member)),
        Some(before) if *before != member => changes.push(RowChange::update(before, &member)),
        Some(_) => {}
    }
    (instance, changes)
}

fn limit(said: Option<i64>, before: Option<i64>, usual: i64) -> i64 {
    said.or(before).unwrap_or(usual)
}

/// Returns the cluster by its identity. Its credentials are placeholders, because agents use their own.
fn cluster(input: &InstanceRegistration<'_>, id: &mut impl FnMut() -> String) -> (EngineClusterId, Vec<RowChange>) {
    let known = input
        .mappings
        .iter()
        .find(|row| row.relation == KubernetesRelation::EngineCluster && row.resource_uid == *input.cluster);
    if let Some(known) = known {
        return (EngineClusterId::from(known.relation_key.as_str()), vec![]);
    }
    let mut before =
        input.instances.iter().filter(|one| input.is_cluster_recreated && one.namespace == input.namespace.name);
    if let (Some(before), None) = (before.next(), before.next()) {
        return (before.cluster.clone(), replace_cluster_uid(&before.cluster, input.cluster, input.mappings));
    }
    let credentials = ClusterCredentials {
        id: CredentialsId::from(id()),
        host: Some("host".to_string()),
        kube_config: Some("kube_config".into()),
        kube_config_context: Some("kube_config_context".to_string()),
        bearer_token: Some("serviceaccount_bearer_token".into()),
        service_account_namespace: Some("serviceaccount_ns".to_string()),
        allow_insecure: false,
        namespaces: None,
        cluster_resources: false,
        created_on: input.now,
        ca_data: None,
        client_certificate: None,
        client_key: None,
        own_service_account: false,
        source_digest: None,
    };
    let cluster = EngineCluster { id: EngineClusterId::from(id()), credentials: credentials.id.clone() };
    let mapping = mapping(input.cluster, KubernetesRelation::EngineCluster, cluster.id.as_str());
    let changes = vec![RowChange::insert(&credentials), RowChange::insert(&cluster), mapping];
    (cluster.id, changes)
}

/// Returns the changes that replace the UID of a recreated cluster.
pub fn replace_cluster_uid(cluster: &EngineClusterId, uid: &Uid, mappings: &[KubernetesToDatabase]) -> Vec<RowChange> {
    let of_it = |row: &&KubernetesToDatabase| {
        row.relation == KubernetesRelation::EngineCluster && row.relation_key == cluster.as_str()
    };
    let mut changes: Vec<RowChange> = mappings.iter().filter(of_it).map(RowChange::delete).collect();
    changes.push(mapping(uid, KubernetesRelation::EngineCluster, cluster.as_str()));
    changes
}

fn mapping(uid: &Uid, relation: KubernetesRelation, key: &str) -> RowChange {
    RowChange::ensure(&KubernetesToDatabase {
        resource: KubernetesResource::Namespace,
        resource_uid: uid.clone(),
        relation,
        relation_key: key.to_string(),
    })
}

#[cfg(test)]
mod tests;
