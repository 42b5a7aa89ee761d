//! Where the console's pages come from: the kernel at work, its journal, its cache, and the clusters themselves.

mod kinds;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use serde_json::Value;
use switchboard_integrations::operator::Shelf;
use switchboard_kernel::cache::Snapshot;
use switchboard_kernel::host::{Handle, Stopped};
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::resource::{ObjectKey, Query, Resource, Selection, TableKey};
use switchboard_kernel::state::State;
use switchboard_kernel::view::Picture as _;
use switchboard_object::selector::LabelSelector;
use tokio::sync::Mutex;

use crate::flags::Flags;
use crate::fleet::Fleet;
use crate::problem::Problem;
use crate::pulse::Pulse;
use crate::recent::{Brief, Recent};
use crate::veil::Veil;

/// How long a cluster may take to answer.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long the values of Secrets that are cached stay known before they are looked at again.
const VEIL_FRESH: Duration = Duration::from_secs(2);
/// How many Secrets are learnt.
const MAX_SECRETS: usize = 10_000;
/// How many objects of a kind are read at once for a page that sums them up.
const MAX_OBJECTS: usize = 20_000;
/// How many objects one answer of a cluster brings.
const PAGE: usize = 500;

const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

/// What the console shows.
pub struct Source {
    pub(crate) handle: Handle,
    /// The cluster that tokens are reviewed by.
    pub(crate) home: ClusterName,
    engines: ClusterName,
    shelf: Option<Arc<Shelf>>,
    fleet: Option<Arc<dyn Fleet>>,
    flags: Flags,
    pulse: Pulse,
    recent: Recent,
    kinds: kinds::Kinds,
    veil: Mutex<Option<(Instant, Arc<Veil>)>>,
}

impl Source {
    /// A kernel, and the cluster on which its users are known.
    pub fn new(handle: Handle, home: ClusterName) -> Self {
        Self {
            pulse: Pulse::new(handle.clone()),
            recent: Recent::new(handle.clone()),
            handle,
            engines: home.clone(),
            home,
            shelf: None,
            fleet: None,
            flags: Flags::default(),
            kinds: kinds::Kinds::default(),
            veil: Mutex::default(),
        }
    }

    /// With what the integrations manager wants.
    #[must_use]
    pub fn with_integrations(self, shelf: Option<Arc<Shelf>>) -> Self {
        Self { shelf, ..self }
    }

    /// With Argo CDs on another cluster.
    #[must_use]
    pub fn with_engines(self, engines: ClusterName) -> Self {
        Self { engines, ..self }
    }

    /// The cluster of the Argo CDs.
    pub(crate) fn engines(&self) -> &ClusterName {
        &self.engines
    }

    /// With the fleet that the GitOps Service of this process knows.
    #[must_use]
    pub fn with_fleet(self, fleet: Option<Arc<dyn Fleet>>) -> Self {
        Self { fleet, ..self }
    }

    /// With what the commands that are shown must say.
    #[must_use]
    pub fn with_flags(self, flags: Flags) -> Self {
        Self { flags, ..self }
    }

    /// What the commands that are shown must say.
    pub(crate) fn flags(&self) -> &Flags {
        &self.flags
    }

    /// Who knows the fleet; absent when no GitOps Service is hosted.
    pub(crate) fn fleet(&self) -> Option<&dyn Fleet> {
        self.fleet.as_deref()
    }

    /// What the integrations manager wants; absent when none is hosted.
    pub(crate) fn shelf(&self) -> Option<&Shelf> {
        self.shelf.as_deref()
    }

    pub(crate) async fn state(&self) -> Result<Arc<State>, Stopped> {
        self.pulse.state().await
    }

    /// Something was done: the next look is a new one.
    pub(crate) async fn touched(&self) {
        self.pulse.forget().await;
    }

    pub(crate) async fn briefs(&self) -> Result<Arc<VecDeque<Brief>>, Stopped> {
        self.recent.briefs().await
    }

    pub(crate) async fn picture(&self) -> Result<Arc<Snapshot>, Stopped> {
        self.handle.picture().await
    }

    pub(crate) async fn clusters(&self) -> Result<BTreeMap<ClusterName, kube::Client>, Stopped> {
        self.handle.clusters().await
    }

    pub(crate) async fn client(&self, cluster: &str) -> Result<kube::Client, Problem> {
        let clusters = self.clusters().await?;
        let known = || clusters.keys().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let found = clusters.get(&ClusterName::new(cluster)).cloned();
        found.ok_or_else(|| Problem::Missing(format!("there is no cluster {cluster}; there are: {}", known())))
    }

    /// What hides secrets, knowing those that are cached.
    pub(crate) async fn veil(&self) -> Result<Arc<Veil>, Stopped> {
        let mut last = self.veil.lock().await;
        if let Some((at, veil)) = &*last
            && at.elapsed() < VEIL_FRESH
        {
            return Ok(veil.clone());
        }
        let picture = self.picture().await?;
        let mut secrets: Vec<Value> = Vec::new();
        for table in picture.tables().filter(|table| *table.resource == SECRETS) {
            secrets.extend(cached(&picture, table).unwrap_or_default().into_iter().take(MAX_SECRETS));
        }
        let veil = Arc::new(Veil::knowing(&secrets));
        *last = Some((Instant::now(), veil.clone()));
        Ok(veil)
    }

    /// The kinds that a cluster serves.
    pub(crate) async fn kinds(&self, cluster: &str) -> Result<Arc<Vec<Resource>>, Problem> {
        self.kinds.of(cluster, &self.client(cluster).await?).await
    }

    /// A kind as people and links name it: `configmaps`, `deployments.apps`.
    pub(crate) async fn kind(&self, cluster: &str, name: &str) -> Result<Resource, Problem> {
        // What is watched is known without asking.
        let state = self.state().await?;
        let watched = state.tables.iter().map(|table| &table.table);
        let mut watched = watched.filter(|table| *table.cluster.0 == *cluster && table.resource.to_string() == name);
        if let Some(table) = watched.next() {
            return Ok((*table.resource).clone());
        }
        let kinds = self.kinds(cluster).await?;
        let found = kinds.iter().find(|kind| kind.to_string() == name).cloned();
        found.ok_or_else(|| Problem::Missing(format!("the cluster {cluster} serves no {name}")))
    }

    /// An object as it is now, with all its fields; `None` when it is not there.
    pub(crate) async fn get(&self, key: &ObjectKey) -> Result<Option<Value>, Problem> {
        let client = self.client(&key.table.cluster.0).await?;
        match ask(&client, &key.path(), "application/json").await {
            Ok(object) => Ok(Some(object)),
            Err(Asked::Absent) => Ok(None),
            Err(Asked::Failed(why)) => Err(Problem::Cluster(format!("could not read {key}: {why}"))),
        }
    }

    /// What a cluster answers at a path.
    pub(crate) async fn read(&self, cluster: &str, path: &str) -> Result<Value, Problem> {
        match ask(&self.client(cluster).await?, path, "application/json").await {
            Ok(answer) => Ok(answer),
            Err(Asked::Absent) => Err(Problem::Missing(format!("the cluster {cluster} has nothing at {path}"))),
            Err(Asked::Failed(why)) => Err(Problem::Cluster(why)),
        }
    }

    /// One page of a kind as the table that kubectl would print.
    pub(crate) async fn table(
        &self,
        cluster: &str,
        kind: &Resource,
        query: &str,
        namespace: &str,
    ) -> Result<Value, Problem> {
        let client = self.client(cluster).await?;
        let path = format!("{}?{query}", kind.path(namespace));
        match ask(&client, &path, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json").await {
            Ok(table) => Ok(table),
            Err(Asked::Absent) => Err(Problem::Missing(format!("the cluster {cluster} serves no {kind}"))),
            Err(Asked::Failed(why)) => Err(Problem::Cluster(format!("could not list {kind}: {why}"))),
        }
    }

    /// All objects of a kind, of the cache when they are watched; `None` when the cluster serves no such kind.
    pub(crate) async fn all(&self, cluster: &ClusterName, kind: &Resource) -> Result<Option<Vec<Value>>, Problem> {
        let table = TableKey { cluster: cluster.clone(), resource: Arc::new(kind.clone()) };
        let picture = self.picture().await?;
        if picture.count(&table) > 0
            && let Some(objects) = cached(&picture, &table)
        {
            return Ok(Some(objects));
        }
        let client = self.client(&cluster.0).await?;
        let (mut items, mut from) = (Vec::new(), String::new());
        loop {
            let path = format!("{}?limit={PAGE}{from}", kind.path(""));
            let mut page = match ask(&client, &path, "application/json").await {
                Ok(page) => page,
                Err(Asked::Absent) => return Ok(None),
                Err(Asked::Failed(why)) => return Err(Problem::Cluster(format!("could not list {kind}: {why}"))),
            };
            if let Value::Array(more) = page["items"].take() {
                items.extend(more);
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str) {
                Some(token) if !token.is_empty() && items.len() < MAX_OBJECTS => from = format!("&continue={token}"),
                _ => return Ok(Some(items)),
            }
        }
    }
}

/// Every cached object of a kind; `None` when the kind cannot be read.
pub(crate) fn cached(picture: &Snapshot, table: &TableKey) -> Option<Vec<Value>> {
    let query = Query { table: table.clone(), selection: Selection::all() };
    let everything = LabelSelector::parse("").ok()?;
    let objects = picture.list(&query, &everything)?;
    let kind = &table.resource.kind;
    Some(
        objects
            .iter()
            .map(|object| {
                let mut value = object.whole();
                // Items of lists do not name their kind.
                if let Some(fields) = value.as_object_mut() {
                    fields.entry("kind").or_insert_with(|| kind.as_ref().into());
                }
                value
            })
            .collect(),
    )
}

/// Why a cluster gave no answer.
enum Asked {
    Absent,
    Failed(String),
}

async fn ask(client: &kube::Client, path: &str, accept: &str) -> Result<Value, Asked> {
    let request = Request::get(path).header("Accept", accept).body(Vec::new());
    let request = request.map_err(|error| Asked::Failed(error.to_string()))?;
    match tokio::time::timeout(PATIENCE, client.request::<Value>(request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(Asked::Absent),
        Ok(Err(kube::Error::Api(status))) => Err(Asked::Failed(status.to_string())),
        Ok(Err(error)) => Err(Asked::Failed(format!("the API server cannot be reached: {error}"))),
        Err(_) => Err(Asked::Failed(format!("no answer within {PATIENCE:?}"))),
    }
}
