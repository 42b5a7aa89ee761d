//! Changes since the backup, according to the cluster of the instances. Rows follow their Applications; otherwise two
//! instances would deploy the same.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use switchboard_sql::archive::StoredRow;
use switchboard_sql::{DbTimestamp, Filter, Ledger, Row, RowChange, RowKey};

use super::BackupError;
use super::unknown_applications::{self, ChosenApplications};
use crate::argocd::{API_VERSION, DATABASE_ID};
use crate::deployment::{self, application};
use crate::ids::{EngineInstanceId, KubernetesRelation, Uid};
use crate::instance::fleet::EngineClient;
use crate::moves::{self, InstanceWrite};
use crate::placement::selection;
use crate::rows::fleet::Placement;
use crate::rows::settings::Setting;
use crate::rows::{
    Application, ApplicationOwner, ClusterAccess, DeploymentToApplication, EngineCluster, EngineInstance,
    KubernetesToDatabase,
};
use crate::setup::SYSTEM_NAMESPACE;
use crate::{instance, random_id, related_rows, settings};

/// Number of corrections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdoptionResult {
    /// Instances that are missing in the backup and whose namespaces are marked as this database's.
    pub instances: usize,
    /// Namespaces with Applications that cannot be attributed to this database. They are unchanged.
    pub unproven: Vec<String>,
    /// Applications on another instance than in the backup.
    pub applications: usize,
}

/// Namespaces of Applications, by name.
type ApplicationNamespaces<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// Lists all Applications before anything is changed.
pub async fn list_applications(engine: &EngineClient) -> Result<Vec<Value>, BackupError> {
    Ok(engine.list(API_VERSION, application::KIND, "", DATABASE_ID).await?)
}

/// Updates rows to the instance that has their Application, and resumes Applications whose move is forgotten.
pub async fn adopt(ledger: &Ledger, engine: &EngineClient, objects: &[Value]) -> Result<AdoptionResult, BackupError> {
    let mut found = ApplicationNamespaces::new();
    for object in objects {
        found.entry(text(object, "name")).or_default().push(text(object, "namespace"));
    }
    let cluster = uid(engine, SYSTEM_NAMESPACE).await?;
    adopt_recreated_cluster(ledger, &cluster).await?;
    let (instances, unproven) = adopt_instances(ledger, engine, &cluster, &found).await?;
    let here = local_instances(ledger, &cluster).await?;
    // Other namespaces may belong to another database, with the same names and labels.
    for places in found.values_mut() {
        places.retain(|place| here.iter().any(|instance| instance.namespace == *place));
    }
    found.retain(|_, places| !places.is_empty());
    let applications = adopt_applications(ledger, &here, &found).await?;
    forget_missing(ledger, &here, &found).await?;
    let chosen = unknown_applications::choose(ledger, &here, objects).await?;
    resume_paused(ledger, engine, &here, &chosen, objects).await?;
    unknown_applications::remember(ledger, &chosen, DbTimestamp::from_unix_us(Timestamp::now().as_microsecond()))
        .await?;
    Ok(AdoptionResult { instances, unproven, applications })
}

/// Returns the instances on a cluster. The Applications of other clusters cannot be listed here.
async fn local_instances(ledger: &Ledger, cluster: &Uid) -> Result<Vec<EngineInstance>, BackupError> {
    let mut view = ledger.view().await?;
    let mut local_instances = Vec::new();
    for instance in view.list::<EngineInstance>(&Filter::all()).await? {
        if related_rows::is_on_cluster(&mut view, &instance, cluster).await? {
            local_instances.push(instance);
        }
    }
    view.end();
    Ok(local_instances)
}

/// Adopts the cluster of the restore if the backup knows one other cluster of instances: that was recreated.
async fn adopt_recreated_cluster(ledger: &Ledger, cluster: &Uid) -> Result<(), BackupError> {
    let clusters: Vec<EngineCluster> = ledger.list(&Filter::all()).await?;
    let ([one], true) = (&clusters[..], local_instances(ledger, cluster).await?.is_empty()) else { return Ok(()) };
    let mappings: Vec<KubernetesToDatabase> = ledger.list(&Filter::all()).await?;
    Ok(ledger.commit(&instance::replace_cluster_uid(&one.id, cluster, &mappings)).await?)
}

pub(crate) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"][key].as_str().unwrap_or_default()
}

/// Returns the rows of Applications on these instances.
async fn applications_on(ledger: &Ledger, instances: &[EngineInstance]) -> Result<Vec<Application>, BackupError> {
    let mut applications: Vec<Application> = ledger.list(&Filter::all()).await?;
    applications.retain(|row| instances.iter().any(|instance| instance.id == row.instance));
    Ok(applications)
}

async fn adopt_applications(
    ledger: &Ledger,
    here: &[EngineInstance],
    found: &ApplicationNamespaces<'_>,
) -> Result<usize, BackupError> {
    let mut followed = 0;
    for row in applications_on(ledger, here).await? {
        let places = found.get(row.name.as_str()).into_iter().flatten();
        let there: Vec<&EngineInstanceId> = places
            .filter_map(|place| here.iter().find(|instance| instance.namespace == *place))
            .map(|instance| &instance.id)
            .collect();
        // An Application in two namespaces stays where its row is.
        let (false, Some(instance)) = (there.contains(&&row.instance), there.first().copied()) else { continue };
        let moved = Application { instance: instance.clone(), ..row.clone() };
        let mut changes = vec![RowChange::update(&row, &moved)];
        changes.extend(placement_changes(ledger, &row, instance).await?);
        ledger.commit(&changes).await?;
        followed += 1;
    }
    Ok(followed)
}

/// Deletes the rows of deployments whose Application was deleted. The agent would otherwise recreate the Application,
/// and delete it with its resources when the deployment turns out to be deleted. Existing deployments get new rows.
async fn forget_missing(
    ledger: &Ledger,
    here: &[EngineInstance],
    found: &ApplicationNamespaces<'_>,
) -> Result<(), BackupError> {
    for row in applications_on(ledger, here).await?.iter().filter(|row| !found.contains_key(row.name.as_str())) {
        let mappings: Vec<DeploymentToApplication> = ledger.list(&Filter::all().is("application_id", &row.id)).await?;
        let mut view = ledger.view().await?;
        let mut changes = Vec::new();
        for mapping in mappings {
            changes.extend(deployment::delete_rows(&related_rows::deployment(&mut view, mapping).await?));
        }
        view.end();
        ledger.commit(&changes).await?;
    }
    Ok(())
}

/// Resumes Applications that were being moved: the copy that the row names or, without a row, the chosen one. Other
/// copies are released.
async fn resume_paused(
    ledger: &Ledger,
    engine: &EngineClient,
    here: &[EngineInstance],
    chosen: &ChosenApplications<'_>,
    objects: &[Value],
) -> Result<(), BackupError> {
    let rows = applications_on(ledger, here).await?;
    let is_here = |object: &&Value| here.iter().any(|instance| instance.namespace == text(object, "namespace"));
    for object in objects.iter().filter(is_here).filter(|object| moves::is_owned_by_move(object)) {
        let row = rows.iter().find(|row| row.name == text(object, "name")).map(|row| &row.instance);
        let home = row.or_else(|| chosen.get(text(object, "name")).map(|(_, at)| at));
        // The agent handles an Application whose row is on another cluster.
        let Some(home) = home.and_then(|home| here.iter().find(|instance| instance.id == *home)) else { continue };
        let is_tenant_of_cluster = home.namespace == text(object, "namespace");
        let act = if is_tenant_of_cluster {
            InstanceWrite::Update(moves::resume_object(object.clone()))
        } else {
            moves::delete_write(object)
        };
        engine.act(&act).await?;
    }
    Ok(())
}

/// Registers instances that were added since the backup, and returns the namespaces without proof of ownership. The
/// agent would delete what it has no rows for there.
async fn adopt_instances(
    ledger: &Ledger,
    engine: &EngineClient,
    cluster: &Uid,
    found: &ApplicationNamespaces<'_>,
) -> Result<(usize, Vec<String>), BackupError> {
    let instances = local_instances(ledger, cluster).await?;
    let mut places: BTreeSet<&str> = found.values().flatten().copied().collect();
    places.retain(|place| !instances.iter().any(|instance| instance.namespace == **place));
    let database = settings::database_id(ledger).await?;
    let (mut proven, mut unproven) = (0, Vec::new());
    for place in places {
        let marked = engine.namespace_owner(place).await?;
        let Some(own) = marked.filter(|one| database.is_some() && one.database == database) else {
            unproven.push(place.to_string());
            continue;
        };
        let mut view = ledger.view().await?;
        let now = DbTimestamp::from_unix_us(Timestamp::now().as_microsecond());
        let changes = selection::register(&mut view, cluster, &own.namespace, random_id::new, now).await?;
        view.end();
        ledger.commit(&changes).await?;
        proven += 1;
    }
    Ok((proven, unproven))
}

/// Fails if the namespace of an instance is marked as another database's, before anything is changed.
pub async fn check(rows: &[StoredRow], database: Option<&str>, engine: &EngineClient) -> Result<(), BackupError> {
    let cluster = uid(engine, SYSTEM_NAMESPACE).await?;
    let instances: Vec<EngineInstance> = rows_of(rows);
    let mut clusters: Vec<KubernetesToDatabase> = rows_of(rows);
    clusters.retain(|row| row.relation == KubernetesRelation::EngineCluster);
    let is_only = rows_of::<EngineCluster>(rows).len() == 1;
    // A cluster without a known uid may be this one, and a single cluster may have been recreated.
    let is_here = |instance: &&EngineInstance| {
        let mut known = clusters.iter().filter(|row| row.relation_key == instance.cluster.as_str()).peekable();
        is_only || known.peek().is_none() || known.any(|row| row.resource_uid == cluster)
    };
    for instance in instances.iter().filter(is_here) {
        if engine.namespace_owner(&instance.namespace).await?.is_some_and(|found| found.is_owned_by_other(database)) {
            return Err(BackupError::OtherDatabase(instance.namespace.clone()));
        }
    }
    Ok(())
}

/// Returns the rows of one type.
fn rows_of<R: Row>(rows: &[StoredRow]) -> Vec<R> {
    let of = rows.iter().filter(|(table, _)| *table == R::TABLE);
    of.filter_map(|(_, values)| R::from_values(values.clone()).ok()).collect()
}

/// Returns the id of the database that the rows come from.
pub fn database_of(rows: &[StoredRow]) -> Option<String> {
    rows_of::<Setting>(rows).into_iter().find(|row| row.name == settings::DATABASE_SETTING).map(|row| row.value)
}

async fn uid(engine: &EngineClient, namespace: &str) -> Result<Uid, BackupError> {
    let found = engine.get("v1", "Namespace", "", namespace).await?;
    let uid = found.as_ref().and_then(|found| found["metadata"]["uid"].as_str());
    Ok(Uid::from(uid.unwrap_or(namespace)))
}

/// Returns the changes of the placement and its accesses.
async fn placement_changes(
    ledger: &Ledger,
    row: &Application,
    instance: &EngineInstanceId,
) -> Result<Vec<RowChange>, BackupError> {
    let mut changes = Vec::new();
    let Some(environment) = &row.environment else { return Ok(changes) };
    let owners: Vec<ApplicationOwner> =
        ledger.list(&Filter::all().is("application_owner_application_id", &row.id)).await?;
    for owner in owners {
        let key = RowKey::of([owner.user.as_str(), environment.as_str()]);
        if let Some(placement) = ledger.get::<Placement>(&key).await?
            && placement.instance != *instance
        {
            let moved = Placement { instance: instance.clone(), epoch: placement.epoch + 1, ..placement.clone() };
            changes.push(RowChange::update(&placement, &moved));
        }
        let of_user = Filter::all().is("clusteraccess_user_id", &owner.user);
        let accesses: Vec<ClusterAccess> = ledger.list(&of_user).await?;
        let left = accesses.iter().filter(|one| one.environment == *environment && one.instance == row.instance);
        for access in left {
            let moved = ClusterAccess { instance: instance.clone(), ..access.clone() };
            changes.extend([RowChange::delete(access), RowChange::ensure(&moved)]);
        }
    }
    Ok(changes)
}
