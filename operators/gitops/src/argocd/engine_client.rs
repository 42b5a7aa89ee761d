//! Objects of the engine cluster.

use std::time::{Duration, Instant};

use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams, Preconditions, PropagationPolicy};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;
use tokio::time::sleep;

use crate::moves::InstanceWrite;

/// Deadline for a cluster to serve a new kind.
const ESTABLISH_DEADLINE: Duration = Duration::from_secs(30);

/// Poll interval until a new kind is served.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Client of the engine cluster.
#[derive(Clone)]
pub struct EngineClient {
    client: Client,
}

/// Error of the engine cluster.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A list failed.
    #[error("could not list every {kind} {within}")]
    Unlisted {
        /// Listed kind.
        kind: String,
        /// Namespace, in words.
        within: String,
        /// Error of kube.
        #[source]
        source: Box<kube::Error>,
    },
    /// A request failed.
    #[error("could not {act} {kind} `{name}`")]
    Refused {
        /// Action, as a verb.
        act: &'static str,
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
        /// Error of kube.
        #[source]
        source: Box<kube::Error>,
    },
    /// A kind is not served within the deadline.
    #[error("could not use the kind `{0}`: the cluster does not serve it")]
    NotServed(String),
    /// An object could not be serialized or deserialized.
    #[error("could not parse an object")]
    Shape(#[from] serde_json::Error),
}

/// Result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineWrite {
    /// The write was applied.
    Done,
    /// The object has changed since it was read.
    Stale,
}

impl EngineClient {
    /// Returns the client for a cluster.
    pub fn new(client: Client) -> EngineClient {
        EngineClient { client }
    }

    /// Returns an object.
    ///
    /// # Errors
    /// When the cluster fails.
    pub async fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, EngineError> {
        let found = self.api(api_version, kind, namespace).get_opt(name).await;
        let found = found.map_err(|source| refused("read", kind, name, source))?;
        found.map(|object| with_type_meta(&object, api_version, kind)).transpose()
    }

    /// Lists the objects of a kind in a namespace that match a label selector; empty if the kind does not exist.
    ///
    /// # Errors
    /// When the cluster fails.
    pub async fn list(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        labels: &str,
    ) -> Result<Vec<Value>, EngineError> {
        let found = self.api(api_version, kind, namespace).list(&ListParams::default().labels(labels)).await;
        match found {
            Ok(list) => list.iter().map(|object| with_type_meta(object, api_version, kind)).collect(),
            Err(error) if code(&error) == Some(404) => Ok(vec![]),
            Err(source) => Err(EngineError::Unlisted {
                kind: kind.to_string(),
                within: within(namespace),
                source: Box::new(source),
            }),
        }
    }

    /// Creates an object. An existing object is left unchanged.
    ///
    /// # Errors
    /// When the cluster fails or rejects the object.
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
    /// When the cluster fails or the deadline passes.
    pub async fn established(&self, definition: &str) -> Result<(), EngineError> {
        let deadline = Instant::now() + ESTABLISH_DEADLINE;
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
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Applies a write of a move.
    ///
    /// # Errors
    /// When the cluster fails or rejects the write.
    pub async fn act(&self, act: &InstanceWrite) -> Result<EngineWrite, EngineError> {
        match act {
            InstanceWrite::Create(object) => self.create(object).await.map(|_| EngineWrite::Done),
            InstanceWrite::Update(object) => {
                let (api, kind, name) = self.api_of(object);
                let done = api.replace(&name, &PostParams::default(), &serde_json::from_value(object.clone())?).await;
                outcome(done.map(drop), "update", &kind, &name)
            }
            InstanceWrite::Delete { target, uid, version } => {
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

    pub(crate) fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }
}

/// Returns an object with its type. Items of a list have none.
fn with_type_meta(object: &DynamicObject, api_version: &str, kind: &str) -> Result<Value, EngineError> {
    let mut value = serde_json::to_value(object)?;
    value["apiVersion"] = Value::from(api_version);
    value["kind"] = Value::from(kind);
    Ok(value)
}

fn outcome(
    done: Result<(), kube::Error>,
    act: &'static str,
    kind: &str,
    name: &str,
) -> Result<EngineWrite, EngineError> {
    match done {
        Ok(()) => Ok(EngineWrite::Done),
        // The object is deleted or has changed; the next read shows which.
        Err(error) if matches!(code(&error), Some(404 | 409)) => Ok(EngineWrite::Stale),
        Err(source) => Err(refused(act, kind, name, source)),
    }
}

pub(crate) fn code(error: &kube::Error) -> Option<u16> {
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

/// Describes a namespace for an error message.
fn within(namespace: &str) -> String {
    match namespace {
        "" => "of the cluster".to_string(),
        namespace => format!("in namespace `{namespace}`"),
    }
}

pub(crate) fn refused(act: &'static str, kind: &str, name: &str, source: kube::Error) -> EngineError {
    EngineError::Refused { act, kind: kind.to_string(), name: name.to_string(), source: Box::new(source) }
}
