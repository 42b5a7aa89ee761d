//! The cluster and the namespace whose GitOps resources are meant.

use clap::Args;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use serde_json::Value;

use crate::failure::Failure;
use crate::reach::Reach;

/// How many objects one answer brings.
const PAGE: usize = 500;

/// Where all kinds of the service are.
const ROOT: &str = "/apis/managed-gitops.redhat.com/v1alpha1";

/// A kind, as paths and people name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    root: &'static str,
    plural: &'static str,
    /// As people call it.
    pub told: &'static str,
    /// What lists those of all namespaces.
    listed: &'static str,
}

/// GitOpsDeployment.
pub const APPLICATIONS: Kind =
    Kind { root: ROOT, plural: "gitopsdeployments", told: "application", listed: "switchboard gitops get -A" };
/// GitOpsDeploymentSyncRun.
pub const RUNS: Kind = Kind {
    root: ROOT,
    plural: "gitopsdeploymentsyncruns",
    told: "sync run",
    listed: "switchboard gitops get --kind runs -A",
};
/// GitOpsDeploymentManagedEnvironment.
pub const ENVIRONMENTS: Kind = Kind {
    root: ROOT,
    plural: "gitopsdeploymentmanagedenvironments",
    told: "environment",
    listed: "switchboard gitops env get -A",
};
/// GitOpsDeploymentRepositoryCredential.
pub const REPOSITORIES: Kind = Kind {
    root: ROOT,
    plural: "gitopsdeploymentrepositorycredentials",
    told: "repository credential",
    listed: "switchboard gitops repo get -A",
};
/// Secret.
pub const SECRETS: Kind = Kind { root: "/api/v1", plural: "secrets", told: "Secret", listed: "kubectl get secrets -A" };

/// Who wrote, as `why` tells of what was made by word.
const MANAGER: &str = "switchboard-gitops";

/// Which cluster, and which tenant of it.
#[derive(Args, Clone, Debug)]
pub struct Tenant {
    #[command(flatten)]
    reach: Reach,
    /// The tenant's namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

/// A cluster, and a tenant of it.
#[derive(Clone)]
pub struct Side {
    client: kube::Client,
    /// The tenant.
    pub namespace: String,
}

/// A cluster that does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// It has no such kinds.
    #[error(
        "the cluster does not have the GitOps Service's kinds\nhint: `switchboard gitops crds | kubectl apply -f -` brings them, `switchboard up` has them"
    )]
    NoKinds,
    /// There is no such thing.
    #[error("there is no {told} `{name}` in namespace `{namespace}`\nhint: `{listed}` lists those of all namespaces")]
    NotFound {
        /// What lists all of its kind.
        listed: &'static str,
        /// As people call it.
        told: &'static str,
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: String,
    },
    /// It is there already.
    #[error(
        "there is already something named `{name}` in namespace `{namespace}`: {told}\nhint: take another name, or delete that one first"
    )]
    Exists {
        /// As people call it.
        told: &'static str,
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: String,
    },
    /// The cluster says why not.
    #[error("could not {act}: {said}\nhint: {}", refused(*code))]
    Refused {
        /// What was to be done.
        act: String,
        /// What the cluster says.
        said: String,
        /// The status of its answer.
        code: u16,
    },
    /// It does not answer.
    #[error(
        "could not {act}\nhint: is the cluster running? `kubectl get --raw /readyz` with the same kubeconfig asks it"
    )]
    Unreachable {
        /// What was to be done.
        act: String,
        /// Why not.
        source: Box<kube::Error>,
    },
}

fn refused(code: u16) -> &'static str {
    match code {
        401 => "the cluster does not know who you are: check the user of the kubeconfig's context",
        403 => "ask for a Role in this namespace; `kubectl auth can-i --list` shows what you may",
        409 => "somebody changed it at the same time; try again",
        422 => "correct what it names and try again",
        _ => "try again; if it stays, look at the cluster's log",
    }
}

impl Tenant {
    /// Makes a client. Asks nothing yet.
    pub async fn side(&self) -> Result<Side, Failure> {
        let config = self.reach.clone().or_own().config().await?;
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let client = kube::Client::try_from(config)
            .map_err(|error| SideError::Unreachable { act: "make a client".to_string(), source: Box::new(error) })?;
        Ok(Side { client, namespace })
    }
}

impl Side {
    /// An object.
    pub async fn get(&self, of: &Kind, name: &str) -> Result<Value, SideError> {
        let path = self.path(of, &self.namespace, name);
        self.send(of, name, format!("read {} `{name}`", of.told), Method::GET, path, None).await
    }

    /// An object; none if there is none.
    pub async fn find(&self, of: &Kind, name: &str) -> Result<Option<Value>, SideError> {
        match self.get(of, name).await {
            Ok(object) => Ok(Some(object)),
            Err(SideError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All objects of the namespace, or of all namespaces.
    pub async fn list(&self, of: &Kind, everywhere: bool) -> Result<Vec<Value>, SideError> {
        let (mut items, mut from) = (Vec::new(), String::new());
        let namespace = if everywhere { "" } else { &self.namespace };
        loop {
            let path = format!("{}?limit={PAGE}{from}", self.path(of, namespace, ""));
            let mut page = self.send(of, "", format!("list {}s", of.told), Method::GET, path, None).await?;
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
    pub async fn create(&self, of: &Kind, object: &Value) -> Result<Value, SideError> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{}?fieldManager={MANAGER}", self.path(of, &self.namespace, ""));
        let act = format!("create {} `{name}`", of.told);
        match self.send(of, name, act, Method::POST, path, Some(object)).await {
            Err(SideError::Refused { code: 409, .. }) => {
                Err(SideError::Exists { told: of.told, name: name.to_string(), namespace: self.namespace.clone() })
            }
            // To create something where nothing can be is to name a namespace that is not there.
            Err(SideError::NotFound { .. }) => Err(SideError::Refused {
                act: format!("create {} `{name}`", of.told),
                said: format!("there is no namespace `{}`", self.namespace),
                code: 422,
            }),
            other => other,
        }
    }

    /// Changes an object by a merge patch.
    pub async fn patch(&self, of: &Kind, name: &str, patch: &Value) -> Result<Value, SideError> {
        let path = format!("{}?fieldManager={MANAGER}", self.path(of, &self.namespace, name));
        self.send(of, name, format!("change {} `{name}`", of.told), Method::PATCH, path, Some(patch)).await
    }

    /// Deletes an object.
    pub async fn delete(&self, of: &Kind, name: &str) -> Result<(), SideError> {
        let path = self.path(of, &self.namespace, name);
        self.send(of, name, format!("delete {} `{name}`", of.told), Method::DELETE, path, None).await.map(drop)
    }

    fn path(&self, of: &Kind, namespace: &str, name: &str) -> String {
        let within = if namespace.is_empty() { String::new() } else { format!("/namespaces/{}", encode(namespace)) };
        let one = if name.is_empty() { String::new() } else { format!("/{}", encode(name)) };
        format!("{}{within}/{}{one}", of.root, of.plural)
    }

    async fn send(
        &self,
        of: &Kind,
        name: &str,
        act: String,
        method: Method,
        path: String,
        body: Option<&Value>,
    ) -> Result<Value, SideError> {
        let form = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let mut request = Request::builder().method(method).uri(path);
        if body.is_some() {
            request = request.header(CONTENT_TYPE, form);
        }
        let bytes = body.map(|object| object.to_string().into_bytes()).unwrap_or_default();
        let missing = || SideError::NotFound {
            listed: of.listed,
            told: of.told,
            name: name.to_string(),
            namespace: self.namespace.clone(),
        };
        let request = request.body(bytes).map_err(|_| missing())?;
        match self.client.request(request).await {
            Ok(answer) => Ok(answer),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                // What is not served at all has no name in the refusal.
                let named = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
                Err(if named { missing() } else { SideError::NoKinds })
            }
            Err(kube::Error::Api(status)) => {
                Err(SideError::Refused { act, said: status.message.clone(), code: status.code })
            }
            Err(error) => Err(SideError::Unreachable { act, source: Box::new(error) }),
        }
    }
}

/// Percent-encodes what is not plain in a path.
fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
