//! The GitOps Service's area: applications, managed environments, operations, engine instances, webhook events.
//!
//! Resources are the source of truth: to write an application is to write its GitOpsDeployment. What only the database knows is read
//! from there, and never written.

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
use switchboard_ledger::{Ledger, LedgerError, Secret};

use crate::auth::{Access, Caller};
use crate::body::Id;
use crate::cluster::{Api, Resource};
use crate::guard::Guard;
use crate::openapi::Part;
use crate::problem::{Kind, Problem};
use crate::{Area, mount};

/// The group of the kinds.
const GROUP: &str = switchboard_gitops::kinds::GROUP;

/// Where the group is served.
const ROOT: &str = "/apis/managed-gitops.redhat.com/v1alpha1";

const APPLICATIONS: Resource = Resource { root: ROOT, group: GROUP, plural: "gitopsdeployments", told: "application" };
const ENVIRONMENTS: Resource =
    Resource { root: ROOT, group: GROUP, plural: "gitopsdeploymentmanagedenvironments", told: "managed environment" };
const SYNC_RUNS: Resource =
    Resource { root: ROOT, group: GROUP, plural: "gitopsdeploymentsyncruns", told: "operation" };
const SECRETS: Resource = Resource { root: "/api/v1", group: "", plural: "secrets", told: "Secret" };
const NAMESPACES: Resource = Resource { root: "/api/v1", group: "", plural: "namespaces", told: "tenant" };

/// What rights on operations and engine instances are called: rows have no resource, but rights need a name.
const OPERATIONS: &str = "operations";
const INSTANCES: &str = "gitopsengineinstances";

/// What the handlers need.
#[derive(Clone)]
pub struct Service {
    guard: Guard,
    /// Tenants' resources.
    tenants: Api,
    /// Argo CD's Applications.
    engines: Api,
    ledger: Ledger,
    hook_secret: Option<Secret>,
}

impl Service {
    /// A service on the cluster of tenants, with the database the backend writes.
    pub fn new(guard: Guard, tenants: Client, ledger: Ledger) -> Service {
        let api = Api::new(tenants);
        Service { guard, engines: api.clone(), tenants: api, ledger, hook_secret: None }
    }

    /// Argo CD is on another cluster.
    pub fn engines(mut self, client: Client) -> Service {
        self.engines = Api::new(client);
        self
    }

    /// Webhook events for all tenants at once are believed if they are signed with this.
    pub fn hook_secret(mut self, secret: Option<Secret>) -> Service {
        self.hook_secret = secret.filter(|secret| !secret.is_empty());
        self
    }

    /// Refuses what somebody may not do with a resource.
    async fn authorize(&self, who: &Caller, verb: &'static str, of: &Resource, tenant: &str) -> Result<(), Problem> {
        self.guard.authorize(who, &Access::new(verb, of.group, of.plural, tenant)).await
    }

    /// The same, of one.
    async fn authorize_one(
        &self,
        who: &Caller,
        verb: &'static str,
        of: &Resource,
        id: &crate::body::Id,
    ) -> Result<(), Problem> {
        self.guard.authorize(who, &Access::new(verb, of.group, of.plural, &id.tenant).named(&id.name)).await
    }
}

/// The API of the GitOps Service alone.
pub fn router(service: Service) -> Router {
    mount(vec![area(service)])
}

/// Routes and what is said of them.
pub fn area(service: Service) -> Area {
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
    Area { router: guard.protect(protected).merge(open), part: part() }
}

/// What the API's document says of it.
pub fn part() -> Part {
    let parts: [fn(Part) -> Part; 5] =
        [application::describe, environment::describe, operation::describe, instance::describe, webhook::describe];
    parts.iter().fold(Part::default(), |part, describe| describe(part))
}

/// A database that does not answer. What it said goes to the log.
fn of_ledger(error: LedgerError) -> Problem {
    tracing::warn!(error = %error, "could not read the database");
    Problem::new(Kind::Unavailable, "the database does not answer").retry_after_s(5)
}

/// An object of ours that is not what its definition says.
fn unreadable(of: &Resource) -> Problem {
    Problem::new(Kind::Unavailable, format!("could not read an object of kind {}", of.plural)).retry_after_s(5)
}

/// What can be read of a list. One object that cannot be must not hide all others, whoever they are of.
fn readable<T>(of: &Resource, items: &[Value], read: impl Fn(&Value) -> Result<T, Problem>) -> Vec<T> {
    let one = |item: &Value| match read(item) {
        Ok(found) => Some(found),
        Err(_) => {
            tracing::warn!(
                object = Id::of(meta(item, "namespace"), meta(item, "name")),
                "left out of a list of {}: it cannot be read",
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
