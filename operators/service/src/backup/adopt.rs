//! What has happened since the backup was made, as far as the cluster of the instances tells: rows follow their Applications, or two
//! Argo CD instances would deploy the same.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use switchboard_gitops::argo::{API_VERSION, DATABASE_ID, application};
use switchboard_gitops::fleet::moving::{self, Act};
use switchboard_gitops::fleet::setup;
use switchboard_gitops::flow::deployment;
use switchboard_ledger::archive::Stored;
use switchboard_ledger::ids::{EngineInstanceId, KubernetesRelation, Uid};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_ledger::rows::settings::Setting;
use switchboard_ledger::rows::{
    Application, ApplicationOwner, ClusterAccess, DeploymentToApplication, EngineCluster, EngineInstance,
    KubernetesToDatabase,
};
use switchboard_ledger::{Change, Filter, Key, Ledger, Moment, Row};

use super::BackupError;
use super::found::{self, Chosen};
use crate::fleet::Engine;
use crate::setup::SYSTEM;
use crate::{ids, instance, rows, settings};

/// How many rows were put right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Instances that the backup did not know, and whose namespaces say that they are of its database.
    pub instances: usize,
    /// Namespaces with Applications of a service that nothing proves to be of this database. Nothing there was touched.
    pub unproven: Vec<String>,
    /// Applications that are on another instance than the backup says.
    pub applications: usize,
}

/// Where Applications are: by name, the namespaces that have one.
type Places<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// Looks at all Applications, before anything is changed.
pub async fn look(engine: &Engine) -> Result<Vec<Value>, BackupError> {
    Ok(engine.list(API_VERSION, application::KIND, "", DATABASE_ID).await?)
}

/// Makes rows name the instance that has their Application, and wakes what a move held that is forgotten now.
pub async fn adopt(ledger: &Ledger, engine: &Engine, objects: &[Value]) -> Result<Adopted, BackupError> {
    let mut found = Places::new();
    for object in objects {
        found.entry(text(object, "name")).or_default().push(text(object, "namespace"));
    }
    let cluster = uid(engine, SYSTEM).await?;
    made_anew(ledger, &cluster).await?;
    let (instances, unproven) = known(ledger, engine, &cluster, &found).await?;
    let here = near(ledger, &cluster).await?;
    // What is in other namespaces may be of another database, under the same names and labels.
    for places in found.values_mut() {
        places.retain(|place| here.iter().any(|instance| instance.namespace == *place));
    }
    found.retain(|_, places| !places.is_empty());
    let applications = follow(ledger, &here, &found).await?;
    let_go(ledger, &here, &found).await?;
    let chosen = found::choose(ledger, &here, objects).await?;
    wake(ledger, engine, &here, &chosen, objects).await?;
    found::remember(ledger, &chosen, Moment::from_unix_us(Timestamp::now().as_microsecond())).await?;
    Ok(Adopted { instances, unproven, applications })
}

/// The instances on a cluster: of the others nobody can say here what they have.
async fn near(ledger: &Ledger, cluster: &Uid) -> Result<Vec<EngineInstance>, BackupError> {
    let mut view = ledger.view().await?;
    let mut near = Vec::new();
    for instance in view.list::<EngineInstance>(&Filter::all()).await? {
        if rows::is_at(&mut view, &instance, cluster).await? {
            near.push(instance);
        }
    }
    view.end();
    Ok(near)
}

/// A backup that knows one cluster of instances is of the one that it is put back for, though that was made anew since.
async fn made_anew(ledger: &Ledger, cluster: &Uid) -> Result<(), BackupError> {
    let clusters: Vec<EngineCluster> = ledger.list(&Filter::all()).await?;
    let ([one], true) = (&clusters[..], near(ledger, cluster).await?.is_empty()) else { return Ok(()) };
    let mappings: Vec<KubernetesToDatabase> = ledger.list(&Filter::all()).await?;
    Ok(ledger.commit(&setup::known_anew(&one.id, cluster, &mappings)).await?)
}

pub(super) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"][key].as_str().unwrap_or_default()
}

/// Rows of Applications on these instances.
async fn of(ledger: &Ledger, instances: &[EngineInstance]) -> Result<Vec<Application>, BackupError> {
    let mut applications: Vec<Application> = ledger.list(&Filter::all()).await?;
    applications.retain(|row| instances.iter().any(|instance| instance.id == row.instance));
    Ok(applications)
}

async fn follow(ledger: &Ledger, here: &[EngineInstance], found: &Places<'_>) -> Result<usize, BackupError> {
    let mut followed = 0;
    for row in of(ledger, here).await? {
        let places = found.get(row.name.as_str()).into_iter().flatten();
        let there: Vec<&EngineInstanceId> = places
            .filter_map(|place| here.iter().find(|instance| instance.namespace == *place))
            .map(|instance| &instance.id)
            .collect();
        // One that is in two places is where the rows say.
        let (false, Some(instance)) = (there.contains(&&row.instance), there.first().copied()) else { continue };
        let moved = Application { instance: instance.clone(), ..row.clone() };
        let mut changes = vec![Change::update(&row, &moved)];
        changes.extend(unit(ledger, &row, instance).await?);
        ledger.commit(&changes).await?;
        followed += 1;
    }
    Ok(followed)
}

/// Forgets deployments whose Application went since. Their agent would make it anew, only for it to be deleted with all that it
/// deployed when their resource turns out to be gone; of those whose resource is there, the rows are made again from it.
async fn let_go(ledger: &Ledger, here: &[EngineInstance], found: &Places<'_>) -> Result<(), BackupError> {
    for row in of(ledger, here).await?.iter().filter(|row| !found.contains_key(row.name.as_str())) {
        let mappings: Vec<DeploymentToApplication> = ledger.list(&Filter::all().is("application_id", &row.id)).await?;
        let mut view = ledger.view().await?;
        let mut changes = Vec::new();
        for mapping in mappings {
            changes.extend(deployment::forget(&rows::deployment(&mut view, mapping).await?));
        }
        view.end();
        ledger.commit(&changes).await?;
    }
    Ok(())
}

/// What was on its way when the backup's successor was lost: the copy that its row names goes on, or, without a row, the one that was
/// chosen; others are let go.
async fn wake(
    ledger: &Ledger,
    engine: &Engine,
    here: &[EngineInstance],
    chosen: &Chosen<'_>,
    objects: &[Value],
) -> Result<(), BackupError> {
    let rows = of(ledger, here).await?;
    let is_here = |object: &&Value| here.iter().any(|instance| instance.namespace == text(object, "namespace"));
    for object in objects.iter().filter(is_here).filter(|object| moving::is_held(object)) {
        let row = rows.iter().find(|row| row.name == text(object, "name")).map(|row| &row.instance);
        let home = row.or_else(|| chosen.get(text(object, "name")).map(|(_, at)| at));
        // One whose row is on another cluster is for the agent to judge.
        let Some(home) = home.and_then(|home| here.iter().find(|instance| instance.id == *home)) else { continue };
        let is_home = home.namespace == text(object, "namespace");
        let act = if is_home { Act::Update(moving::awake(object.clone())) } else { moving::forget(object) };
        engine.act(&act).await?;
    }
    Ok(())
}

/// Makes instances known that were added since, and names the namespaces of which nothing says that they are this database's: there,
/// its agent would remove what it has no rows of.
async fn known(
    ledger: &Ledger,
    engine: &Engine,
    cluster: &Uid,
    found: &Places<'_>,
) -> Result<(usize, Vec<String>), BackupError> {
    let instances = near(ledger, cluster).await?;
    let mut places: BTreeSet<&str> = found.values().flatten().copied().collect();
    places.retain(|place| !instances.iter().any(|instance| instance.namespace == **place));
    let database = settings::database(ledger).await?;
    let (mut proven, mut unproven) = (0, Vec::new());
    for place in places {
        let marked = engine.marked(place).await?;
        let Some(own) = marked.filter(|one| database.is_some() && one.database == database) else {
            unproven.push(place.to_string());
            continue;
        };
        let mut view = ledger.view().await?;
        let now = Moment::from_unix_us(Timestamp::now().as_microsecond());
        let changes = instance::register(&mut view, cluster, &own.namespace, ids::new, now).await?;
        view.end();
        ledger.commit(&changes).await?;
        proven += 1;
    }
    Ok((proven, unproven))
}

/// Whether a namespace of an instance that these rows know says that it is another database's, before anything is changed.
pub async fn check(rows: &[Stored], database: Option<&str>, engine: &Engine) -> Result<(), BackupError> {
    let cluster = uid(engine, SYSTEM).await?;
    let instances: Vec<EngineInstance> = rows_of(rows);
    let mut clusters: Vec<KubernetesToDatabase> = rows_of(rows);
    clusters.retain(|row| row.relation == KubernetesRelation::EngineCluster);
    let is_only = rows_of::<EngineCluster>(rows).len() == 1;
    // One of which no uid is known is anybody's, and the only one there is may have been made anew.
    let is_here = |instance: &&EngineInstance| {
        let mut known = clusters.iter().filter(|row| row.relation_key == instance.cluster.as_str()).peekable();
        is_only || known.peek().is_none() || known.any(|row| row.resource_uid == cluster)
    };
    for instance in instances.iter().filter(is_here) {
        if engine.marked(&instance.namespace).await?.is_some_and(|found| found.is_of_another(database)) {
            return Err(BackupError::OfAnother(instance.namespace.clone()));
        }
    }
    Ok(())
}

/// Rows of one kind.
fn rows_of<R: Row>(rows: &[Stored]) -> Vec<R> {
    let of = rows.iter().filter(|(table, _)| *table == R::TABLE);
    of.filter_map(|(_, values)| R::from_values(values.clone()).ok()).collect()
}

/// What the database of these rows is known by on clusters.
pub fn database_of(rows: &[Stored]) -> Option<String> {
    rows_of::<Setting>(rows).into_iter().find(|row| row.name == settings::DATABASE).map(|row| row.value)
}

async fn uid(engine: &Engine, namespace: &str) -> Result<Uid, BackupError> {
    let found = engine.get("v1", "Namespace", "", namespace).await?;
    let uid = found.as_ref().and_then(|found| found["metadata"]["uid"].as_str());
    Ok(Uid::from(uid.unwrap_or(namespace)))
}

/// The unit's placement and accesses.
async fn unit(ledger: &Ledger, row: &Application, instance: &EngineInstanceId) -> Result<Vec<Change>, BackupError> {
    let mut changes = Vec::new();
    let Some(environment) = &row.environment else { return Ok(changes) };
    let owners: Vec<ApplicationOwner> =
        ledger.list(&Filter::all().is("application_owner_application_id", &row.id)).await?;
    for owner in owners {
        let key = Key::of([owner.user.as_str(), environment.as_str()]);
        if let Some(placement) = ledger.get::<Placement>(&key).await?
            && placement.instance != *instance
        {
            let moved = Placement { instance: instance.clone(), epoch: placement.epoch + 1, ..placement.clone() };
            changes.push(Change::update(&placement, &moved));
        }
        let of_user = Filter::all().is("clusteraccess_user_id", &owner.user);
        let accesses: Vec<ClusterAccess> = ledger.list(&of_user).await?;
        let left = accesses.iter().filter(|one| one.environment == *environment && one.instance == row.instance);
        for access in left {
            let moved = ClusterAccess { instance: instance.clone(), ..access.clone() };
            changes.extend([Change::delete(access), Change::ensure(&moved)]);
        }
    }
    Ok(changes)
}
