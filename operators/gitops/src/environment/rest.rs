//! Managed environments. Each environment is a GitOpsDeploymentManagedEnvironment and a Secret with a kubeconfig; the
//! API writes the Secret and never reads it.

mod config;
mod document;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{ETAG, LOCATION};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_http::auth::Caller;
use switchboard_http::body::{JsonBody, QueryParams, ResourceId};
use switchboard_http::page::{PageQuery, ResultPage};
use switchboard_http::problem::{ProblemDetails, ProblemKind};
use switchboard_sql::SecretString;

pub use document::describe;

use crate::deployment::rest::{if_match, require_version, version_problem};
use crate::environment::kind::{CONDITION, EnvironmentSpec, KIND, SECRET_KEY, SECRET_TYPE};
use crate::kinds::{API_VERSION, ConditionStatus, ManagedEnvironment};
use crate::repository::without_login;
use crate::rest::{ENVIRONMENTS, GitOpsApi, SECRETS, meta, readable_objects, rows, text, unreadable_object};

/// Maximum number of namespaces an environment can be restricted to.
const MAX_NAMESPACES: usize = 256;

/// Name suffix of the Secret that the API creates for an environment.
const SECRET_SUFFIX: &str = "-kubeconfig";

/// Request body of a managed environment.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentInput {
    /// The tenant's namespace.
    pub tenant: String,
    /// Name of the environment.
    pub name: String,
    /// URL of the API server.
    pub url: String,
    /// Kubeconfig, as text. Responses never contain it.
    #[serde(default, deserialize_with = "config::secret")]
    pub config: Option<SecretString>,
    /// Context of the kubeconfig to use.
    #[serde(default)]
    pub config_context: Option<String>,
    /// Name of a Secret of the tenant that holds a kubeconfig, as an alternative to `config`.
    #[serde(default)]
    pub credentials_secret: Option<String>,
    /// Whether the server's certificate is not verified.
    #[serde(default, rename = "allowInsecureSkipTLSVerify")]
    pub allow_insecure: bool,
    /// Whether the service creates its own service account in the cluster.
    #[serde(default)]
    pub create_new_service_account: bool,
    /// Namespaces that can be deployed to; empty for all namespaces.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Whether cluster-scoped resources can be deployed, too. A tenant's AppProject permits none of them.
    #[serde(default)]
    pub cluster_resources: bool,
}

/// Response body of a managed environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentOutput {
    id: String,
    tenant: String,
    name: String,
    url: String,
    credentials_secret: String,
    /// Known from the database only.
    #[serde(skip_serializing_if = "Option::is_none")]
    config_context: Option<String>,
    #[serde(rename = "allowInsecureSkipTLSVerify")]
    allow_insecure: bool,
    create_new_service_account: bool,
    namespaces: Vec<String>,
    cluster_resources: bool,
    connection_status: &'static str,
    connection_reason: String,
    connection_message: String,
    created_on: String,
    deleting: bool,
}

/// Kubernetes objects of an environment.
pub struct EnvironmentObjects {
    /// The GitOpsDeploymentManagedEnvironment.
    pub object: Value,
    /// The kubeconfig for the Secret that the API creates.
    pub config: Option<SecretString>,
}

impl EnvironmentInput {
    /// Validates the request and returns the objects to write.
    pub fn objects(&self) -> Result<EnvironmentObjects, ProblemDetails> {
        let invalid = |why: &str| ProblemDetails::new(ProblemKind::Invalid, why);
        text::tenant(&self.tenant)?;
        text::name("name", &self.name)?;
        text::require_plain(&[("url", &self.url)])?;
        let (secret, config) = match (&self.credentials_secret, &self.config) {
            (Some(secret), None) if self.config_context.is_none() => (secret.clone(), None),
            (Some(_), None) => return Err(invalid("configContext requires config")),
            (None, Some(given)) => {
                let config = config::select_context(given.expose(), self.config_context.as_deref())?;
                (format!("{}{SECRET_SUFFIX}", self.name), Some(config))
            }
            _ => return Err(invalid("exactly one of config and credentialsSecret is required")),
        };
        text::name("credentialsSecret", &secret)?;
        if self.namespaces.len() > MAX_NAMESPACES {
            return Err(invalid("namespaces has more than 256 entries"));
        }
        for namespace in &self.namespaces {
            text::tenant(namespace).map_err(|_| invalid("namespaces has an invalid namespace name"))?;
        }
        let spec = EnvironmentSpec {
            api_url: self.url.clone(),
            credentials_secret: secret,
            allow_insecure: self.allow_insecure,
            create_new_service_account: self.create_new_service_account,
            namespaces: self.namespaces.clone(),
            cluster_resources: self.cluster_resources,
        };
        let environment = ManagedEnvironment { spec: spec.clone(), ..ManagedEnvironment::default() };
        if self.url.is_empty() {
            return Err(invalid("url is empty"));
        }
        environment.validate().map_err(|(_, why)| invalid(&why))?;
        let object = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "name": self.name, "namespace": self.tenant },
            "spec": spec,
        });
        Ok(EnvironmentObjects { object, config })
    }
}

/// Secret of an environment. An owner reference makes the garbage collector delete it with the environment.
fn secret_of(environment: &Value, config: &SecretString) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": SECRET_TYPE,
        "metadata": {
            "name": environment["spec"]["credentialsSecret"],
            "namespace": environment["metadata"]["namespace"],
            "ownerReferences": [{
                "apiVersion": API_VERSION, "kind": KIND,
                "name": environment["metadata"]["name"], "uid": environment["metadata"]["uid"],
            }],
        },
        "stringData": { SECRET_KEY: config.expose() },
    })
}

fn environment(object: &Value, config_context: Option<String>) -> Result<EnvironmentOutput, ProblemDetails> {
    let found: ManagedEnvironment =
        serde_json::from_value(object.clone()).map_err(|_| unreadable_object(&ENVIRONMENTS))?;
    let condition = found.status.conditions.iter().find(|condition| condition.r#type == CONDITION);
    let connection_status = match condition.map(|condition| condition.status) {
        Some(ConditionStatus::True) => "Successful",
        Some(ConditionStatus::False) => "Failed",
        _ => "Unknown",
    };
    let (connection_reason, connection_message) =
        condition.map(|condition| (condition.reason.clone(), condition.message.clone())).unwrap_or_default();
    Ok(EnvironmentOutput {
        id: ResourceId::of(&found.metadata.namespace, &found.metadata.name),
        deleting: found.metadata.is_deleted(),
        tenant: found.metadata.namespace,
        name: found.metadata.name,
        // Objects from before the API rejected a login in the URL can contain one.
        url: without_login(&found.spec.api_url),
        credentials_secret: found.spec.credentials_secret,
        config_context,
        allow_insecure: found.spec.allow_insecure,
        create_new_service_account: found.spec.create_new_service_account,
        namespaces: found.spec.namespaces,
        cluster_resources: found.spec.cluster_resources,
        connection_status,
        connection_reason,
        connection_message,
        created_on: meta(object, "creationTimestamp").to_string(),
    })
}

async fn respond(service: &GitOpsApi, object: &Value) -> Result<Response, ProblemDetails> {
    let context = rows::context(&service.ledger, meta(object, "uid")).await?;
    let body = Json(environment(object, context)?);
    Ok(([(ETAG, format!("\"{}\"", meta(object, "resourceVersion")))], body).into_response())
}

/// `GET /managedenvironment`
pub async fn list(
    State(service): State<GitOpsApi>,
    caller: Caller,
    QueryParams(paging): QueryParams<PageQuery>,
) -> Result<Json<ResultPage<EnvironmentOutput>>, ProblemDetails> {
    let tenant = text::tenant_filter(paging.tenant.as_deref())?;
    let (limit, from) = (paging.limit()?, paging.from()?);
    service.authorize(&caller, "list", &ENVIRONMENTS, tenant).await?;
    let page = service.tenants.list(&ENVIRONMENTS, tenant, limit, from).await?;
    let entries = readable_objects(&ENVIRONMENTS, &page.items, |item| environment(item, None));
    Ok(Json(ResultPage { entries, r#continue: page.next }))
}

/// `POST /managedenvironment`
///
/// Creates the environment first, so that the Secret has an owner from the start; the backend requeues when the Secret
/// appears.
pub async fn create(
    State(service): State<GitOpsApi>,
    caller: Caller,
    JsonBody(input): JsonBody<EnvironmentInput>,
) -> Result<Response, ProblemDetails> {
    let objects = input.objects()?;
    service.authorize(&caller, "create", &ENVIRONMENTS, &input.tenant).await?;
    if objects.config.is_some() {
        service.authorize(&caller, "create", &SECRETS, &input.tenant).await?;
    }
    let made = service.tenants.create(&ENVIRONMENTS, &input.tenant, &objects.object).await?;
    if let Some(config) = &objects.config
        && let Err(problem) = service.tenants.create(&SECRETS, &input.tenant, &secret_of(&made, config)).await
    {
        let own = json!({ "preconditions": { "uid": meta(&made, "uid") } });
        service.tenants.delete(&ENVIRONMENTS, &input.tenant, &input.name, &own).await?;
        return Err(problem);
    }
    let id = ResourceId::of(&input.tenant, &input.name);
    tracing::info!(user = caller.name, environment = id, "created a managed environment");
    let mut answer = respond(&service, &made).await?;
    *answer.status_mut() = StatusCode::CREATED;
    if let Ok(location) = format!("{}/managedenvironment/{id}", switchboard_http::PREFIX).parse() {
        answer.headers_mut().insert(LOCATION, location);
    }
    Ok(answer)
}

/// `GET /managedenvironment/{id}`
pub async fn read(
    State(service): State<GitOpsApi>,
    caller: Caller,
    id: ResourceId,
) -> Result<Response, ProblemDetails> {
    service.authorize_one(&caller, "get", &ENVIRONMENTS, &id).await?;
    let object = service.tenants.get(&ENVIRONMENTS, &id.tenant, &id.name).await?;
    respond(&service, &object).await
}

/// `PUT /managedenvironment/{id}`: writes the Secret first, to keep the time short in which the new cluster is
/// contacted with the old credential.
pub async fn replace(
    State(service): State<GitOpsApi>,
    caller: Caller,
    id: ResourceId,
    headers: HeaderMap,
    JsonBody(input): JsonBody<EnvironmentInput>,
) -> Result<Response, ProblemDetails> {
    if (&input.tenant, &input.name) != (&id.tenant, &id.name) {
        return Err(ProblemDetails::new(ProblemKind::Invalid, "tenant and name differ from the id"));
    }
    let objects = input.objects()?;
    let version = if_match(&headers)?;
    service.authorize_one(&caller, "update", &ENVIRONMENTS, &id).await?;
    if objects.config.is_some() {
        for verb in ["create", "update"] {
            service.authorize(&caller, verb, &SECRETS, &id.tenant).await?;
        }
    }
    let mut object = service.tenants.get(&ENVIRONMENTS, &id.tenant, &id.name).await?;
    require_version(&object, version.as_deref())?;
    object["spec"] = objects.object["spec"].clone();
    if let Some(config) = &objects.config {
        write_secret(&service, &object, config).await?;
    }
    let replaced = service.tenants.replace(&ENVIRONMENTS, &id.tenant, &id.name, &object).await;
    let replaced = replaced.map_err(|problem| version_problem(problem, version.is_some()))?;
    tracing::info!(
        user = caller.name,
        environment = ResourceId::of(&id.tenant, &id.name),
        "replaced a managed environment"
    );
    respond(&service, &replaced).await
}

/// Writes the Secret of an environment. A Secret with another owner is not changed.
async fn write_secret(service: &GitOpsApi, environment: &Value, config: &SecretString) -> Result<(), ProblemDetails> {
    let input = secret_of(environment, config);
    let (namespace, name) = (meta(&input, "namespace"), meta(&input, "name"));
    let Some(found) = service.tenants.find(&SECRETS, namespace, name).await? else {
        return service.tenants.create(&SECRETS, namespace, &input).await.map(drop);
    };
    if found["metadata"]["ownerReferences"][0]["uid"] != environment["metadata"]["uid"] {
        return Err(ProblemDetails::new(ProblemKind::Conflict, format!("Secret `{name}` belongs to another owner"))
            .hint("give its name as credentialsSecret, or delete it"));
    }
    let patch = json!({ "stringData": input["stringData"] });
    service.tenants.merge(&SECRETS, namespace, name, &patch).await.map(drop)
}

/// `DELETE /managedenvironment/{id}`
pub async fn remove(
    State(service): State<GitOpsApi>,
    caller: Caller,
    id: ResourceId,
    headers: HeaderMap,
) -> Result<StatusCode, ProblemDetails> {
    let version = if_match(&headers)?;
    service.authorize_one(&caller, "delete", &ENVIRONMENTS, &id).await?;
    let object = service.tenants.get(&ENVIRONMENTS, &id.tenant, &id.name).await?;
    require_version(&object, version.as_deref())?;
    let options = match &version {
        Some(version) => json!({ "preconditions": { "resourceVersion": version } }),
        None => json!({}),
    };
    let deleted = service.tenants.delete(&ENVIRONMENTS, &id.tenant, &id.name, &options).await;
    deleted.map_err(|problem| version_problem(problem, version.is_some()))?;
    tracing::info!(
        user = caller.name,
        environment = ResourceId::of(&id.tenant, &id.name),
        "deleted a managed environment"
    );
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests;
