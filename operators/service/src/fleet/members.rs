//! The instances of a fleet: added, listed, cordoned.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};
use switchboard_gitops::fleet::Candidate;
use switchboard_gitops::fleet::moving::is_open;
use switchboard_gitops::fleet::setup::{Limits, Reach, Registration, configuration, definitions, register};
use switchboard_gitops::flow::tenant::Namespace;
use switchboard_gitops::kinds::{self, credential, deployment, environment, sync_run};
use switchboard_ledger::ids::{InstanceState, KubernetesRelation, Uid};
use switchboard_ledger::rows::fleet::{Member, Move};
use switchboard_ledger::rows::{EngineInstance, KubernetesToDatabase};
use switchboard_ledger::{Change, Filter, LedgerError, View};

use super::gather::all;
use super::{Fleet, FleetError, refill};
use crate::{ids, instance, rows};

/// Length of the key an Argo CD signs with.
const KEY_BYTES: usize = 32;

/// How a namespace is to be an Argo CD of the fleet.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// What it takes.
    pub limits: Limits,
    /// What it may do in its own cluster.
    pub reach: Reach,
    /// Whether the namespace is created if it is not there.
    pub create: bool,
    /// Whether it is taken though it is a tenant's, or another database's.
    pub force: bool,
    /// Whether the cluster was made anew, and is the one that an instance in this namespace is said to be on.
    pub anew: bool,
}

/// An instance with what it takes and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The instance and its load.
    pub candidate: Candidate,
    /// Units that are on their way to it or away from it.
    pub moving: usize,
    /// What its cluster is known by: the uid of `kube-system`, or the row of one whose uid nobody knows.
    pub cluster: String,
}

impl Fleet {
    /// Prepares a namespace (kinds, configuration, rights) and registers it. Done again, it changes what differs in limits and
    /// leaves what is there as it is.
    ///
    /// # Errors
    /// When there is no such namespace, or it is a tenant's or another database's, or the cluster or the database refuses.
    pub async fn add(&self, wanted: &Wanted<'_>) -> Result<EngineInstance, FleetError> {
        if !wanted.force && self.is_tenant(wanted.namespace).await? {
            return Err(FleetError::IsTenant(wanted.namespace.to_string()));
        }
        // Before anything is made: what is refused leaves the cluster as it was.
        self.may_take(wanted.namespace, wanted.force).await?;
        let namespace = self.namespace(wanted.namespace, wanted.create).await?;
        for definition in definitions() {
            self.engine.create(&definition).await?;
        }
        self.engine.established("applications.argoproj.io").await?;
        self.engine.established("appprojects.argoproj.io").await?;
        // Before anything is made in it: what is registered is known to be ours by whoever restores.
        self.take(wanted.namespace, wanted.force).await?;
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
            let registration = Registration {
                cluster: &cluster,
                namespace: &namespace,
                mappings: &mappings,
                instances: &instances,
                members: &members,
                limits: wanted.limits,
                anew: wanted.anew,
                now: self.now(),
            };
            let (instance, mut changes) = register(&registration, ids::new);
            let is_anew = |before: &EngineInstance| before.id == instance.id && before.namespace_uid != namespace.uid;
            if instances.iter().any(is_anew) {
                changes.extend(refill::changes(&mut view, &instance, registration.now).await?);
            }
            view.end();
            if self.store.commit(&changes).await? {
                return Ok(instance);
            }
        }
    }

    /// Whether a namespace is a tenant's: it has a row, or resources that tenants write. One that is an instance stays one.
    async fn is_tenant(&self, name: &str) -> Result<bool, FleetError> {
        let Some(found) = self.engine.get("v1", "Namespace", "", name).await? else { return Ok(false) };
        let uid = Uid::from(found["metadata"]["uid"].as_str().unwrap_or_default());
        let mut view = self.store.ledger().view().await?;
        let known: Vec<EngineInstance> = view.list(&Filter::all().is("namespace_name", name)).await?;
        let user = rows::user(&mut view, &uid).await?;
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

    pub(super) async fn namespace(&self, name: &str, create: bool) -> Result<Namespace, FleetError> {
        if create {
            let wanted = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            self.engine.create(&wanted).await?;
        }
        let found = self.engine.get("v1", "Namespace", "", name).await?;
        let uid = found.as_ref().and_then(|found| found["metadata"]["uid"].as_str()).map(Uid::from);
        Ok(Namespace { name: name.to_string(), uid: uid.ok_or_else(|| FleetError::NoNamespace(name.to_string()))? })
    }

    /// Every instance, by namespace.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn list(&self) -> Result<Vec<Entry>, FleetError> {
        let mut view = self.store.ledger().view().await?;
        let entries = entries(&mut view).await?;
        view.end();
        Ok(entries)
    }

    /// Cordons an instance, or gives it new units again.
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
            if self.store.commit(&[Change::update(&before, &after)]).await? {
                return Ok(after);
            }
        }
    }

    /// The instance in a namespace of this cluster.
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

/// The instance in a namespace of a cluster, with its load.
pub(super) async fn entry_of(view: &mut View, namespace: &str, cluster: &Uid) -> Result<Entry, FleetError> {
    let none = || FleetError::NoInstance(namespace.to_string());
    let found = rows::instance_in(view, namespace, cluster).await?.ok_or_else(none)?;
    entries(view).await?.into_iter().find(|entry| entry.candidate.instance.id == found.id).ok_or_else(none)
}

/// Every instance with its load.
pub(crate) async fn entries(view: &mut View) -> Result<Vec<Entry>, LedgerError> {
    let mut moves: Vec<Move> = all(view).await?;
    moves.retain(is_open);
    let of_clusters = Filter::all().is("db_relation_type", KubernetesRelation::EngineCluster);
    let clusters: Vec<KubernetesToDatabase> = view.list(&of_clusters).await?;
    let mut entries = Vec::new();
    for candidate in instance::candidates(view).await? {
        let id = &candidate.instance.id;
        let moving = moves.iter().filter(|row| row.source == *id || row.target == *id).count();
        let row = candidate.instance.cluster.as_str();
        let known = clusters.iter().find(|known| known.relation_key == row);
        let cluster = known.map_or(row, |known| known.resource_uid.as_str()).to_string();
        entries.push(Entry { candidate, moving, cluster });
    }
    let place = |entry: &Entry| (entry.candidate.instance.namespace.clone(), entry.cluster.clone());
    entries.sort_by_key(place);
    Ok(entries)
}

/// An entry for programs.
impl From<&Entry> for Value {
    fn from(entry: &Entry) -> Value {
        let Candidate { instance, member, applications, environments, .. } = &entry.candidate;
        json!({
            "namespace": instance.namespace,
            "id": instance.id.as_str(),
            "cluster": entry.cluster,
            "state": member.as_ref().map_or("unregistered", |member| member.state.as_str()),
            "applications": applications,
            "maxApplications": member.as_ref().map(|member| member.max_applications),
            "units": environments,
            "maxUnits": member.as_ref().map(|member| member.max_environments),
            "moving": entry.moving,
        })
    }
}
