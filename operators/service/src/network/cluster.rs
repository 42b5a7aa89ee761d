//! Asking a tenant's cluster: does a credential work, make a service account, remove it.

mod refusal;
mod removal;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use switchboard_gitops::flow::environment::{Answer, Question};
use switchboard_gitops::kinds::environment::Reason;
use switchboard_gitops::kubeconfig::Access;
use switchboard_gitops::repository::without_login;
use switchboard_ledger::Secret;

use crate::asked::text;
use crate::error::told;
use crate::network::Later;
use refusal::failed;

pub use refusal::Failed;

/// Where service accounts of ours are made.
const NAMESPACE: &str = "kube-system";
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an answer may take.
const READ: Duration = Duration::from_secs(20);
/// How long a token is waited for.
const TOKEN: Duration = Duration::from_secs(120);
/// How often is looked for it.
const TOKEN_LOOK: Duration = Duration::from_millis(250);

/// How a cluster becomes somebody to talk to.
pub trait Reach: Send + Sync {
    /// A client for a cluster, as whom a kubeconfig says.
    fn client<'a>(&'a self, host: &'a str, access: &'a Access, insecure: bool) -> Later<'a, Result<Client, Failed>>;
}

/// By its address.
pub struct ByAddress;

impl Reach for ByAddress {
    fn client<'a>(&'a self, host: &'a str, access: &'a Access, insecure: bool) -> Later<'a, Result<Client, Failed>> {
        Box::pin(client(host, access, insecure))
    }
}

/// Asks.
pub async fn ask(question: &Question) -> Answer {
    ask_by(&ByAddress, question).await
}

/// Asks a cluster that is reached in another way.
pub async fn ask_by(reach: &dyn Reach, question: &Question) -> Answer {
    match question {
        Question::Verify { digest, uid, host, access, allow_insecure, namespace, install } => {
            let target = Target { reach, host, insecure: *allow_insecure };
            let verified = target.verify(access, namespace.as_deref(), install.then_some(uid.as_str()));
            let digest = digest.clone();
            match verified.await {
                Ok(token) => Answer::Verified { digest, token },
                Err(((reason, message), token)) => Answer::Refused { digest, reason, message, token },
            }
        }
        Question::Retire { account } => match removal::remove(reach, account).await {
            Ok(()) => Answer::Retired { account: account.id.clone() },
            // It is asked again, and told each time until it is given up.
            Err(why) => {
                let name = account_name(account.resource_uid.as_str());
                tracing::warn!(host = without_login(&account.host), why, "could not remove service account {name}");
                Answer::Kept { account: account.id.clone() }
            }
        },
    }
}

/// What is said when a cluster took too long.
pub fn late(question: &Question) -> Answer {
    match question {
        Question::Verify { digest, .. } => Answer::Refused {
            digest: digest.clone(),
            reason: Reason::UnableToCreateClient,
            message: "the cluster did not answer in time".to_string(),
            token: None,
        },
        Question::Retire { account } => Answer::Kept { account: account.id.clone() },
    }
}

/// A cluster that is asked whether a credential works.
struct Target<'a> {
    reach: &'a dyn Reach,
    host: &'a str,
    insecure: bool,
}

impl Target<'_> {
    async fn client(&self, access: &Access) -> Result<Client, Failed> {
        self.reach.client(self.host, access, self.insecure).await
    }

    async fn verify(
        &self,
        access: &Access,
        namespace: Option<&str>,
        install: Option<&str>,
    ) -> Result<Option<Secret>, (Failed, Option<Secret>)> {
        let failed = |failed: Failed| (failed, None);
        let client = self.client(access).await.map_err(failed)?;
        let Some(uid) = install else {
            return check(&client, self.host, namespace).await.map(|()| None).map_err(failed);
        };
        let token = make(&client, self.host, uid).await.map_err(failed)?;
        match self.check_own(&access.clone().as_account(&token), namespace).await {
            Ok(()) => Ok(Some(token)),
            // It is there, whatever it may do.
            Err(failed) => Err((failed, Some(token))),
        }
    }

    async fn check_own(&self, own: &Access, namespace: Option<&str>) -> Result<(), Failed> {
        check(&self.client(own).await?, self.host, namespace).await
    }
}

/// A client made of what a kubeconfig said, and of nothing it names: no program is run, no file is read.
async fn client(host: &str, access: &Access, insecure: bool) -> Result<Client, Failed> {
    let encoded = |text: &Option<String>| text.as_ref().map(|text| STANDARD.encode(text));
    let mut cluster = json!({"server": host});
    if insecure {
        cluster["insecure-skip-tls-verify"] = true.into();
    } else if let Some(ca) = encoded(&access.ca) {
        cluster["certificate-authority-data"] = ca.into();
    }
    let mut user = json!({});
    if let Some(token) = &access.token {
        user["token"] = token.expose().into();
    }
    if let (Some(certificate), Some(key)) = (encoded(&access.client_certificate), &access.client_key) {
        user["client-certificate-data"] = certificate.into();
        user["client-key-data"] = STANDARD.encode(key.expose()).into();
    }
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]});
    let refused = |message: String| (Reason::UnableToCreateClient, message);
    let config: Kubeconfig = serde_json::from_value(config).map_err(|_| refused("the kubeconfig is odd".into()))?;
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| (Reason::UnableToRetrieveRestConfig, told(&error)))?;
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = Some(READ);
    config.write_timeout = Some(READ);
    // A proxy of ours is no concern of the tenant's cluster.
    config.proxy_url = None;
    Client::try_from(config).map_err(|error| refused(told(&error)))
}

/// Whether the cluster lets these look at what is to be deployed to.
async fn check(client: &Client, host: &str, namespace: Option<&str>) -> Result<(), Failed> {
    let path = match namespace {
        Some(namespace) => format!("/api/v1/namespaces/{namespace}"),
        None => "/api/v1/namespaces?limit=1".to_string(),
    };
    match send(client, "GET", &path, Value::Null).await {
        Ok(_) => Ok(()),
        Err(error) => Err(failed(host, &error, Reason::UnableToValidateClusterCredentials)),
    }
}

async fn make(client: &Client, host: &str, uid: &str) -> Result<Secret, Failed> {
    let refused = |error: kube::Error| failed(host, &error, Reason::UnableToInstallServiceAccount);
    for (path, body) in objects(uid) {
        match send(client, "POST", &path, body).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            made => drop(made.map_err(refused)?),
        }
    }
    let secret = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{}", token_name(uid));
    let wait = async {
        loop {
            let found = send(client, "GET", &secret, Value::Null).await.map_err(refused)?;
            let token =
                STANDARD.decode(text(&found, "/data/token")).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            if let Some(token) = token.filter(|token| !token.is_empty()) {
                return Ok(Secret::from(token));
            }
            tokio::time::sleep(TOKEN_LOOK).await;
        }
    };
    let late = || (Reason::UnableToInstallServiceAccount, "the service account got no token in time".to_string());
    tokio::time::timeout(TOKEN, wait).await.map_err(|_| late())?
}

fn account_name(uid: &str) -> String {
    format!("argocd-manager-{uid}")
}

fn token_name(uid: &str) -> String {
    format!("argocd-manager-token-{uid}")
}

/// What is ours on a target, each with the path it is made at. The original's names.
fn objects(uid: &str) -> [(String, Value); 4] {
    let (account, role) = (account_name(uid), format!("argocd-manager-cluster-role-{uid}"));
    let binding = format!("argocd-manager-cluster-role-binding-{uid}");
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let all = json!(["*"]);
    [
        (
            format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts"),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}),
        ),
        (
            format!("{rbac}/clusterroles"),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": role},
                "rules": [{"apiGroups": all, "resources": all, "verbs": all}, {"nonResourceURLs": all, "verbs": all}]}),
        ),
        (
            format!("{rbac}/clusterrolebindings"),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": binding},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}]}),
        ),
        (
            format!("/api/v1/namespaces/{NAMESPACE}/secrets"),
            json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
                "metadata": {"name": token_name(uid), "annotations": {"kubernetes.io/service-account.name": account}}}),
        ),
    ]
}

async fn send(client: &Client, method: &str, path: &str, body: Value) -> Result<Value, kube::Error> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", content);
    client.request(request.body(body).map_err(kube::Error::HttpError)?).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_on_a_target_has_the_originals_names() {
        let names: Vec<String> = objects("u1").iter().map(|(_, body)| text(body, "/metadata/name")).collect();
        assert_eq!(
            names[..3],
            ["argocd-manager-u1", "argocd-manager-cluster-role-u1", "argocd-manager-cluster-role-binding-u1"]
        );
    }
}
