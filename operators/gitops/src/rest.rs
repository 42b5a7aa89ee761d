//! API section of the GitOps Service: applications, managed environments, operations, engine instances, webhook events.
//!
//! Kubernetes resources are the source of truth: writing an application writes its GitOpsDeployment. Data that exists
//! only in the database is read from it and never written.

pub mod application;
pub mod environment;
pub mod instance;
pub mod operation;
pub mod webhook;

mod rows;
mod text;

use axum::Router;
use axum::routing::{get, post};
use kube::Client;
use serde_json::Value;
use switchboard_sql::{Ledger, LedgerError, SecretString};

use crate::auth::{Caller, ResourceAttributes};
use crate::body::ResourceId;
use crate::cluster::{ClusterApi, ResourcePath};
use crate::guard::Guard;
use crate::openapi::OpenApiPart;
use crate::problem::{ProblemDetails, ProblemKind};
use crate::{ApiSection, mount};

/// API group of the kinds.
const GROUP: &str = switchboard_gitops::kinds::GROUP;

/// API path of the group.
const ROOT: &str = "/apis/managed-gitops.redhat.com/v1alpha1";

const APPLICATIONS: ResourcePath =
    ResourcePath { root: ROOT, group: GROUP, plural: "gitopsdeployments", display_name: "application" };
const ENVIRONMENTS: ResourcePath = ResourcePath {
    root: ROOT,
    group: GROUP,
    plural: "gitopsdeploymentmanagedenvironments",
    display_name: "managed environment",
};
const SYNC_RUNS: ResourcePath =
    ResourcePath { root: ROOT, group: GROUP, plural: "gitopsdeploymentsyncruns", display_name: "operation" };
const SECRETS: ResourcePath = ResourcePath { root: "/api/v1", group: "", plural: "secrets", display_name: "Secret" };
const NAMESPACES: ResourcePath =
    ResourcePath { root: "/api/v1", group: "", plural: "namespaces", display_name: "tenant" };

/// Virtual resource for the RBAC rules on operations and engine instances, which are database rows without a Kubernetes
/// resource.
const OPERATIONS: &str = "operations";
const INSTANCES: &str = "gitopsengineinstances";

/// State shared by the handlers.
#[derive(Clone)]
pub struct GitOpsApi {
    guard: Guard,
    /// Resources of the tenants.
    tenants: ClusterApi,
    /// Applications of Argo CD.
    engines: ClusterApi,
    ledger: Ledger,
    webhook_secret: Option<SecretString>,
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
    async fn authorize(
        &self,
        who: &Caller,
        verb: &'static str,
        of: &ResourcePath,
        tenant: &str,
    ) -> Result<(), ProblemDetails> {
        self.guard.authorize(who, &ResourceAttributes::new(verb, of.group, of.plural, tenant)).await
    }

    /// Returns an error unless the caller may perform the verb on one resource.
    async fn authorize_one(
        &self,
        who: &Caller,
        verb: &'static str,
        of: &ResourcePath,
        id: &crate::body::ResourceId,
    ) -> Result<(), ProblemDetails> {
        self.guard
            .authorize(who, &ResourceAttributes::new(verb, of.group, of.plural, &id.tenant).with_name(&id.name))
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
        .route("/application", get(application::list).post(application::create))
        .route("/application/{id}", get(application::read).put(application::replace).delete(application::remove))
        .route("/managedenvironment", get(environment::list).post(environment::create))
        .route("/managedenvironment/{id}", get(environment::read).put(environment::replace).delete(environment::remove))
        .route("/operation", get(operation::list).post(operation::create))
        .route("/operation/{id}", get(operation::read).delete(operation::remove))
        .route("/engineinstance", get(instance::list))
        .route("/engineinstance/{id}", get(instance::read))
        .with_state(service.clone());
    let open = Router::new().route("/webhookevent", post(webhook::receive)).with_state(service);
    ApiSection { router: guard.protect(protected).merge(open), document: document_part() }
}

/// Creates the OpenAPI description of the routes.
pub fn document_part() -> OpenApiPart {
    let parts: [fn(OpenApiPart) -> OpenApiPart; 5] =
        [application::describe, environment::describe, operation::describe, instance::describe, webhook::describe];
    parts.iter().fold(OpenApiPart::default(), |part, describe| describe(part))
}

/// Problem details for a database error. The error itself is only logged.
fn database_problem(error: LedgerError) -> ProblemDetails {
    tracing::warn!(error = %error, "could not read the database");
    ProblemDetails::new(ProblemKind::Unavailable, "the database does not respond").retry_after_s(5)
}

/// Problem details for an object that does not match its CustomResourceDefinition.
fn unreadable_object(of: &ResourcePath) -> ProblemDetails {
    ProblemDetails::new(ProblemKind::Unavailable, format!("could not read an object of kind {}", of.plural))
        .retry_after_s(5)
}

/// Reads the objects of a list. Skips an unreadable object, so that it cannot hide other tenants' objects.
fn readable_objects<T>(
    of: &ResourcePath,
    items: &[Value],
    read: impl Fn(&Value) -> Result<T, ProblemDetails>,
) -> Vec<T> {
    let one = |item: &Value| match read(item) {
        Ok(found) => Some(found),
        Err(_) => {
            tracing::warn!(
                object = ResourceId::of(meta(item, "namespace"), meta(item, "name")),
                "skipped an unreadable object in a list of {}",
                of.plural
            );
            None
        }
    };
    items.iter().filter_map(one).collect()
}

fn meta<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"][key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
