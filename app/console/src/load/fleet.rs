//! Argo CD instances, what they deploy and where to, from the objects of the cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::state::Word;

use super::units::{self, Units};
use crate::fleet::Member;
use crate::piece::object_href;
use crate::problem::Problem;
use crate::pulse;
use crate::source::Source;
use crate::veil::Veil;

/// How many applications a page shows.
pub const PAGE: usize = 50;

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

/// The fleet.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetPage {
    /// Changes with what is shown.
    #[serde(skip)]
    pub version: String,
    /// Whether the cluster knows any of its kinds.
    pub served: bool,
    /// Argo CD instances: the namespaces Applications live in.
    pub instances: Vec<Instance>,
    /// Applications and deployments of this page, the worst first.
    pub applications: Vec<Application>,
    /// Which page, from 1.
    pub page: usize,
    /// How many there are in all.
    pub total: usize,
    /// How many stand how.
    pub states: BTreeMap<String, usize>,
    /// Where to.
    pub environments: Vec<Environment>,
    /// What the agent is asked to do.
    pub operations: Vec<Operation>,
    /// Units and their moves.
    #[serde(flatten)]
    pub units: Units,
}

/// An Argo CD instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// Its namespace.
    pub name: String,
    /// Applications it has.
    pub applications: usize,
    /// Those that are synced and healthy.
    pub well: usize,
    /// What the GitOps Service's database says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<Member>,
}

/// An Application or a GitOpsDeployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Application {
    /// `Application` or `GitOpsDeployment`.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its page.
    pub href: String,
    /// One of the five states.
    pub state: Word,
    /// In Argo CD's word.
    pub sync: String,
    /// In Argo CD's word.
    pub health: String,
    /// The repository, without a login.
    pub repository: String,
    /// Path and revision.
    pub revision: String,
    /// Where to.
    pub destination: String,
    /// What is wrong.
    pub message: String,
    /// Whether it is deployed only when somebody asks for it.
    pub manual: bool,
}

/// A cluster to deploy to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    /// `namespace/name`.
    pub name: String,
    /// Its page.
    pub href: String,
    /// Its API server.
    pub url: String,
    /// One of the five states.
    pub state: Word,
    /// What is said of it.
    pub message: String,
}

/// Something the agent is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// `namespace/name`.
    pub name: String,
    /// Its page.
    pub href: String,
}

/// Where what is: deployments and environments on the tenants' cluster, Applications on that of the Argo CDs.
#[derive(Clone, Debug)]
pub struct Places {
    /// The tenants' cluster.
    pub tenants: ClusterName,
    /// The cluster of the Argo CDs.
    pub engines: ClusterName,
}

/// The fleet, of the clusters it is on.
pub async fn load(source: &Source, page: usize, filter: &str) -> Result<FleetPage, Problem> {
    let (state, veil) = (source.state().await?, source.veil().await?);
    let places = Places { tenants: source.home.clone(), engines: source.engines().clone() };
    let applications = source.all(&places.engines, &APPLICATIONS).await?;
    let deployments = source.all(&places.tenants, &DEPLOYMENTS).await?;
    let environments = source.all(&places.tenants, &ENVIRONMENTS).await?.unwrap_or_default();
    let operations = source.all(&places.engines, &OPERATIONS).await?.unwrap_or_default();
    let served = applications.is_some() || deployments.is_some();
    let (applications, deployments) = (applications.unwrap_or_default(), deployments.unwrap_or_default());
    let mut view = of(&places, &applications, &deployments, page, filter, &veil);
    view.version = pulse::version(&state);
    view.served = served;
    view.environments = environments.iter().map(|one| environment(&places.tenants, one, &veil)).collect();
    view.operations = operations
        .iter()
        .map(|one| Operation { name: named(one), href: href(&places.engines, &OPERATIONS, one) })
        .collect();
    if let Some(fleet) = source.fleet() {
        // A database that is away takes nothing from what the cluster says.
        view.units = match fleet.look().await {
            Ok(standing) => units::of(standing, filter, state.now, &mut view.instances, &veil),
            Err(unread) => Units { hosted: true, unread: Some(unread), ..Units::default() },
        };
    }
    Ok(view)
}

/// How Applications are called that the GitOps Service makes, before the uid of their deployment.
const MADE: &str = "gitopsdepl-";

/// A page of applications and deployments.
pub fn of(
    places: &Places,
    applications: &[Value],
    deployments: &[Value],
    page: usize,
    filter: &str,
    veil: &Veil,
) -> FleetPage {
    let mut instances: BTreeMap<String, Instance> = BTreeMap::new();
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    let mut all: Vec<(Word, &'static str, &Value)> = Vec::with_capacity(applications.len() + deployments.len());
    // What Argo CD makes of a deployment is that deployment: it is counted once, by the name its tenant gave it.
    let made: BTreeSet<String> =
        deployments.iter().map(|one| format!("{MADE}{}", text(one, "/metadata/uid"))).collect();
    for one in applications {
        let state = standing(one);
        let name = text(one, "/metadata/namespace").to_string();
        let instance = instances.entry(name.clone()).or_insert_with(|| Instance { name, ..Instance::default() });
        instance.applications += 1;
        instance.well += usize::from(state == Word::Ready);
        if !made.contains(text(one, "/metadata/name")) {
            all.push((state, "Application", one));
        }
    }
    all.extend(deployments.iter().map(|one| (standing(one), "GitOpsDeployment", one)));
    all.iter().for_each(|(state, _, _)| *states.entry(state.to_string()).or_default() += 1);
    all.retain(|(_, _, one)| filter.is_empty() || named(one).contains(filter));
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| named(a.2).cmp(&named(b.2))));
    let (total, page) = (all.len(), page.max(1));
    let shown = all.into_iter().skip((page - 1).saturating_mul(PAGE)).take(PAGE);
    FleetPage {
        instances: instances.into_values().collect(),
        applications: shown.map(|(state, kind, one)| application(places, kind, state, one, veil)).collect(),
        states,
        page,
        total,
        served: true,
        ..FleetPage::default()
    }
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn named(object: &Value) -> String {
    format!("{}/{}", text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

fn href(cluster: &ClusterName, kind: &Resource, object: &Value) -> String {
    let table = TableKey { cluster: cluster.clone(), resource: kind.clone().into() };
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    object_href(&ObjectKey { table, namespace: namespace.into(), name: name.into() })
}

/// Argo CD's words as ours.
fn standing(object: &Value) -> Word {
    match (text(object, "/status/sync/status"), text(object, "/status/health/status")) {
        (_, "Degraded") => Word::Failing,
        (_, "Missing") | ("OutOfSync", "Suspended") => Word::Blocked,
        ("Synced", "Healthy") => Word::Ready,
        (_, "Progressing") | ("OutOfSync", _) => Word::Working,
        _ if error(object).is_some() => Word::Failing,
        _ => Word::Waiting,
    }
}

/// What is wrong, in the words of a condition.
fn error(object: &Value) -> Option<&str> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let wrong = |one: &&Value| {
        text(one, "/type").contains("Error") && text(one, "/status") != "False" && !text(one, "/message").is_empty()
    };
    conditions.iter().find(wrong).map(|one| text(one, "/message"))
}

fn application(places: &Places, kind: &'static str, state: Word, one: &Value, veil: &Veil) -> Application {
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
    let message = error(one).unwrap_or_else(|| text(one, "/status/health/message"));
    Application {
        kind,
        namespace: text(one, "/metadata/namespace").to_string(),
        name: text(one, "/metadata/name").to_string(),
        href: href(cluster, resource, one),
        state,
        sync: text(one, "/status/sync/status").to_string(),
        health: text(one, "/status/health/status").to_string(),
        repository: veil.text(text(one, "/spec/source/repoURL")),
        revision: format!("{} {:.10}", text(one, "/spec/source/path"), revision),
        destination: veil.text(&if namespace.is_empty() {
            place.to_string()
        } else {
            format!("{place} / {namespace}")
        }),
        message: veil.text(message),
        manual: is_manual(one),
    }
}

/// Whether a GitOpsDeployment is deployed only when somebody asks for it.
pub fn is_manual(deployment: &Value) -> bool {
    text(deployment, "/spec/type").eq_ignore_ascii_case("manual")
}

fn environment(cluster: &ClusterName, one: &Value, veil: &Veil) -> Environment {
    let condition = one.pointer("/status/conditions/0").unwrap_or(&Value::Null);
    let state = match text(condition, "/status") {
        "True" => Word::Ready,
        "False" => Word::Failing,
        _ => Word::Working,
    };
    let (reason, message) = (text(condition, "/reason"), text(condition, "/message"));
    Environment {
        name: named(one),
        href: href(cluster, &ENVIRONMENTS, one),
        url: veil.text(text(one, "/spec/apiURL")),
        state,
        message: veil.text(if message.is_empty() { reason } else { message }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_is_found_on_the_cluster_it_is_on() {
        let places = Places { tenants: ClusterName::new("hub"), engines: ClusterName::new("engines") };
        let named =
            |name: &str, how: &str| json!({"metadata": {"namespace": "team", "name": name}, "spec": {"type": how}});
        let view =
            of(&places, &[named("a", "")], &[named("d", "Manual"), named("e", "automated")], 1, "", &Veil::default());
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
}
