//! Applications. Each application is a GitOpsDeployment, which stays the source of truth.

mod document;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{ETAG, IF_MATCH, LOCATION};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_http::auth::Caller;
use switchboard_http::body::{JsonBody, QueryParams, ResourceId};
use switchboard_http::page::{PageQuery, ResultPage};
use switchboard_http::problem::{ProblemDetails, ProblemKind};

pub use document::describe;

use crate::deployment::kind::{DeploymentDestination, DeploymentSource, FINALIZER, KIND, SyncMode, SyncPolicy};
use crate::kinds::{API_VERSION, DeploymentCondition, GitOpsDeployment};
use crate::repository::without_login;
use crate::rest::{APPLICATIONS, GitOpsApi, meta, readable_objects, rows, text, unreadable_object};

/// Request body of an application.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplicationInput {
    /// The tenant's namespace.
    pub tenant: String,
    /// Name of the application.
    pub name: String,
    /// URL of the repository.
    #[serde(rename = "gitRepositoryURL")]
    pub repository: String,
    /// Branch, tag or commit; empty for the repository's default branch.
    #[serde(default)]
    pub git_revision: String,
    /// The directory in the repository.
    pub git_path: String,
    /// Name of a managed environment of the tenant; empty for the tenant's own namespace.
    #[serde(default)]
    pub destination_cluster: String,
    /// Target namespace in the destination cluster.
    #[serde(default)]
    pub namespace: String,
    /// Whether Argo CD syncs every change automatically.
    pub sync_policy_automatic: bool,
    /// Sync options of Argo CD.
    #[serde(default)]
    pub sync_options: Vec<String>,
    /// Whether a deletion waits until all deployed resources are deleted.
    #[serde(default)]
    pub wait_for_removal: bool,
}

/// Application in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationEntry {
    id: String,
    tenant: String,
    name: String,
    source: DeploymentSource,
    destination: DeploymentDestination,
    health: String,
    sync_status: String,
}

/// Response body of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationOutput {
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
    conditions: Vec<DeploymentCondition>,
    created_on: String,
    deleting: bool,
    /// Known from the database only.
    engine_instance: Option<String>,
}

impl ApplicationInput {
    /// Validates the request and returns the GitOpsDeployment.
    pub fn deployment(&self) -> Result<Value, ProblemDetails> {
        text::tenant(&self.tenant)?;
        text::name("name", &self.name)?;
        text::require_plain(&[
            ("gitRepositoryURL", &self.repository),
            ("gitRevision", &self.git_revision),
            ("gitPath", &self.git_path),
            ("destinationCluster", &self.destination_cluster),
        ])?;
        if self.repository.is_empty() {
            return Err(ProblemDetails::new(ProblemKind::Invalid, "gitRepositoryURL is empty"));
        }
        if !self.destination_cluster.is_empty() {
            text::name("destinationCluster", &self.destination_cluster)?;
        }
        let mut deployment = GitOpsDeployment::default();
        let spec = &mut deployment.spec;
        spec.source.repo_url = self.repository.clone();
        spec.source.path = self.git_path.clone();
        spec.source.target_revision = self.git_revision.clone();
        spec.destination.environment = self.destination_cluster.clone();
        spec.destination.namespace = self.namespace.clone();
        spec.r#type = if self.sync_policy_automatic { "automated" } else { "manual" }.to_string();
        spec.sync_policy =
            (!self.sync_options.is_empty()).then(|| SyncPolicy { sync_options: self.sync_options.clone() });
        deployment.validate().map_err(|why| ProblemDetails::new(ProblemKind::Invalid, why))?;
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

fn deployment(object: &Value) -> Result<GitOpsDeployment, ProblemDetails> {
    serde_json::from_value(object.clone()).map_err(|_| unreadable_object(&APPLICATIONS))
}

fn entry(object: &Value) -> Result<ApplicationEntry, ProblemDetails> {
    let GitOpsDeployment { metadata, spec, status } = deployment(object)?;
    Ok(ApplicationEntry {
        id: ResourceId::of(&metadata.namespace, &metadata.name),
        tenant: metadata.namespace,
        name: metadata.name,
        source: DeploymentSource { repo_url: without_login(&spec.source.repo_url), ..spec.source },
        destination: spec.destination,
        health: status.health.status,
        sync_status: status.sync.status,
    })
}

fn application(object: &Value, engine_instance: Option<String>) -> Result<ApplicationOutput, ProblemDetails> {
    let found = deployment(object)?;
    let sync_options = found.sync_options().to_vec();
    let sync_policy_automatic = found.mode() == Some(SyncMode::Automated);
    let GitOpsDeployment { metadata, spec, status } = found;
    Ok(ApplicationOutput {
        id: ResourceId::of(&metadata.namespace, &metadata.name),
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

/// Responds with one application and its version as the `ETag`.
async fn respond(service: &GitOpsApi, object: &Value) -> Result<Response, ProblemDetails> {
    let row = rows::application(&service.ledger, meta(object, "uid")).await?;
    let body = Json(application(object, row.map(|(_, instance)| instance.id.to_string()))?);
    Ok(([(ETAG, format!("\"{}\"", meta(object, "resourceVersion")))], body).into_response())
}

/// `GET /application`
pub async fn list(
    State(service): State<GitOpsApi>,
    caller: Caller,
    QueryParams(paging): QueryParams<PageQuery>,
) -> Result<Json<ResultPage<ApplicationEntry>>, ProblemDetails> {
    let tenant = text::tenant_filter(paging.tenant.as_deref())?;
    let (limit, from) = (paging.limit()?, paging.from()?);
    service.authorize(&caller, "list", &APPLICATIONS, tenant).await?;
    let page = service.tenants.list(&APPLICATIONS, tenant, limit, from).await?;
    let entries = readable_objects(&APPLICATIONS, &page.items, entry);
    Ok(Json(ResultPage { entries, r#continue: page.next }))
}

/// `POST /application`
pub async fn create(
    State(service): State<GitOpsApi>,
    caller: Caller,
    JsonBody(input): JsonBody<ApplicationInput>,
) -> Result<Response, ProblemDetails> {
    let object = input.deployment()?;
    service.authorize(&caller, "create", &APPLICATIONS, &input.tenant).await?;
    let made = service.tenants.create(&APPLICATIONS, &input.tenant, &object).await?;
    let id = ResourceId::of(&input.tenant, &input.name);
    tracing::info!(user = caller.name, application = id, "created an application");
    let mut answer = respond(&service, &made).await?;
    *answer.status_mut() = StatusCode::CREATED;
    if let Ok(location) = format!("{}/application/{id}", switchboard_http::PREFIX).parse() {
        answer.headers_mut().insert(LOCATION, location);
    }
    Ok(answer)
}

/// `GET /application/{id}`
pub async fn read(
    State(service): State<GitOpsApi>,
    caller: Caller,
    id: ResourceId,
) -> Result<Response, ProblemDetails> {
    service.authorize_one(&caller, "get", &APPLICATIONS, &id).await?;
    let object = service.tenants.get(&APPLICATIONS, &id.tenant, &id.name).await?;
    respond(&service, &object).await
}

/// `PUT /application/{id}`
pub async fn replace(
    State(service): State<GitOpsApi>,
    caller: Caller,
    id: ResourceId,
    headers: HeaderMap,
    JsonBody(input): JsonBody<ApplicationInput>,
) -> Result<Response, ProblemDetails> {
    if (&input.tenant, &input.name) != (&id.tenant, &id.name) {
        return Err(ProblemDetails::new(ProblemKind::Invalid, "tenant and name differ from the id"));
    }
    let wish = input.deployment()?;
    let version = if_match(&headers)?;
    service.authorize_one(&caller, "update", &APPLICATIONS, &id).await?;
    let mut object = service.tenants.get(&APPLICATIONS, &id.tenant, &id.name).await?;
    require_version(&object, version.as_deref())?;
    let before = deployment(&object)?.spec.source.repo_url;
    object["spec"] = wish["spec"].clone();
    // Responses omit the login of a URL, so a request without it keeps the stored login.
    if input.repository == without_login(&before) {
        object["spec"]["source"]["repoURL"] = json!(before);
    }
    let others = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let mut finalizers: Vec<Value> = others.into_iter().filter(|finalizer| finalizer != FINALIZER).collect();
    finalizers.extend(input.wait_for_removal.then(|| json!(FINALIZER)));
    object["metadata"]["finalizers"] = json!(finalizers);
    let written = service.tenants.replace(&APPLICATIONS, &id.tenant, &id.name, &object).await;
    let written = written.map_err(|problem| version_problem(problem, version.is_some()))?;
    tracing::info!(user = caller.name, application = ResourceId::of(&id.tenant, &id.name), "replaced an application");
    respond(&service, &written).await
}

/// `DELETE /application/{id}`
pub async fn remove(
    State(service): State<GitOpsApi>,
    caller: Caller,
    id: ResourceId,
    headers: HeaderMap,
) -> Result<StatusCode, ProblemDetails> {
    let version = if_match(&headers)?;
    service.authorize_one(&caller, "delete", &APPLICATIONS, &id).await?;
    let object = service.tenants.get(&APPLICATIONS, &id.tenant, &id.name).await?;
    require_version(&object, version.as_deref())?;
    let options = match &version {
        Some(version) => json!({ "preconditions": { "resourceVersion": version } }),
        None => json!({}),
    };
    let deleted = service.tenants.delete(&APPLICATIONS, &id.tenant, &id.name, &options).await;
    deleted.map_err(|problem| version_problem(problem, version.is_some()))?;
    tracing::info!(user = caller.name, application = ResourceId::of(&id.tenant, &id.name), "deleted an application");
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the version from `If-Match`; `None` matches every version.
pub(crate) fn if_match(headers: &HeaderMap) -> Result<Option<String>, ProblemDetails> {
    let Some(header) = headers.get(IF_MATCH) else { return Ok(None) };
    let text = header.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let version = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let version = version.filter(|version| !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()));
    version.map(|version| Some(version.to_string())).ok_or_else(|| {
        ProblemDetails::new(ProblemKind::Malformed, "If-Match is not an ETag")
            .hint("send the ETag header of the last response unchanged")
    })
}

pub(crate) fn require_version(object: &Value, version: Option<&str>) -> Result<(), ProblemDetails> {
    match version {
        Some(version) if version != meta(object, "resourceVersion") => {
            Err(ProblemDetails::new(ProblemKind::PreconditionFailed, "the object was changed after that version"))
        }
        _ => Ok(()),
    }
}

/// Turns a conflict into a failed precondition if the client sent `If-Match`.
pub(crate) fn version_problem(problem: ProblemDetails, named: bool) -> ProblemDetails {
    if named && problem.kind() == ProblemKind::Conflict {
        return ProblemDetails::new(ProblemKind::PreconditionFailed, "the object was changed after that version");
    }
    problem
}

#[cfg(test)]
mod tests;
