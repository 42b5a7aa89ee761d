//! Managed environments: each is a GitOpsDeploymentManagedEnvironment and a Secret with a kubeconfig, which is written and never read.

mod config;
mod document;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{ETAG, LOCATION};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_gitops::kinds::environment::{CONDITION, EnvironmentSpec, KIND, SECRET_KEY, SECRET_TYPE};
use switchboard_gitops::kinds::{API_VERSION, ManagedEnvironment, Truth};
use switchboard_gitops::repository::without_login;
use switchboard_ledger::Secret;

pub use document::describe;

use super::application::{if_match, same_version, stale};
use super::{ENVIRONMENTS, SECRETS, Service, meta, readable, rows, text, unreadable};
use crate::auth::Caller;
use crate::body::{Asked, Id, Input};
use crate::page::{Page, Paging};
use crate::problem::{Kind, Problem};

/// The most namespaces an environment is restricted to.
const MAX_NAMESPACES: usize = 256;

/// What the name of a Secret ends with that was made for an environment.
const SECRET_SUFFIX: &str = "-kubeconfig";

/// A cluster somebody wants to deploy to.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wanted {
    /// Whose.
    pub tenant: String,
    /// Its name.
    pub name: String,
    /// Its API server.
    pub url: String,
    /// A kubeconfig, as text. Never answered.
    #[serde(default, deserialize_with = "config::secret")]
    pub config: Option<Secret>,
    /// The context of it that is meant.
    #[serde(default)]
    pub config_context: Option<String>,
    /// In place of a kubeconfig, a Secret of the tenant that holds one.
    #[serde(default)]
    pub credentials_secret: Option<String>,
    /// Whether the server's certificate is not checked.
    #[serde(default, rename = "allowInsecureSkipTLSVerify")]
    pub allow_insecure: bool,
    /// Whether a service account of our own is made there.
    #[serde(default)]
    pub create_new_service_account: bool,
    /// Namespaces that may be deployed to; none is all.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Whether the cluster takes kinds without a namespace, too. A tenant's project permits none of them.
    #[serde(default)]
    pub cluster_resources: bool,
}

/// A managed environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    id: String,
    tenant: String,
    name: String,
    url: String,
    credentials_secret: String,
    /// Only the database knows it.
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

/// What is written for a wish.
pub struct Written {
    /// The environment.
    pub object: Value,
    /// The kubeconfig for a Secret of ours.
    pub config: Option<Secret>,
}

impl Wanted {
    /// What is written, judged.
    pub fn written(&self) -> Result<Written, Problem> {
        let invalid = |why: &str| Problem::new(Kind::Invalid, why);
        text::tenant(&self.tenant)?;
        text::name("name", &self.name)?;
        text::plain(&[("url", &self.url)])?;
        let (secret, config) = match (&self.credentials_secret, &self.config) {
            (Some(secret), None) if self.config_context.is_none() => (secret.clone(), None),
            (Some(_), None) => return Err(invalid("configContext goes with config")),
            (None, Some(given)) => {
                let config = config::narrowed(given.expose(), self.config_context.as_deref())?;
                (format!("{}{SECRET_SUFFIX}", self.name), Some(config))
            }
            _ => return Err(invalid("give either config or credentialsSecret")),
        };
        text::name("credentialsSecret", &secret)?;
        if self.namespaces.len() > MAX_NAMESPACES {
            return Err(invalid("there are more than 256 namespaces"));
        }
        for namespace in &self.namespaces {
            text::tenant(namespace).map_err(|_| invalid("namespaces: not all are names of namespaces"))?;
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
        environment.judge().map_err(|(_, why)| invalid(&why))?;
        let object = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "name": self.name, "namespace": self.tenant },
            "spec": spec,
        });
        Ok(Written { object, config })
    }
}

/// The Secret of an environment. It goes with its environment: the cluster collects it.
fn secret_of(environment: &Value, config: &Secret) -> Value {
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

fn environment(object: &Value, config_context: Option<String>) -> Result<Environment, Problem> {
    let found: ManagedEnvironment = serde_json::from_value(object.clone()).map_err(|_| unreadable(&ENVIRONMENTS))?;
    let condition = found.status.conditions.iter().find(|condition| condition.r#type == CONDITION);
    let connection_status = match condition.map(|condition| condition.status) {
        Some(Truth::True) => "Successful",
        Some(Truth::False) => "Failed",
        _ => "Unknown",
    };
    let (connection_reason, connection_message) =
        condition.map(|condition| (condition.reason.clone(), condition.message.clone())).unwrap_or_default();
    Ok(Environment {
        id: Id::of(&found.metadata.namespace, &found.metadata.name),
        deleting: found.metadata.is_deleted(),
        tenant: found.metadata.namespace,
        name: found.metadata.name,
        // One that was written before such were refused.
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

async fn shown(service: &Service, object: &Value) -> Result<Response, Problem> {
    let context = rows::context(&service.ledger, meta(object, "uid")).await?;
    let body = Json(environment(object, context)?);
    Ok(([(ETAG, format!("\"{}\"", meta(object, "resourceVersion")))], body).into_response())
}

/// `GET /managedenvironment`
pub async fn list(
    State(service): State<Service>,
    caller: Caller,
    Asked(paging): Asked<Paging>,
) -> Result<Json<Page<Environment>>, Problem> {
    let tenant = text::asked_tenant(paging.tenant.as_deref())?;
    let (limit, from) = (paging.limit()?, paging.from()?);
    service.authorize(&caller, "list", &ENVIRONMENTS, tenant).await?;
    let piece = service.tenants.list(&ENVIRONMENTS, tenant, limit, from).await?;
    let entries = readable(&ENVIRONMENTS, &piece.items, |item| environment(item, None));
    Ok(Json(Page { entries, r#continue: piece.next }))
}

/// `POST /managedenvironment`
///
/// The environment comes first, so that its Secret belongs to it from the start; the backend looks again when the Secret is there.
pub async fn create(
    State(service): State<Service>,
    caller: Caller,
    Input(wanted): Input<Wanted>,
) -> Result<Response, Problem> {
    let written = wanted.written()?;
    service.authorize(&caller, "create", &ENVIRONMENTS, &wanted.tenant).await?;
    if written.config.is_some() {
        service.authorize(&caller, "create", &SECRETS, &wanted.tenant).await?;
    }
    let made = service.tenants.create(&ENVIRONMENTS, &wanted.tenant, &written.object).await?;
    if let Some(config) = &written.config
        && let Err(problem) = service.tenants.create(&SECRETS, &wanted.tenant, &secret_of(&made, config)).await
    {
        let own = json!({ "preconditions": { "uid": meta(&made, "uid") } });
        service.tenants.delete(&ENVIRONMENTS, &wanted.tenant, &wanted.name, &own).await?;
        return Err(problem);
    }
    let id = Id::of(&wanted.tenant, &wanted.name);
    tracing::info!(user = caller.name, environment = id, "created a managed environment");
    let mut answer = shown(&service, &made).await?;
    *answer.status_mut() = StatusCode::CREATED;
    if let Ok(location) = format!("{}/managedenvironment/{id}", crate::PREFIX).parse() {
        answer.headers_mut().insert(LOCATION, location);
    }
    Ok(answer)
}

/// `GET /managedenvironment/{id}`
pub async fn read(State(service): State<Service>, caller: Caller, id: Id) -> Result<Response, Problem> {
    service.authorize_one(&caller, "get", &ENVIRONMENTS, &id).await?;
    let object = service.tenants.get(&ENVIRONMENTS, &id.tenant, &id.name).await?;
    shown(&service, &object).await
}

/// `PUT /managedenvironment/{id}`: the Secret first, so that nobody meets the new cluster with the old credential for long.
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
    let written = wanted.written()?;
    let version = if_match(&headers)?;
    service.authorize_one(&caller, "update", &ENVIRONMENTS, &id).await?;
    if written.config.is_some() {
        for verb in ["create", "update"] {
            service.authorize(&caller, verb, &SECRETS, &id.tenant).await?;
        }
    }
    let mut object = service.tenants.get(&ENVIRONMENTS, &id.tenant, &id.name).await?;
    same_version(&object, version.as_deref())?;
    object["spec"] = written.object["spec"].clone();
    if let Some(config) = &written.config {
        keep_secret(&service, &object, config).await?;
    }
    let replaced = service.tenants.replace(&ENVIRONMENTS, &id.tenant, &id.name, &object).await;
    let replaced = replaced.map_err(|problem| stale(problem, version.is_some()))?;
    tracing::info!(user = caller.name, environment = Id::of(&id.tenant, &id.name), "replaced a managed environment");
    shown(&service, &replaced).await
}

/// Writes the Secret of an environment. One that belongs to somebody else is left alone.
async fn keep_secret(service: &Service, environment: &Value, config: &Secret) -> Result<(), Problem> {
    let wanted = secret_of(environment, config);
    let (namespace, name) = (meta(&wanted, "namespace"), meta(&wanted, "name"));
    let Some(found) = service.tenants.find(&SECRETS, namespace, name).await? else {
        return service.tenants.create(&SECRETS, namespace, &wanted).await.map(drop);
    };
    if found["metadata"]["ownerReferences"][0]["uid"] != environment["metadata"]["uid"] {
        return Err(Problem::new(Kind::Conflict, format!("Secret `{name}` belongs to something else"))
            .hint("name it as credentialsSecret if it is meant, or delete it"));
    }
    let patch = json!({ "stringData": wanted["stringData"] });
    service.tenants.merge(&SECRETS, namespace, name, &patch).await.map(drop)
}

/// `DELETE /managedenvironment/{id}`
pub async fn remove(
    State(service): State<Service>,
    caller: Caller,
    id: Id,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let version = if_match(&headers)?;
    service.authorize_one(&caller, "delete", &ENVIRONMENTS, &id).await?;
    let object = service.tenants.get(&ENVIRONMENTS, &id.tenant, &id.name).await?;
    same_version(&object, version.as_deref())?;
    let options = match &version {
        Some(version) => json!({ "preconditions": { "resourceVersion": version } }),
        None => json!({}),
    };
    let deleted = service.tenants.delete(&ENVIRONMENTS, &id.tenant, &id.name, &options).await;
    deleted.map_err(|problem| stale(problem, version.is_some()))?;
    tracing::info!(user = caller.name, environment = Id::of(&id.tenant, &id.name), "deleted a managed environment");
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests;
