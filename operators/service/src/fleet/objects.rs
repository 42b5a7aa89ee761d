//! Objects of the engine cluster, read and written one by one.

use std::time::{Duration, Instant};

use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams, Preconditions, PropagationPolicy};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;
use switchboard_gitops::fleet::moving::Act;
use tokio::time::sleep;

/// How long a cluster may take to serve a kind it was given.
const ESTABLISHED: Duration = Duration::from_secs(30);

/// How often is looked whether it does.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The cluster of the instances.
#[derive(Clone)]
pub struct Engine {
    client: Client,
}

/// What the cluster did not do.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It did not answer, or said no.
    #[error("could not list every {kind} {within}")]
    Unlisted {
        /// Of which kind.
        kind: String,
        /// Of what.
        within: String,
        /// Why not.
        #[source]
        source: Box<kube::Error>,
    },
    /// An act was refused.
    #[error("could not {act} {kind} `{name}`")]
    Refused {
        /// What was to be done.
        act: &'static str,
        /// To which kind.
        kind: String,
        /// To which of them.
        name: String,
        /// What it said.
        #[source]
        source: Box<kube::Error>,
    },
    /// A kind is not served in time.
    #[error("could not use the kind `{0}`: the cluster does not serve it")]
    NotServed(String),
    /// An object cannot be sent, or an answer cannot be read.
    #[error("could not understand an object")]
    Shape(#[from] serde_json::Error),
}

/// How a write went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// As it was meant.
    Done,
    /// The object was another by then: look again.
    Stale,
}

impl Engine {
    /// Over this client.
    pub fn new(client: Client) -> Engine {
        Engine { client }
    }

    /// One object.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub async fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, EngineError> {
        let found = self.api(api_version, kind, namespace).get_opt(name).await;
        let found = found.map_err(|source| refused("read", kind, name, source))?;
        found.map(|object| told(&object, api_version, kind)).transpose()
    }

    /// All objects of a kind in a namespace that a selector takes; none if there is no such kind.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub async fn list(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        labels: &str,
    ) -> Result<Vec<Value>, EngineError> {
        let found = self.api(api_version, kind, namespace).list(&ListParams::default().labels(labels)).await;
        match found {
            Ok(list) => list.iter().map(|object| told(object, api_version, kind)).collect(),
            Err(error) if code(&error) == Some(404) => Ok(vec![]),
            Err(source) => Err(EngineError::Unlisted {
                kind: kind.to_string(),
                within: within(namespace),
                source: Box::new(source),
            }),
        }
    }

    /// Creates an object; one that is there stays as it is.
    ///
    /// # Errors
    /// When the cluster does not answer, or refuses.
    pub async fn create(&self, object: &Value) -> Result<bool, EngineError> {
        let (api, kind, name) = self.api_of(object);
        match api.create(&PostParams::default(), &serde_json::from_value(object.clone())?).await {
            Ok(_) => Ok(true),
            Err(error) if reason(&error) == Some("AlreadyExists") => Ok(false),
            Err(source) => Err(refused("create", &kind, &name, source)),
        }
    }

    /// Waits until a kind is served.
    ///
    /// # Errors
    /// When the cluster does not answer, or takes too long.
    pub async fn established(&self, definition: &str) -> Result<(), EngineError> {
        let deadline = Instant::now() + ESTABLISHED;
        loop {
            let found = self.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", definition).await?;
            let conditions = found.as_ref().and_then(|found| found["status"]["conditions"].as_array());
            let is_served = |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
            if conditions.is_some_and(|all| all.iter().any(is_served)) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(EngineError::NotServed(definition.to_string()));
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Does what a move says.
    ///
    /// # Errors
    /// When the cluster does not answer, or refuses.
    pub async fn act(&self, act: &Act) -> Result<Written, EngineError> {
        match act {
            Act::Create(object) => self.create(object).await.map(|_| Written::Done),
            Act::Update(object) => {
                let (api, kind, name) = self.api_of(object);
                let done = api.replace(&name, &PostParams::default(), &serde_json::from_value(object.clone())?).await;
                outcome(done.map(drop), "update", &kind, &name)
            }
            Act::Forget { target, uid, version } => {
                let parameters = DeleteParams {
                    preconditions: Some(Preconditions {
                        uid: Some(uid.clone()),
                        resource_version: Some(version.clone()),
                    }),
                    propagation_policy: Some(PropagationPolicy::Background),
                    ..DeleteParams::default()
                };
                let api = self.api(target.api_version, target.kind, &target.namespace);
                let done = api.delete(&target.name, &parameters).await;
                outcome(done.map(drop), "delete", target.kind, &target.name)
            }
        }
    }

    fn api_of(&self, object: &Value) -> (Api<DynamicObject>, String, String) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let api = self.api(&version, &kind, &text(&object["metadata"]["namespace"]));
        (api, kind, text(&object["metadata"]["name"]))
    }

    pub(super) fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }
}

/// An object as it is stored; one of a list does not say its kind.
fn told(object: &DynamicObject, api_version: &str, kind: &str) -> Result<Value, EngineError> {
    let mut value = serde_json::to_value(object)?;
    value["apiVersion"] = Value::from(api_version);
    value["kind"] = Value::from(kind);
    Ok(value)
}

fn outcome(done: Result<(), kube::Error>, act: &'static str, kind: &str, name: &str) -> Result<Written, EngineError> {
    match done {
        Ok(()) => Ok(Written::Done),
        // Gone, or another by now: both are seen when it is looked at again.
        Err(error) if matches!(code(&error), Some(404 | 409)) => Ok(Written::Stale),
        Err(source) => Err(refused(act, kind, name, source)),
    }
}

pub(super) fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

fn reason(error: &kube::Error) -> Option<&str> {
    match error {
        kube::Error::Api(status) => Some(status.reason.as_str()),
        _ => None,
    }
}

/// Where is looked, in words.
fn within(namespace: &str) -> String {
    match namespace {
        "" => "of the cluster".to_string(),
        namespace => format!("in namespace `{namespace}`"),
    }
}

pub(super) fn refused(act: &'static str, kind: &str, name: &str, source: kube::Error) -> EngineError {
    EngineError::Refused { act, kind: kind.to_string(), name: name.to_string(), source: Box::new(source) }
}
