//! Prometheus metrics of the GitOps Service: those of managed-gitops with the same names and meanings, and
//! Switchboard's own.
//!
//! Everything is counted during a scrape: a service that is not scraped causes no queries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use switchboard_sql::{Filter, Ledger};

use crate::argocd::{API_VERSION, DATABASE_ID};
use crate::deployment::application;
use crate::ids::{EngineClusterId, KubernetesRelation, OperationResource, OperationState, Uid};
use crate::instance::fleet::{EngineClient, FleetError, FleetInstance, entries};
use crate::placement::InstanceCandidate;
use crate::rows::fleet::Move;
use crate::rows::{DeploymentToApplication, KubernetesToDatabase, Operation};
use crate::{kinds, moves, related_rows};

/// Age in seconds up to which the last comparison of an Application counts as reconciled, as in managed-gitops.
const RECONCILED_S: i64 = 180;

/// Deadline of the engine cluster in a scrape. Prometheus gives up after ten seconds and then has no metrics at all.
const SCRAPE_DEADLINE: Duration = Duration::from_secs(8);

/// State of an instance that was never added to the fleet.
const UNREGISTERED: &str = "unregistered";

/// Counts of a scrape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GitOpsCounts {
    /// Number of deployments.
    pub deployments: u64,
    /// Number of failed deployments. Rows only show those whose Application failed; a backend also knows those that it
    /// rejected: see
    /// [`crate::Backend::failed_deployments`].
    pub failures: u64,
    /// Operations by state, in the order of [`OPERATION_STATES`].
    pub operations: [u64; 4],
    /// Instances with their load.
    pub instances: Vec<FleetInstance>,
    /// Identities of the clusters: the uid of `kube-system`. A cluster without one is labelled by the id of its row.
    pub clusters: BTreeMap<EngineClusterId, Uid>,
    /// Number of open moves.
    pub moves: u64,
    /// Counts of the engine cluster; `None` if it was not queried.
    pub engine: Option<EngineCounts>,
}

/// Counts of the engine cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EngineCounts {
    /// Number of Operation resources.
    pub operations: u64,
    /// Percentage of recently compared Applications.
    pub reconciled_percent: f64,
}

/// States of [`GitOpsCounts::operations`].
pub const OPERATION_STATES: [OperationState; 4] =
    [OperationState::Waiting, OperationState::InProgress, OperationState::Completed, OperationState::Failed];

/// Error of a scrape.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The database failed.
    #[error("could not count the rows of the database")]
    Rows(#[source] FleetError),
    /// The engine cluster failed.
    #[error("could not count the objects of the engine cluster")]
    Objects(#[source] FleetError),
    /// The engine cluster did not respond within the deadline.
    #[error(
        "could not count the objects of the engine cluster: no response within {} s\nhint: check that the cluster runs and is reachable from this machine",
        SCRAPE_DEADLINE.as_secs()
    )]
    Late,
}

/// Counts rows and, with an engine cluster, objects.
///
/// # Errors
/// When the database or the cluster fails.
pub async fn count(ledger: &Ledger, engine: Option<&EngineClient>) -> Result<GitOpsCounts, MetricsError> {
    let mut counts = count_rows(ledger).await.map_err(MetricsError::Rows)?;
    if let Some(engine) = engine {
        counts.engine = Some(count_objects(engine, &counts.instances).await.map_err(MetricsError::Objects)?);
    }
    Ok(counts)
}

/// Returns the metrics page of a role and the error if it is incomplete. A failing cluster does not hide the rows, and
/// a failing database is reported by a metric, because an empty page would look healthy.
///
/// `failing` is the number of failed deployments that a backend knows.
pub async fn page(ledger: &Ledger, engine: Option<&EngineClient>, failing: u64) -> (String, Option<MetricsError>) {
    let mut counts = match count_rows(ledger).await {
        Ok(counts) => GitOpsCounts { failures: counts.failures.max(failing), ..counts },
        Err(error) => return (scrape_success(false), Some(MetricsError::Rows(error))),
    };
    let Some(engine) = engine else { return (text(&counts), None) };
    let error = match tokio::time::timeout(SCRAPE_DEADLINE, count_objects(engine, &counts.instances)).await {
        Ok(Ok(found)) => {
            counts.engine = Some(found);
            return (text(&counts), None);
        }
        Ok(Err(error)) => MetricsError::Objects(error),
        Err(_) => MetricsError::Late,
    };
    (format!("{}{}", gauges(&counts), scrape_success(false)), Some(error))
}

fn scrape_success(is: bool) -> String {
    let name = "switchboard_gitops_scrape_success";
    let help = "Whether everything was counted: 0 means that gauges of the database or the engine cluster are missing.";
    format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {}\n", u8::from(is))
}

async fn count_rows(ledger: &Ledger) -> Result<GitOpsCounts, FleetError> {
    let mut view = ledger.view().await?;
    let mut counts = GitOpsCounts::default();
    for (at, state) in OPERATION_STATES.into_iter().enumerate() {
        counts.operations[at] = view.count::<Operation>("state", state).await?;
    }
    let failed = Filter::all().is("state", OperationState::Failed).is("resource_type", OperationResource::Application);
    let failed: BTreeSet<String> =
        view.list::<Operation>(&failed).await?.into_iter().map(|row| row.resource_id).collect();
    for id in &failed {
        let about = related_rows::operations(&mut view, id).await?;
        let about = about.iter().filter(|row| row.resource == OperationResource::Application);
        // A later success makes up for a failure.
        let newest = about.max_by_key(|row| row.created_on);
        counts.failures += u64::from(newest.is_some_and(|row| row.state == OperationState::Failed));
    }
    counts.deployments = view.list::<DeploymentToApplication>(&Filter::all()).await?.len() as u64;
    counts.instances = entries(&mut view).await?;
    let known = Filter::all().is("db_relation_type", KubernetesRelation::EngineCluster);
    for row in view.list::<KubernetesToDatabase>(&known).await? {
        counts.clusters.insert(EngineClusterId::from(row.relation_key), row.resource_uid);
    }
    counts.moves = view.list::<Move>(&Filter::all()).await?.iter().filter(|row| moves::is_open(row)).count() as u64;
    view.end();
    Ok(counts)
}

async fn count_objects(engine: &EngineClient, instances: &[FleetInstance]) -> Result<EngineCounts, FleetError> {
    let (mut operations, mut applications) = (0, Vec::new());
    // Namespaces of the same name are on different clusters, of which one is queried.
    let places: BTreeSet<&str> = instances.iter().map(|entry| entry.candidate.instance.namespace.as_str()).collect();
    for namespace in places {
        operations += engine.list(kinds::API_VERSION, crate::operation::kind::KIND, namespace, "").await?.len() as u64;
        applications.extend(engine.list(API_VERSION, application::KIND, namespace, DATABASE_ID).await?);
    }
    Ok(EngineCounts { operations, reconciled_percent: reconciled(&applications, Timestamp::now()) })
}

/// Returns the percentage of recently compared Applications; 100 if there are none.
fn reconciled(applications: &[Value], now: Timestamp) -> f64 {
    let lately = |object: &&Value| {
        let at = object["status"]["reconciledAt"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        at.is_some_and(|at| now.as_second() - at.as_second() <= RECONCILED_S)
    };
    match applications.len() {
        0 => 100.0,
        all => applications.iter().filter(lately).count() as f64 * 100.0 / all as f64,
    }
}

/// Returns the labels of an instance. Namespaces of several clusters may have the same name, and `instance` is a label
/// of Prometheus itself.
fn labels(counts: &GitOpsCounts, entry: &FleetInstance) -> String {
    let InstanceCandidate { instance, member, .. } = &entry.candidate;
    let cluster = counts.clusters.get(&instance.cluster).map_or(instance.cluster.as_str(), Uid::as_str);
    let state = member.as_ref().map_or(UNREGISTERED, |member| member.state.as_str());
    let namespace = &instance.namespace;
    format!("{{argocd_namespace=\"{namespace}\",cluster=\"{cluster}\",state=\"{state}\"}}")
}

/// Returns the page of a complete scrape.
pub fn text(counts: &GitOpsCounts) -> String {
    format!("{}{}", gauges(counts), scrape_success(true))
}

fn gauges(counts: &GitOpsCounts) -> String {
    let mut page = String::new();
    let mut gauge = |name: &str, help: &str, lines: &[(String, f64)]| {
        let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} gauge");
        for (labels, value) in lines {
            let _ = writeln!(page, "{name}{labels} {value}");
        }
    };
    let mut one = |name: &str, help: &str, value: u64| gauge(name, help, &[(String::new(), value as f64)]);
    let [waiting, in_progress, completed, failed] = counts.operations;
    one("total_number_of_operationDB_rows", "Operations.", waiting + in_progress + completed + failed);
    one("operationDB_rows_in_waiting_state", "Operations that have not started.", waiting);
    one("operationDB_rows_in_in_progress_state", "Operations in progress.", in_progress);
    one("operationDB_rows_in_completed_state", "Operations that have completed.", completed);
    one("operationDB_rows_in_error_state", "Operations that have failed.", failed);
    one("total_operationDB_rows_in_complete_state", "Operations that have completed or failed.", completed + failed);
    one("operationDB_rows_in_non_complete_state", "Operations that are waiting or in progress.", waiting + in_progress);
    one("operationDB_completedState", "Operations that have completed.", completed);
    one("operationDB_failedState", "Operations that have failed.", failed);
    one("switchboard_gitops_moves", "Placements that are moving between Argo CD instances.", counts.moves);
    let labelled = |label: &str, value: u64| [(format!("{{gitopsDeployment=\"{label}\"}}"), value as f64)];
    gauge("active_gitopsDeployments", "GitOpsDeployments.", &labelled("success", counts.deployments));
    gauge("gitopsDeployments_failures", "GitOpsDeployments with an error.", &labelled("fail", counts.failures));
    let each = |value: &dyn Fn(&FleetInstance) -> f64| -> Vec<(String, f64)> {
        counts.instances.iter().map(|entry| (labels(counts, entry), value(entry))).collect()
    };
    let limit = |of: fn(&crate::rows::fleet::Member) -> i64| {
        move |entry: &FleetInstance| entry.candidate.member.as_ref().map_or(0.0, |member| of(member) as f64)
    };
    let name = "switchboard_gitops_instance_applications";
    gauge(name, "Applications of an Argo CD instance.", &each(&|entry| entry.candidate.applications as f64));
    let name = "switchboard_gitops_instance_applications_limit";
    gauge(
        name,
        "Maximum number of Applications of an Argo CD instance.",
        &each(&limit(|member| member.max_applications)),
    );
    let name = "switchboard_gitops_instance_placements";
    gauge(name, "Placements of an Argo CD instance.", &each(&|entry| entry.candidate.environments as f64));
    let name = "switchboard_gitops_instance_placements_limit";
    gauge(
        name,
        "Maximum number of placements of an Argo CD instance.",
        &each(&limit(|member| member.max_environments)),
    );
    if let Some(engine) = counts.engine {
        gauge("number_of_operationsCR", "Operation resources.", &[(String::new(), engine.operations as f64)]);
        let help = "Percentage of Applications that Argo CD compared in the last three minutes.";
        gauge("gitops_argocd_apps_reconciled_percent", help, &[(String::new(), engine.reconciled_percent)]);
    }
    page
}

#[cfg(test)]
mod tests;
