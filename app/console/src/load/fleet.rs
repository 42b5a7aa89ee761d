//! Argo CD instances, applications and environments, from the objects of the clusters.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use switchboard_gitops::state::{
    ResourceState, StateLabel, application_health, application_state, environment_state, is_manual,
};
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::state::Health;
use switchboard_kernel::topology::ClusterName;

use super::placements::{self, PlacementsView};
use crate::components::object_href;
use crate::fleet::FleetInstanceSummary;
use crate::problem::ConsoleProblem;
use crate::redact::PageRedactor;
use crate::source::ConsoleSource;
use crate::state_cache;
use crate::table::{SortKey, TableQuery, TableRow};

/// Number of applications on a page.
pub const PAGE: usize = 50;

/// Name of the table of applications in the parameter `sort`.
pub const APPLICATION_TABLE: &str = "applications";

const APPLICATIONS: Resource = Resource::namespaced("argoproj.io", "v1alpha1", "Application", "applications");
const DEPLOYMENTS: Resource =
    Resource::namespaced("managed-gitops.redhat.com", "v1alpha1", "GitOpsDeployment", "gitopsdeployments");
const ENVIRONMENTS: Resource = Resource::namespaced(
    "managed-gitops.redhat.com",
    "v1alpha1",
    "GitOpsDeploymentManagedEnvironment",
    "gitopsdeploymentmanagedenvironments",
);
const OPERATIONS: Resource = Resource::namespaced("managed-gitops.redhat.com", "v1alpha1", "Operation", "operations");

/// Data of the fleet page.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetPage {
    /// Version of the data.
    #[serde(skip)]
    pub version: String,
    /// Whether the clusters serve any of the kinds.
    pub served: bool,
    /// Argo CD instances: the namespaces of Applications.
    pub instances: Vec<InstanceRow>,
    /// Applications and deployments of this page, worst first.
    pub applications: Vec<ApplicationRow>,
    /// Number of the page, from 1.
    pub page: usize,
    /// Total number of applications and deployments.
    pub total: usize,
    /// Number of applications and deployments by state.
    pub states: BTreeMap<String, usize>,
    /// Environments.
    pub environments: Vec<EnvironmentRow>,
    /// Open Operations of the agent.
    pub operations: Vec<OperationRow>,
    /// Placements and moves.
    #[serde(flatten)]
    pub placements: PlacementsView,
}

/// Argo CD instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceRow {
    /// Namespace of the instance.
    pub name: String,
    /// Number of Applications.
    pub applications: usize,
    /// Number of Applications that are synced and healthy.
    pub ready: usize,
    /// Entry in the GitOps Service's database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<FleetInstanceSummary>,
}

/// Application or GitOpsDeployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationRow {
    /// `Application` or `GitOpsDeployment`.
    pub kind: &'static str,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Link to the object's page.
    pub href: String,
    /// State word.
    pub state: Health,
    /// Sync status of Argo CD.
    pub sync: String,
    /// Health status of Argo CD; `Unknown` if the application was never rendered.
    pub health: String,
    /// URL of the repository, without a login.
    pub repository: String,
    /// Path and revision.
    pub revision: String,
    /// Destination cluster and namespace.
    pub destination: String,
    /// Reason for the state.
    pub message: String,
    /// Whether the application is synced only on request.
    pub manual: bool,
}

/// Environment: a cluster to deploy to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentRow {
    /// `namespace/name`.
    pub name: String,
    /// Link to the object's page.
    pub href: String,
    /// URL of the API server.
    pub url: String,
    /// State word.
    pub state: Health,
    /// Reason for the state.
    pub message: String,
}

/// Operation of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationRow {
    /// `namespace/name`.
    pub name: String,
    /// Link to the object's page.
    pub href: String,
}

/// Clusters of the fleet: the tenants' cluster has deployments and environments, the other has the Applications.
#[derive(Clone, Debug)]
pub struct FleetClusters {
    /// Cluster of the tenants.
    pub tenants: ClusterName,
    /// Cluster of the Argo CD instances.
    pub engines: ClusterName,
}

/// Loads the fleet page.
pub async fn load(source: &ConsoleSource, page: usize, query: &TableQuery) -> Result<FleetPage, ConsoleProblem> {
    let (state, redactor) = (source.state().await?, source.redactor().await?);
    let places = FleetClusters { tenants: source.home.clone(), engines: source.engines().clone() };
    let applications = source.all(&places.engines, &APPLICATIONS).await?;
    let deployments = source.all(&places.tenants, &DEPLOYMENTS).await?;
    let environments = source.all(&places.tenants, &ENVIRONMENTS).await?.unwrap_or_default();
    let operations = source.all(&places.engines, &OPERATIONS).await?.unwrap_or_default();
    let served = applications.is_some() || deployments.is_some();
    let (applications, deployments) = (applications.unwrap_or_default(), deployments.unwrap_or_default());
    let mut view = fleet_page(&places, &applications, &deployments, page, query, &redactor);
    view.version = state_cache::version(&state);
    view.served = served;
    view.environments = environments.iter().map(|one| environment(&places.tenants, one, &redactor)).collect();
    view.operations = operations
        .iter()
        .map(|one| OperationRow { name: qualified_name(one), href: href(&places.engines, &OPERATIONS, one) })
        .collect();
    if let Some(fleet) = source.fleet() {
        // An unavailable database does not affect the data of the clusters.
        view.placements = match fleet.status().await {
            Ok(standing) => placements::placements(standing, query, state.now, &mut view.instances, &redactor),
            Err(read_error) => {
                PlacementsView { hosted: true, read_error: Some(read_error), ..PlacementsView::default() }
            }
        };
    }
    Ok(view)
}

/// Prefix of the Applications that the GitOps Service creates; the uid of the deployment follows.
const MADE: &str = "gitopsdepl-";

/// Returns a page of applications and deployments.
pub fn fleet_page(
    places: &FleetClusters,
    applications: &[Value],
    deployments: &[Value],
    page: usize,
    query: &TableQuery,
    redactor: &PageRedactor,
) -> FleetPage {
    let mut instances: BTreeMap<String, InstanceRow> = BTreeMap::new();
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    let mut all: Vec<Deployed<'_>> = Vec::with_capacity(applications.len() + deployments.len());
    // The Application of a deployment is not counted separately; the deployment has the name that the tenant chose.
    let placed: BTreeSet<String> =
        deployments.iter().map(|one| format!("{MADE}{}", text(one, "/metadata/uid"))).collect();
    for one in applications {
        let state = application_state(one);
        let name = text(one, "/metadata/namespace").to_string();
        let instance = instances.entry(name.clone()).or_insert_with(|| InstanceRow { name, ..InstanceRow::default() });
        instance.applications += 1;
        instance.ready += usize::from(state.label == StateLabel::Ready);
        if !placed.contains(text(one, "/metadata/name")) {
            all.push(Deployed { state, kind: "Application", object: one });
        }
    }
    let deployed = |object| Deployed { state: application_state(object), kind: "GitOpsDeployment", object };
    all.extend(deployments.iter().map(deployed));
    all.iter().for_each(|one| *states.entry(one.state.label.to_string()).or_default() += 1);
    all.sort_by(|a, b| {
        let worst = health(b.state.label).cmp(&health(a.state.label));
        worst.then_with(|| qualified_name(a.object).cmp(&qualified_name(b.object)))
    });
    query.arrange(APPLICATION_TABLE, &mut all);
    let (total, page) = (all.len(), page.max(1));
    let shown = all.into_iter().skip((page - 1).saturating_mul(PAGE)).take(PAGE);
    FleetPage {
        instances: instances.into_values().collect(),
        applications: shown.map(|one| application(places, one.kind, one.state, one.object, redactor)).collect(),
        states,
        page,
        total,
        served: true,
        ..FleetPage::default()
    }
}

/// Application or GitOpsDeployment that may be shown.
struct Deployed<'v> {
    state: ResourceState,
    kind: &'static str,
    object: &'v Value,
}

impl TableRow for Deployed<'_> {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        let field = |pointer| SortKey::text(text(self.object, pointer));
        Some(match column {
            "name" => field("/metadata/name"),
            "state" => SortKey::state(health(self.state.label)),
            "sync" => field("/status/sync/status"),
            "health" => SortKey::text(application_health(self.object)),
            "from" => {
                // A login in the URL is not shown, so it does not count.
                let url = text(self.object, "/spec/source/repoURL");
                SortKey::text(url.rsplit_once('@').map_or(url, |(_, host)| host))
            }
            "to" => field("/spec/destination/namespace"),
            _ => return None,
        })
    }

    fn filter_text(&self) -> String {
        let (sync, health) = (text(self.object, "/status/sync/status"), application_health(self.object));
        format!("{} {} {} {sync} {health}", qualified_name(self.object), self.kind, self.state.label)
    }
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn qualified_name(object: &Value) -> String {
    format!("{}/{}", text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

fn href(cluster: &ClusterName, kind: &Resource, object: &Value) -> String {
    let table = TableKey { cluster: cluster.clone(), resource: kind.clone().into() };
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    object_href(&ObjectKey { table, namespace: namespace.into(), name: name.into() })
}

/// Converts the label of a state.
fn health(label: StateLabel) -> Health {
    match label {
        StateLabel::Ready => Health::Ready,
        StateLabel::Working => Health::Working,
        StateLabel::Waiting => Health::Waiting,
        StateLabel::Blocked => Health::Blocked,
        StateLabel::Failing => Health::Failing,
    }
}

fn application(
    places: &FleetClusters,
    kind: &'static str,
    state: ResourceState,
    one: &Value,
    redactor: &PageRedactor,
) -> ApplicationRow {
    let (cluster, resource) = match kind {
        "Application" => (&places.engines, &APPLICATIONS),
        _ => (&places.tenants, &DEPLOYMENTS),
    };
    let revision = Some(text(one, "/status/sync/revision")).filter(|revision| !revision.is_empty());
    let revision = revision.unwrap_or_else(|| text(one, "/spec/source/targetRevision"));
    let place = ["/spec/destination/environment", "/spec/destination/name", "/spec/destination/server"];
    let place =
        place.iter().map(|pointer| text(one, pointer)).find(|place| !place.is_empty()).unwrap_or("its own namespace");
    let namespace = text(one, "/spec/destination/namespace");
    ApplicationRow {
        kind,
        namespace: text(one, "/metadata/namespace").to_string(),
        name: text(one, "/metadata/name").to_string(),
        href: href(cluster, resource, one),
        state: health(state.label),
        sync: text(one, "/status/sync/status").to_string(),
        health: application_health(one).to_string(),
        repository: redactor.text(text(one, "/spec/source/repoURL")),
        revision: format!("{} {:.10}", text(one, "/spec/source/path"), revision),
        destination: redactor.text(&if namespace.is_empty() {
            place.to_string()
        } else {
            format!("{place} / {namespace}")
        }),
        message: redactor.text(&state.reason),
        manual: is_manual(one),
    }
}

fn environment(cluster: &ClusterName, one: &Value, redactor: &PageRedactor) -> EnvironmentRow {
    let state = environment_state(one);
    EnvironmentRow {
        name: qualified_name(one),
        href: href(cluster, &ENVIRONMENTS, one),
        url: redactor.text(text(one, "/spec/apiURL")),
        state: health(state.label),
        message: redactor.text(&state.reason),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn instance_is_found_on_its_cluster() {
        let places = FleetClusters { tenants: ClusterName::new("hub"), engines: ClusterName::new("engines") };
        let named =
            |name: &str, how: &str| json!({"metadata": {"namespace": "team", "name": name}, "spec": {"type": how}});
        let view = fleet_page(
            &places,
            &[named("a", "")],
            &[named("d", "Manual"), named("e", "automated")],
            1,
            &TableQuery::default(),
            &PageRedactor::default(),
        );
        let hrefs: Vec<(&str, bool)> = view.applications.iter().map(|one| (&*one.href, one.manual)).collect();
        assert_eq!(
            hrefs,
            [
                ("/objects/engines/applications.argoproj.io/team/a", false),
                ("/objects/hub/gitopsdeployments.managed-gitops.redhat.com/team/d", true),
                ("/objects/hub/gitopsdeployments.managed-gitops.redhat.com/team/e", false),
            ]
        );
    }

    /// The page and `gitops get` show the same state, and no row is failing and healthy at once.
    #[test]
    fn state_and_health_are_those_of_the_command_line() {
        let places = FleetClusters { tenants: ClusterName::new("hub"), engines: ClusterName::new("engines") };
        let chain = "rpc error: code = Unknown desc = nope: app path does not exist";
        let broken = json!({
            "metadata": { "namespace": "team", "name": "web" }, "spec": { "type": "automated" },
            "status": {
                "sync": { "status": "Unknown" }, "health": { "status": "Healthy" },
                "conditions": [{ "type": "ComparisonError", "status": "True", "message": chain }],
            },
        });
        let mut application = broken.clone();
        application["spec"] = json!({ "syncPolicy": { "automated": {} } });
        let refused = json!({
            "metadata": { "namespace": "team", "name": "api" }, "spec": { "type": "automated" },
            "status": { "conditions": [{ "type": "ErrorOccurred", "status": "True", "message": "no environment" }] },
        });
        let view = fleet_page(
            &places,
            &[application],
            &[broken, refused],
            1,
            &TableQuery::default(),
            &PageRedactor::default(),
        );
        let rows: Vec<(&str, Health, &str, &str)> =
            view.applications.iter().map(|one| (&*one.name, one.state, &*one.health, &*one.message)).collect();
        assert_eq!(
            rows,
            [
                ("api", Health::Blocked, "", "no environment"),
                ("web", Health::Blocked, "Unknown", chain),
                ("web", Health::Blocked, "Unknown", chain),
            ]
        );
        assert_eq!(view.states, BTreeMap::from([("Blocked".to_string(), 3)]));
    }
}
