//! Client for the GitOps resources of a tenant's namespace.

use clap::Args;
use http::Method;
use serde_json::Value;
use switchboard_gitops::resources;
use switchboard_http::cluster;
use switchboard_kernel::resource::Resource;

use crate::cluster_args::ClusterArgs;
use crate::failure::CommandError;

/// Page size of list requests.
const PAGE: usize = 500;

/// Kind of resource, with its display name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantKind {
    resource: &'static Resource,
    /// Display name.
    pub noun: &'static str,
    /// Command that lists the resources of all namespaces.
    list_command: &'static str,
}

/// GitOpsDeployment.
pub const APPLICATIONS: TenantKind =
    TenantKind { resource: &resources::DEPLOYMENTS, noun: "application", list_command: "switchboard gitops get -A" };
/// GitOpsDeploymentSyncRun.
pub const RUNS: TenantKind = TenantKind {
    resource: &resources::SYNC_RUNS,
    noun: "sync run",
    list_command: "switchboard gitops get --kind runs -A",
};
/// GitOpsDeploymentManagedEnvironment.
pub const ENVIRONMENTS: TenantKind = TenantKind {
    resource: &resources::ENVIRONMENTS,
    noun: "environment",
    list_command: "switchboard gitops env get -A",
};
/// GitOpsDeploymentRepositoryCredential.
pub const REPOSITORIES: TenantKind = TenantKind {
    resource: &resources::CREDENTIALS,
    noun: "repository credential",
    list_command: "switchboard gitops repo get -A",
};
/// Secret.
pub const SECRETS: TenantKind =
    TenantKind { resource: &resources::SECRETS, noun: "Secret", list_command: "kubectl get secrets -A" };

/// Field manager of writes by commands, as `why` shows it.
const MANAGER: &str = "switchboard-gitops";

/// Flags that select a cluster and a tenant.
#[derive(Args, Clone, Debug)]
pub struct TenantArgs {
    #[command(flatten)]
    cluster_args: ClusterArgs,
    /// Namespace of the tenant [default: the namespace of the context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

/// Client for the namespace of a tenant.
#[derive(Clone)]
pub struct TenantClient {
    client: kube::Client,
    /// Namespace of the tenant.
    pub namespace: String,
}

/// Error of a request.
#[derive(Debug, thiserror::Error)]
pub enum TenantClientError {
    /// The cluster does not serve the service's kinds.
    #[error(
        "the cluster does not serve the GitOps Service's kinds\nhint: run `switchboard up` with `gitops: {{}}` in its configuration, or with --example deployments; on another cluster, run `switchboard gitops crds | kubectl apply -f -`"
    )]
    NoKinds,
    /// The resource does not exist.
    #[error("there is no {noun} `{name}` in namespace `{namespace}`\nhint: `{list_command}` lists all namespaces")]
    NotFound {
        /// Command that lists all resources of the kind.
        list_command: &'static str,
        /// Display name of the kind.
        noun: &'static str,
        /// Name of the resource.
        name: String,
        /// Namespace of the resource.
        namespace: String,
    },
    /// The resource exists already.
    #[error("{noun} `{name}` already exists in namespace `{namespace}`\nhint: choose another name, or delete it first")]
    Exists {
        /// Display name of the kind.
        noun: &'static str,
        /// Name of the resource.
        name: String,
        /// Namespace of the resource.
        namespace: String,
    },
    /// The API server refused the request.
    #[error("could not {action}: {message}\nhint: {}", status_hint(*code))]
    Refused {
        /// Action that failed, as a verb phrase.
        action: String,
        /// Message of the API server.
        message: String,
        /// HTTP status code.
        code: u16,
    },
    /// The API server did not answer.
    #[error(
        "could not {action}\nhint: check that the cluster is running: `kubectl get --raw /readyz` with the same kubeconfig"
    )]
    Unreachable {
        /// Action that failed, as a verb phrase.
        action: String,
        /// Error of the client.
        source: Box<kube::Error>,
    },
}

fn status_hint(code: u16) -> &'static str {
    match code {
        401 => "check the user of the kubeconfig's context: the cluster does not accept it",
        403 => {
            "request a Role in this namespace from an administrator; `kubectl auth can-i --list` shows your permissions"
        }
        409 => "try again: another writer changed it at the same time",
        422 => "correct the object and try again",
        _ => "try again; if the error persists, check the log of the API server",
    }
}

impl TenantArgs {
    /// Builds a client; sends no request yet.
    pub async fn client(&self) -> Result<TenantClient, CommandError> {
        let config = self.cluster_args.access().or_up_cluster().config().await?;
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let client = kube::Client::try_from(config).map_err(|error| TenantClientError::Unreachable {
            action: "build a client".to_string(),
            source: Box::new(error),
        })?;
        Ok(TenantClient { client, namespace })
    }
}

impl TenantClient {
    /// Reads an object.
    pub async fn get(&self, of: &TenantKind, name: &str) -> Result<Value, TenantClientError> {
        let path = of.resource.object_path(&self.namespace, name);
        self.send(of, name, format!("read {} `{name}`", of.noun), Method::GET, path, None).await
    }

    /// Reads an object; `None` if it does not exist.
    pub async fn find(&self, of: &TenantKind, name: &str) -> Result<Option<Value>, TenantClientError> {
        match self.get(of, name).await {
            Ok(object) => Ok(Some(object)),
            Err(TenantClientError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists the objects of the namespace, or of all namespaces.
    pub async fn list(&self, of: &TenantKind, everywhere: bool) -> Result<Vec<Value>, TenantClientError> {
        let (mut items, mut from) = (Vec::new(), String::new());
        let namespace = if everywhere { "" } else { &self.namespace };
        loop {
            let path = format!("{}?limit={PAGE}{from}", of.resource.path(namespace));
            let mut page = self.send(of, "", format!("list {}s", of.noun), Method::GET, path, None).await?;
            let kind = page["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).unwrap_or_default().to_string();
            let version = page["apiVersion"].clone();
            if let Value::Array(more) = page["items"].take() {
                items.extend(more.into_iter().map(|mut item| {
                    item["apiVersion"] = version.clone();
                    item["kind"] = kind.as_str().into();
                    item
                }));
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty()) {
                Some(token) => from = format!("&continue={token}"),
                None => return Ok(items),
            }
        }
    }

    /// Creates an object.
    pub async fn create(&self, of: &TenantKind, object: &Value) -> Result<Value, TenantClientError> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{}?fieldManager={MANAGER}", of.resource.path(&self.namespace));
        let act = format!("create {} `{name}`", of.noun);
        match self.send(of, name, act, Method::POST, path, Some(object)).await {
            Err(TenantClientError::Refused { code: 409, .. }) => Err(TenantClientError::Exists {
                noun: of.noun,
                name: name.to_string(),
                namespace: self.namespace.clone(),
            }),
            // A create request returns 404 if the namespace does not exist.
            Err(TenantClientError::NotFound { .. }) => Err(TenantClientError::Refused {
                action: format!("create {} `{name}`", of.noun),
                message: format!("namespace `{}` does not exist", self.namespace),
                code: 422,
            }),
            other => other,
        }
    }

    /// Changes an object with a merge patch.
    pub async fn patch(&self, of: &TenantKind, name: &str, patch: &Value) -> Result<Value, TenantClientError> {
        let path = format!("{}?fieldManager={MANAGER}", of.resource.object_path(&self.namespace, name));
        self.send(of, name, format!("change {} `{name}`", of.noun), Method::PATCH, path, Some(patch)).await
    }

    /// Deletes an object.
    pub async fn delete(&self, of: &TenantKind, name: &str) -> Result<(), TenantClientError> {
        let path = of.resource.object_path(&self.namespace, name);
        self.send(of, name, format!("delete {} `{name}`", of.noun), Method::DELETE, path, None).await.map(drop)
    }

    async fn send(
        &self,
        of: &TenantKind,
        name: &str,
        act: String,
        method: Method,
        path: String,
        body: Option<&Value>,
    ) -> Result<Value, TenantClientError> {
        let missing = || TenantClientError::NotFound {
            list_command: of.list_command,
            noun: of.noun,
            name: name.to_string(),
            namespace: self.namespace.clone(),
        };
        match cluster::send(&self.client, method, path, body).await {
            Ok(answer) => Ok(answer),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                // A 404 without a name means that the kind is not served.
                let named = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
                Err(if named { missing() } else { TenantClientError::NoKinds })
            }
            Err(kube::Error::Api(status)) => {
                Err(TenantClientError::Refused { action: act, message: status.message.clone(), code: status.code })
            }
            Err(error) => Err(TenantClientError::Unreachable { action: act, source: Box::new(error) }),
        }
    }
}
