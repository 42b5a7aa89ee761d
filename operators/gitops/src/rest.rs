//! API section of the GitOps Service: applications, managed environments, operations, engine instances, webhook events.
//!
//! Kubernetes resources are the source of truth: writing an application writes its GitOpsDeployment. Data that exists
//! only in the database is read from it and never written.

pub mod webhook;

pub(crate) mod rows;
pub(crate) mod text;

use axum::Router;
use axum::routing::{get, post};
use kube::Client;
use serde_json::Value;
use switchboard_http::auth::{Caller, ResourceAttributes};
use switchboard_http::body::ResourceId;
use switchboard_http::cluster::{ClusterApi, NamedResource};
use switchboard_http::guard::Guard;
use switchboard_http::openapi::OpenApiPart;
use switchboard_http::problem::{ProblemDetails, ProblemKind};
use switchboard_http::{ApiSection, mount};
use switchboard_sql::{Ledger, LedgerError, SecretString};

use crate::{deployment, environment, instance, operation, resources};

/// API group of the kinds.
pub(crate) const GROUP: &str = crate::kinds::GROUP;

pub(crate) const APPLICATIONS: NamedResource =
    NamedResource { resource: &resources::DEPLOYMENTS, display_name: "application" };
pub(crate) const ENVIRONMENTS: NamedResource =
    NamedResource { resource: &resources::ENVIRONMENTS, display_name: "managed environment" };
pub(crate) const SYNC_RUNS: NamedResource =
    NamedResource { resource: &resources::SYNC_RUNS, display_name: "operation" };
pub(crate) const SECRETS: NamedResource = NamedResource { resource: &resources::SECRETS, display_name: "Secret" };
pub(crate) const NAMESPACES: NamedResource = NamedResource { resource: &resources::NAMESPACES, display_name: "tenant" };

/// Virtual resource for the RBAC rules on operations and engine instances, which are database rows without a Kubernetes
/// resource.
pub(crate) const OPERATIONS: &str = "operations";
pub(crate) const INSTANCES: &str = "gitopsengineinstances";

/// State shared by the handlers.
#[derive(Clone)]
pub struct GitOpsApi {
    pub(crate) guard: Guard,
    /// Resources of the tenants.
    pub(crate) tenants: ClusterApi,
    /// Applications of Argo CD.
    pub(crate) engines: ClusterApi,
    pub(crate) ledger: Ledger,
    pub(crate) webhook_secret: Option<SecretString>,
}

impl GitOpsApi {
    /// Creates the API for a cluster of tenants and the database that the backend writes.
    pub fn new(guard: Guard, tenants: Client, ledger: Ledger) -> GitOpsApi {
        let api = ClusterApi::new(tenants);
        GitOpsApi { guard, engines: api.clone(), tenants: api, ledger, webhook_secret: None }
    }

    /// Sets the client of the cluster that runs Argo CD, if it is not the tenants' cluster.
    pub fn with_engine_client(mut self, client: Client) -> GitOpsApi {
        self.engines = ClusterApi::new(client);
        self
    }

    /// Sets the secret that signs webhook events for all tenants.
    pub fn with_webhook_secret(mut self, secret: Option<SecretString>) -> GitOpsApi {
        self.webhook_secret = secret.filter(|secret| !secret.is_empty());
        self
    }

    /// Returns an error unless the caller may perform the verb on all resources of a tenant.
    pub(crate) async fn authorize(
        &self,
        who: &Caller,
        verb: &'static str,
        of: &NamedResource,
        tenant: &str,
    ) -> Result<(), ProblemDetails> {
        self.guard.authorize(who, &ResourceAttributes::new(verb, &of.resource.group, &of.resource.plural, tenant)).await
    }

    /// Returns an error unless the caller may perform the verb on one resource.
    pub(crate) async fn authorize_one(
        &self,
        who: &Caller,
        verb: &'static str,
        of: &NamedResource,
        id: &ResourceId,
    ) -> Result<(), ProblemDetails> {
        self.guard
            .authorize(
                who,
                &ResourceAttributes::new(verb, &of.resource.group, &of.resource.plural, &id.tenant).with_name(&id.name),
            )
            .await
    }
}

/// Creates a router for the GitOps Service's API alone.
pub fn router(service: GitOpsApi) -> Router {
    mount(vec![section(service)])
}

/// Creates the API section: the routes and their OpenAPI description.
pub fn section(service: GitOpsApi) -> ApiSection {
    let guard = service.guard.clone();
    let protected = Router::new()
        .route("/application", get(deployment::rest::list).post(deployment::rest::create))
        .route(
            "/application/{id}",
            get(deployment::rest::read).put(deployment::rest::replace).delete(deployment::rest::remove),
        )
        .route("/managedenvironment", get(environment::rest::list).post(environment::rest::create))
        .route(
            "/managedenvironment/{id}",
            get(environment::rest::read).put(environment::rest::replace).delete(environment::rest::remove),
        )
        .route("/operation", get(operation::rest::list).post(operation::rest::create))
        .route("/operation/{id}", get(operation::rest::read).delete(operation::rest::remove))
        .route("/engineinstance", get(instance::rest::list))
        .route("/engineinstance/{id}", get(instance::rest::read))
        .with_state(service.clone());
    let open = Router::new().route("/webhookevent", post(webhook::receive)).with_state(service);
    ApiSection { router: guard.protect(protected).merge(open), document: document_part() }
}

/// Creates the OpenAPI description of the routes.
pub fn document_part() -> OpenApiPart {
    let parts: [fn(OpenApiPart) -> OpenApiPart; 5] = [
        deployment::rest::describe,
        environment::rest::describe,
        operation::rest::describe,
        instance::rest::describe,
        webhook::describe,
    ];
    parts.iter().fold(OpenApiPart::default(), |part, describe| describe(part))
}

/// Problem details for a database error. The error itself is only logged.
pub(crate) fn database_problem(error: LedgerError) -> ProblemDetails {
    tracing::warn!(error = %error, "could not read the database");
    ProblemDetails::new(ProblemKind::Unavailable, "the database does not respond").retry_after_s(5)
}

/// Problem details for an object that does not match its CustomResourceDefinition.
pub(crate) fn unreadable_object(of: &NamedResource) -> ProblemDetails {
    ProblemDetails::new(ProblemKind::Unavailable, format!("could not read an object of kind {}", of.resource.plural))
        .retry_after_s(5)
}

/// Reads the objects of a list. Skips an unreadable object, so that it cannot hide other tenants' objects.
pub(crate) fn readable_objects<T>(
    of: &NamedResource,
    items: &[Value],
    read: impl Fn(&Value) -> Result<T, ProblemDetails>,
) -> Vec<T> {
    let one = |item: &Value| match read(item) {
        Ok(found) => Some(found),
        Err(_) => {
            tracing::warn!(
                object = ResourceId::of(meta(item, "namespace"), meta(item, "name")),
                "skipped an unreadable object in a list of {}",
                of.resource.plural
            );
            None
        }
    };
    items.iter().filter_map(one).collect()
}

pub(crate) fn meta<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"][key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
