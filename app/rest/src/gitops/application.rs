//! Applications: each is a GitOpsDeployment, which stays the source of truth.

mod document;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{ETAG, IF_MATCH, LOCATION};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_gitops::kinds::deployment::{Destination, FINALIZER, KIND, Mode, Source, SyncPolicy};
use switchboard_gitops::kinds::{API_VERSION, Condition, Deployment};
use switchboard_gitops::repository::without_login;

pub use document::describe;

use super::{APPLICATIONS, Service, meta, readable, rows, text, unreadable};
use crate::auth::Caller;
use crate::body::{Asked, Id, Input};
use crate::page::{Page, Paging};
use crate::problem::{Kind, Problem};

/// What somebody wants deployed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wanted {
    /// Whose.
    pub tenant: String,
    /// Its name.
    pub name: String,
    /// The repository.
    #[serde(rename = "gitRepositoryURL")]
    pub repository: String,
    /// Branch, tag or commit; empty is the repository's default branch.
    #[serde(default)]
    pub git_revision: String,
    /// The directory in it.
    pub git_path: String,
    /// The name of a managed environment of the tenant; empty is the tenant's own namespace.
    #[serde(default)]
    pub destination_cluster: String,
    /// The namespace there.
    #[serde(default)]
    pub namespace: String,
    /// Whether it is deployed whenever something changed.
    pub sync_policy_automatic: bool,
    /// Options for Argo CD.
    #[serde(default)]
    pub sync_options: Vec<String>,
    /// Whether a deletion waits until all that was deployed is gone.
    #[serde(default)]
    pub wait_for_removal: bool,
}

/// An application as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    id: String,
    tenant: String,
    name: String,
    source: Source,
    destination: Destination,
    health: String,
    sync_status: String,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Application {
    id: String,
    tenant: String,
    name: String,
    #[serde(rename = "gitRepositoryURL")]
    repository: String,
    git_revision: String,
    git_path: String,
    destination_cluster: String,
    namespace: String,
    sync_policy_automatic: bool,
    sync_options: Vec<String>,
    wait_for_removal: bool,
    health: String,
    health_message: String,
    sync_status: String,
    revision: String,
    conditions: Vec<Condition>,
    created_on: String,
    deleting: bool,
    /// Only the database knows it.
    engine_instance: Option<String>,
}

impl Wanted {
    /// The GitOpsDeployment it is, judged.
    pub fn deployment(&self) -> Result<Value, Problem> {
        text::tenant(&self.tenant)?;
        text::name("name", &self.name)?;
        text::plain(&[
            ("gitRepositoryURL", &self.repository),
            ("gitRevision", &self.git_revision),
            ("gitPath", &self.git_path),
            ("destinationCluster", &self.destination_cluster),
        ])?;
        if self.repository.is_empty() {
            return Err(Problem::new(Kind::Invalid, "gitRepositoryURL is empty"));
        }
        if !self.destination_cluster.is_empty() {
            text::name("destinationCluster", &self.destination_cluster)?;
        }
        let mut deployment = Deployment::default();
        let spec = &mut deployment.spec;
        spec.source.repo_url = self.repository.clone();
        spec.source.path = self.git_path.clone();
        spec.source.target_revision = self.git_revision.clone();
        spec.destination.environment = self.destination_cluster.clone();
        spec.destination.namespace = self.namespace.clone();
        spec.r#type = if self.sync_policy_automatic { "automated" } else { "manual" }.to_string();
        spec.sync_policy =
            (!self.sync_options.is_empty()).then(|| SyncPolicy { sync_options: self.sync_options.clone() });
        deployment.judge().map_err(|why| Problem::new(Kind::Invalid, why))?;
        let mut object = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "name": self.name, "namespace": self.tenant },
            "spec": deployment.spec,
        });
        if self.wait_for_removal {
            object["metadata"]["finalizers"] = json!([FINALIZER]);
        }
        Ok(object)
    }
}

fn deployment(object: &Value) -> Result<Deployment, Problem> {
    serde_json::from_value(object.clone()).map_err(|_| unreadable(&APPLICATIONS))
}

fn entry(object: &Value) -> Result<Entry, Problem> {
    let Deployment { metadata, spec, status } = deployment(object)?;
    Ok(Entry {
        id: Id::of(&metadata.namespace, &metadata.name),
        tenant: metadata.namespace,
        name: metadata.name,
        source: Source { repo_url: without_login(&spec.source.repo_url), ..spec.source },
        destination: spec.destination,
        health: status.health.status,
        sync_status: status.sync.status,
    })
}

fn application(object: &Value, engine_instance: Option<String>) -> Result<Application, Problem> {
    let found = deployment(object)?;
    let sync_options = found.sync_options().to_vec();
    let sync_policy_automatic = found.mode() == Some(Mode::Automated);
    let Deployment { metadata, spec, status } = found;
    Ok(Application {
        id: Id::of(&metadata.namespace, &metadata.name),
        repository: without_login(&spec.source.repo_url),
        git_revision: spec.source.target_revision,
        git_path: spec.source.path,
        destination_cluster: spec.destination.environment,
        namespace: spec.destination.namespace,
        sync_policy_automatic,
        sync_options,
        wait_for_removal: metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER),
        health: status.health.status,
        health_message: status.health.message,
        sync_status: status.sync.status,
        revision: status.sync.revision,
        conditions: status.conditions,
        created_on: meta(object, "creationTimestamp").to_string(),
        deleting: metadata.deletion_timestamp.is_some(),
        engine_instance,
        tenant: metadata.namespace,
        name: metadata.name,
    })
}

/// One application, with the version it is of.
async fn shown(service: &Service, object: &Value) -> Result<Response, Problem> {
    let row = rows::application(&service.ledger, meta(object, "uid")).await?;
    let body = Json(application(object, row.map(|(_, instance)| instance.id.to_string()))?);
    Ok(([(ETAG, format!("\"{}\"", meta(object, "resourceVersion")))], body).into_response())
}

/// `GET /application`
pub async fn list(
    State(service): State<Service>,
    caller: Caller,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Page<Entry>>, Problem> {
    let tenant = text::asked_tenant(paging.tenant.as_deref())?;
    let (limit, from) = (paging.limit()?, paging.from()?);
    service.authorize(&caller, "list", &APPLICATIONS, tenant).await?;
    let piece = service.tenants.list(&APPLICATIONS, tenant, limit, from).await?;
    let entries = readable(&APPLICATIONS, &piece.items, entry);
    Ok(Json(Page { entries, r#continue: piece.next }))
}

/// `POST /application`
pub async fn create(
    State(service): State<Service>,
    caller: Caller,
    Input(wanted): Input<Wanted>,
) -> Result<Response, Problem> {
    let object = wanted.deployment()?;
    service.authorize(&caller, "create", &APPLICATIONS, &wanted.tenant).await?;
    let made = service.tenants.create(&APPLICATIONS, &wanted.tenant, &object).await?;
    let id = Id::of(&wanted.tenant, &wanted.name);
    tracing::info!(user = caller.name, application = id, "created an application");
    let mut answer = shown(&service, &made).await?;
    *answer.status_mut() = StatusCode::CREATED;
    if let Ok(location) = format!("{}/application/{id}", crate::PREFIX).parse() {
        answer.headers_mut().insert(LOCATION, location);
    }
    Ok(answer)
}

/// `GET /application/{id}`
pub async fn read(State(service): State<Service>, caller: Caller, id: Id) -> Result<Response, Problem> {
    service.authorize_one(&caller, "get", &APPLICATIONS, &id).await?;
    let object = service.tenants.get(&APPLICATIONS, &id.tenant, &id.name).await?;
    shown(&service, &object).await
}

/// `PUT /application/{id}`
pub async fn replace(
    State(service): State<Service>,
    caller: Caller,
    id: Id,
    headers: HeaderMap,
    Input(wanted): Input<Wanted>,
) -> Result<Response, Problem> {
    if (&wanted.tenant, &wanted.name) != (&id.tenant, &id.name) {
        return Err(Problem::new(Kind::Invalid, "tenant and name are not those of the id"));
    }
    let wish = wanted.deployment()?;
    let version = if_match(&headers)?;
    service.authorize_one(&caller, "update", &APPLICATIONS, &id).await?;
    let mut object = service.tenants.get(&APPLICATIONS, &id.tenant, &id.name).await?;
    same_version(&object, version.as_deref())?;
    let before = deployment(&object)?.spec.source.repo_url;
    object["spec"] = wish["spec"].clone();
    // What is shown without its login comes back so, and is no wish to have it removed.
    if wanted.repository == without_login(&before) {
        object["spec"]["source"]["repoURL"] = json!(before);
    }
    let others = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let mut finalizers: Vec<Value> = others.into_iter().filter(|finalizer| finalizer != FINALIZER).collect();
    finalizers.extend(wanted.wait_for_removal.then(|| json!(FINALIZER)));
    object["metadata"]["finalizers"] = json!(finalizers);
    let written = service.tenants.replace(&APPLICATIONS, &id.tenant, &id.name, &object).await;
    let written = written.map_err(|problem| stale(problem, version.is_some()))?;
    tracing::info!(user = caller.name, application = Id::of(&id.tenant, &id.name), "replaced an application");
    shown(&service, &written).await
}

/// `DELETE /application/{id}`
pub async fn remove(
    State(service): State<Service>,
    caller: Caller,
    id: Id,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let version = if_match(&headers)?;
    service.authorize_one(&caller, "delete", &APPLICATIONS, &id).await?;
    let object = service.tenants.get(&APPLICATIONS, &id.tenant, &id.name).await?;
    same_version(&object, version.as_deref())?;
    let options = match &version {
        Some(version) => json!({ "preconditions": { "resourceVersion": version } }),
        None => json!({}),
    };
    let deleted = service.tenants.delete(&APPLICATIONS, &id.tenant, &id.name, &options).await;
    deleted.map_err(|problem| stale(problem, version.is_some()))?;
    tracing::info!(user = caller.name, application = Id::of(&id.tenant, &id.name), "deleted an application");
    Ok(StatusCode::NO_CONTENT)
}

/// The version `If-Match` names; none is any.
pub(super) fn if_match(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(header) = headers.get(IF_MATCH) else { return Ok(None) };
    let text = header.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let version = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let version = version.filter(|version| !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()));
    version.map(|version| Some(version.to_string())).ok_or_else(|| {
        Problem::new(Kind::Malformed, "If-Match is no ETag").hint("send the header ETag of the last answer as it was")
    })
}

pub(super) fn same_version(object: &Value, version: Option<&str>) -> Result<(), Problem> {
    match version {
        Some(version) if version != meta(object, "resourceVersion") => {
            Err(Problem::new(Kind::PreconditionFailed, "it was changed since"))
        }
        _ => Ok(()),
    }
}

/// Whoever named a version is told that it is another now; anybody else that somebody was faster.
pub(super) fn stale(problem: Problem, named: bool) -> Problem {
    if named && problem.kind() == Kind::Conflict {
        return Problem::new(Kind::PreconditionFailed, "it was changed since");
    }
    problem
}

#[cfg(test)]
mod tests;
