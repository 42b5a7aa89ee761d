//! Instances of the fleet: adding, listing, cordoning.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};
use switchboard_sql::{Filter, LedgerError, LedgerView, RowChange};

use super::rebuild;
use crate::credential::kind as credential;
use crate::deployment::kind as deployment;
use crate::environment::kind as environment;
use crate::ids::{InstanceState, KubernetesRelation, Uid};
use crate::instance::fleet::{Fleet, FleetError};
use crate::instance::{InstanceLimits, InstanceRegistration, InstanceScope, configuration, definitions, register};
use crate::moves::is_open;
use crate::moves::move_inputs::all;
use crate::placement::{InstanceCandidate, selection};
use crate::rows::fleet::{Member, Move};
use crate::rows::{EngineInstance, KubernetesToDatabase};
use crate::sync_run::kind as sync_run;
use crate::tenant::TenantNamespace;
use crate::{kinds, random_id, related_rows};

/// Length of the key that Argo CD signs its tokens with.
const KEY_BYTES: usize = 32;

/// Specification of an Argo CD instance.
#[derive(Clone, Copy, Debug)]
pub struct InstanceSpec<'a> {
    /// Namespace of the instance.
    pub namespace: &'a str,
    /// Limits of the instance.
    pub limits: InstanceLimits,
    /// Permissions of the instance in its own cluster.
    pub reach: InstanceScope,
    /// Whether to create a missing namespace.
    pub create: bool,
    /// Whether to use the namespace of a tenant or of another database.
    pub force: bool,
    /// Whether the cluster was recreated and replaces the one of an instance in this namespace.
    pub cluster_recreated: bool,
}

/// Instance with its limits and its load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetInstance {
    /// Instance with its load.
    pub candidate: InstanceCandidate,
    /// Number of placements that are being moved to or from the instance.
    pub moving: usize,
    /// Identity of the cluster: the uid of `kube-system`, or the id of the row if the uid is unknown.
    pub cluster: String,
}

impl Fleet {
    /// Prepares a namespace (kinds, configuration, RBAC) and registers it. A repeated call updates the limits and
    /// leaves other existing objects unchanged.
    ///
    /// # Errors
    /// When the namespace is missing, belongs to a tenant or to another database, or the cluster or the database fails.
    pub async fn add(&self, wanted: &InstanceSpec<'_>) -> Result<EngineInstance, FleetError> {
        if !wanted.force && self.is_tenant(wanted.namespace).await? {
            return Err(FleetError::TenantNamespace(wanted.namespace.to_string()));
        }
        // Checked before the first write, so a rejected call leaves the cluster unchanged.
        self.check_ownership(wanted.namespace, wanted.force).await?;
        let namespace = self.namespace(wanted.namespace, wanted.create).await?;
        for definition in definitions() {
            self.engine.create(&definition).await?;
        }
        self.engine.established("applications.argoproj.io").await?;
        self.engine.established("appprojects.argoproj.io").await?;
        // Marked before the first object is created, so that a restore recognizes every registered namespace.
        self.claim(wanted.namespace, wanted.force).await?;
        let mut key = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut key).expect("the system gives random bytes");
        for object in configuration(wanted.namespace, &STANDARD.encode(key), wanted.reach) {
            self.engine.create(&object).await?;
        }
        let cluster = self.cluster().await?;
        loop {
            let mut view = self.store.ledger().view().await?;
            let (mappings, members) = (all(&mut view).await?, all(&mut view).await?);
            let instances: Vec<EngineInstance> = all(&mut view).await?;
            let registration = InstanceRegistration {
                cluster: &cluster,
                namespace: &namespace,
                mappings: &mappings,
                instances: &instances,
                members: &members,
                limits: wanted.limits,
                is_cluster_recreated: wanted.cluster_recreated,
                now: self.now(),
            };
            let (instance, mut changes) = register(&registration, random_id::new);
            let is_anew = |before: &EngineInstance| before.id == instance.id && before.namespace_uid != namespace.uid;
            if instances.iter().any(is_anew) {
                changes.extend(rebuild::changes(&mut view, &instance, registration.now).await?);
            }
            view.end();
            if self.store.commit(&changes).await? {
                return Ok(instance);
            }
        }
    }

    /// Whether a namespace belongs to a tenant: it has a row, or resources that tenants create. A registered instance
    /// does not count.
    async fn is_tenant(&self, name: &str) -> Result<bool, FleetError> {
        let Some(found) = self.engine.get("v1", "Namespace", "", name).await? else { return Ok(false) };
        let uid = Uid::from(found["metadata"]["uid"].as_str().unwrap_or_default());
        let mut view = self.store.ledger().view().await?;
        let known: Vec<EngineInstance> = view.list(&Filter::all().is("namespace_name", name)).await?;
        let user = related_rows::user(&mut view, &uid).await?;
        view.end();
        let is_instance = known.iter().any(|instance| instance.namespace_uid == uid);
        if is_instance || user.is_some() {
            return Ok(!is_instance);
        }
        for kind in [deployment::KIND, environment::KIND, credential::KIND, sync_run::KIND] {
            if !self.engine.list(kinds::API_VERSION, kind, name, "").await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) async fn namespace(&self, name: &str, create: bool) -> Result<TenantNamespace, FleetError> {
        if create {
            let wanted = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            self.engine.create(&wanted).await?;
        }
        let found = self.engine.get("v1", "Namespace", "", name).await?;
        let uid = found.as_ref().and_then(|found| found["metadata"]["uid"].as_str()).map(Uid::from);
        Ok(TenantNamespace {
            name: name.to_string(),
            uid: uid.ok_or_else(|| FleetError::NoNamespace(name.to_string()))?,
        })
    }

    /// Lists the instances, sorted by namespace.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn list(&self) -> Result<Vec<FleetInstance>, FleetError> {
        let mut view = self.store.ledger().view().await?;
        let entries = entries(&mut view).await?;
        view.end();
        Ok(entries)
    }

    /// Cordons or uncordons an instance.
    ///
    /// # Errors
    /// When it is not in the fleet.
    pub async fn set_state(&self, namespace: &str, state: InstanceState) -> Result<Member, FleetError> {
        let cluster = self.cluster().await?;
        loop {
            let mut view = self.store.ledger().view().await?;
            let entry = entry_of(&mut view, namespace, &cluster).await?;
            view.end();
            let found = entry.candidate.member;
            let before = found.ok_or_else(|| FleetError::NoInstance(namespace.to_string()))?;
            let after = Member { state, ..before.clone() };
            if after == before {
                return Ok(after);
            }
            if self.store.commit(&[RowChange::update(&before, &after)]).await? {
                return Ok(after);
            }
        }
    }

    /// Returns the instance in a namespace of this cluster.
    ///
    /// # Errors
    /// When there is none.
    pub async fn instance(&self, namespace: &str) -> Result<EngineInstance, FleetError> {
        let cluster = self.cluster().await?;
        let mut view = self.store.ledger().view().await?;
        let entry = entry_of(&mut view, namespace, &cluster).await?;
        view.end();
        Ok(entry.candidate.instance)
    }
}

/// Returns the instance in a namespace of a cluster, with its load.
pub(crate) async fn entry_of(
    view: &mut LedgerView,
    namespace: &str,
    cluster: &Uid,
) -> Result<FleetInstance, FleetError> {
    let none = || FleetError::NoInstance(namespace.to_string());
    let found = related_rows::instance_in(view, namespace, cluster).await?.ok_or_else(none)?;
    entries(view).await?.into_iter().find(|entry| entry.candidate.instance.id == found.id).ok_or_else(none)
}

/// Returns every instance with its load.
pub(crate) async fn entries(view: &mut LedgerView) -> Result<Vec<FleetInstance>, LedgerError> {
    let mut moves: Vec<Move> = all(view).await?;
    moves.retain(is_open);
    let of_clusters = Filter::all().is("db_relation_type", KubernetesRelation::EngineCluster);
    let clusters: Vec<KubernetesToDatabase> = view.list(&of_clusters).await?;
    let mut entries = Vec::new();
    for candidate in selection::candidates(view).await? {
        let id = &candidate.instance.id;
        let moving = moves.iter().filter(|row| row.source == *id || row.target == *id).count();
        let row = candidate.instance.cluster.as_str();
        let known = clusters.iter().find(|known| known.relation_key == row);
        let cluster = known.map_or(row, |known| known.resource_uid.as_str()).to_string();
        entries.push(FleetInstance { candidate, moving, cluster });
    }
    let place = |entry: &FleetInstance| (entry.candidate.instance.namespace.clone(), entry.cluster.clone());
    entries.sort_by_key(place);
    Ok(entries)
}

/// JSON form of an instance.
impl From<&FleetInstance> for Value {
    fn from(entry: &FleetInstance) -> Value {
        let InstanceCandidate { instance, member, applications, environments, .. } = &entry.candidate;
        json!({
            "namespace": instance.namespace,
            "id": instance.id.as_str(),
            "cluster": entry.cluster,
            "state": member.as_ref().map_or("unregistered", |member| member.state.as_str()),
            "applications": applications,
            "maxApplications": member.as_ref().map(|member| member.max_applications),
            "placements": environments,
            "maxPlacements": member.as_ref().map(|member| member.max_environments),
            "moving": entry.moving,
        })
    }
}
