//! What a namespace needs to be an Argo CD of the fleet: its row, and the objects Argo CD reads when it starts.
//!
//! Argo CD's own workloads are not among them: they come with a release of it, a chart or an operator.

mod objects;

use switchboard_ledger::ids::{
    CredentialsId, EngineClusterId, EngineInstanceId, InstanceState, KubernetesRelation, KubernetesResource, Uid,
};
use switchboard_ledger::rows::fleet::Member;
use switchboard_ledger::rows::{ClusterCredentials, EngineCluster, EngineInstance, KubernetesToDatabase};
use switchboard_ledger::{Change, Moment};

pub use objects::{Reach, configuration, definitions};

use super::place::{MAX_APPLICATIONS, MAX_ENVIRONMENTS};
use crate::flow::tenant::Namespace;

/// What is known when an Argo CD is registered.
pub struct Registration<'a> {
    /// Which cluster it is on: the uid of that one's namespace `kube-system`.
    pub cluster: &'a Uid,
    /// Its namespace.
    pub namespace: &'a Namespace,
    /// Which Kubernetes objects are known, of clusters and of instances.
    pub mappings: &'a [KubernetesToDatabase],
    /// Instances there are.
    pub instances: &'a [EngineInstance],
    /// What instances of the fleet take.
    pub members: &'a [Member],
    /// What this one takes; as before, or as usual, if nobody says.
    pub limits: Limits,
    /// Whether the cluster was made anew, and is the one that an instance in a namespace of this name is said to be on.
    pub anew: bool,
    /// When.
    pub now: Moment,
}

/// What an instance takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// So many Applications.
    pub max_applications: Option<i64>,
    /// So many units.
    pub max_environments: Option<i64>,
}

/// Registers an Argo CD: the rows there are, or new ones with all they stand on.
///
/// A namespace that was made anew under its old name is the same Argo CD: what it is to deploy stands in the rows. In the original
/// its rows have to be repaired by hand.
pub fn register(input: &Registration<'_>, mut id: impl FnMut() -> String) -> (EngineInstance, Vec<Change>) {
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
        None => changes.push(Change::insert(&instance)),
        Some(found) if *found != instance => changes.push(Change::update(found, &instance)),
        Some(_) => {}
    }
    let key = instance.id.as_str();
    for stale in input.mappings.iter().filter(|row| {
        row.relation == KubernetesRelation::EngineInstance
            && row.relation_key == key
            && row.resource_uid != input.namespace.uid
    }) {
        changes.push(Change::delete(stale));
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
        None => changes.push(Change::insert(&member)),
        Some(before) if *before != member => changes.push(Change::update(before, &member)),
        Some(_) => {}
    }
    (instance, changes)
}

fn limit(said: Option<i64>, before: Option<i64>, usual: i64) -> i64 {
    said.or(before).unwrap_or(usual)
}

/// The cluster by its identity. Its credentials are placeholders: an agent runs with its own.
fn cluster(input: &Registration<'_>, id: &mut impl FnMut() -> String) -> (EngineClusterId, Vec<Change>) {
    let known = input
        .mappings
        .iter()
        .find(|row| row.relation == KubernetesRelation::EngineCluster && row.resource_uid == *input.cluster);
    if let Some(known) = known {
        return (EngineClusterId::from(known.relation_key.as_str()), vec![]);
    }
    let mut before = input.instances.iter().filter(|one| input.anew && one.namespace == input.namespace.name);
    if let (Some(before), None) = (before.next(), before.next()) {
        return (before.cluster.clone(), known_anew(&before.cluster, input.cluster, input.mappings));
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
    let changes = vec![Change::insert(&credentials), Change::insert(&cluster), mapping];
    (cluster.id, changes)
}

/// A cluster that was made anew is known by its new uid from now on, and by no other.
pub fn known_anew(cluster: &EngineClusterId, uid: &Uid, mappings: &[KubernetesToDatabase]) -> Vec<Change> {
    let of_it = |row: &&KubernetesToDatabase| {
        row.relation == KubernetesRelation::EngineCluster && row.relation_key == cluster.as_str()
    };
    let mut changes: Vec<Change> = mappings.iter().filter(of_it).map(Change::delete).collect();
    changes.push(mapping(uid, KubernetesRelation::EngineCluster, cluster.as_str()));
    changes
}

fn mapping(uid: &Uid, relation: KubernetesRelation, key: &str) -> Change {
    Change::ensure(&KubernetesToDatabase {
        resource: KubernetesResource::Namespace,
        resource_uid: uid.clone(),
        relation,
        relation_key: key.to_string(),
    })
}
