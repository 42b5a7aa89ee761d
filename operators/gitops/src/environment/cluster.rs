//! Checks of a tenant's cluster: verifies credentials, creates a service account, or removes it.

mod refusal;
mod removal;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use switchboard_object::causes::error_chain;
use switchboard_sql::SecretString;

pub use refusal::ClusterFailure;

use crate::environment::kind::EnvironmentReason;
use crate::environment::kubeconfig::KubeconfigAccess;
use crate::environment::{ClusterCheck, ClusterCheckResult};
use crate::network::BoxFuture;
use crate::repository::without_login;
use crate::request::text;
use refusal::cluster_failure;

/// Namespace of the created service accounts.
const NAMESPACE: &str = "kube-system";
/// Deadline of a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Deadline of a response.
const READ_TIMEOUT: Duration = Duration::from_secs(20);
/// Deadline for the token of a service account.
const TOKEN_DEADLINE: Duration = Duration::from_secs(120);
/// Poll interval for the token.
const TOKEN_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Connects to clusters.
pub trait ClusterConnector: Send + Sync {
    /// Returns a client with the credentials of a kubeconfig.
    fn client<'a>(
        &'a self,
        host: &'a str,
        access: &'a KubeconfigAccess,
        insecure: bool,
    ) -> BoxFuture<'a, Result<Client, ClusterFailure>>;
}

/// Connects to the address of the cluster.
pub struct DirectConnector;

impl ClusterConnector for DirectConnector {
    fn client<'a>(
        &'a self,
        host: &'a str,
        access: &'a KubeconfigAccess,
        insecure: bool,
    ) -> BoxFuture<'a, Result<Client, ClusterFailure>> {
        Box::pin(client(host, access, insecure))
    }
}

/// Runs a check.
pub async fn check_cluster(question: &ClusterCheck) -> ClusterCheckResult {
    check_cluster_with(&DirectConnector, question).await
}

/// Runs a check with another connector.
pub async fn check_cluster_with(connector: &dyn ClusterConnector, question: &ClusterCheck) -> ClusterCheckResult {
    match question {
        ClusterCheck::Verify { digest, uid, host, access, allow_insecure, namespace, install } => {
            let target = CheckTarget { connector, host, insecure: *allow_insecure };
            let verified = target.verify(access, namespace.as_deref(), install.then_some(uid.as_str()));
            let digest = digest.clone();
            match verified.await {
                Ok(token) => ClusterCheckResult::Verified { digest, token },
                Err(((reason, message), token)) => ClusterCheckResult::Refused { digest, reason, message, token },
            }
        }
        ClusterCheck::Retire { account } => match removal::remove(connector, account).await {
            Ok(()) => ClusterCheckResult::Retired { account: account.id.clone() },
            // The removal is retried until it is abandoned; each failure is logged.
            Err(why) => {
                let name = account_name(account.resource_uid.as_str());
                tracing::warn!(host = without_login(&account.host), why, "could not remove service account {name}");
                ClusterCheckResult::Kept { account: account.id.clone() }
            }
        },
    }
}

/// Returns the answer for a check that exceeded its deadline.
pub fn timeout_answer(question: &ClusterCheck) -> ClusterCheckResult {
    match question {
        ClusterCheck::Verify { digest, .. } => ClusterCheckResult::Refused {
            digest: digest.clone(),
            reason: EnvironmentReason::UnableToCreateClient,
            message: "the cluster did not respond in time".to_string(),
            token: None,
        },
        ClusterCheck::Retire { account } => ClusterCheckResult::Kept { account: account.id.clone() },
    }
}

/// Cluster whose credentials are checked.
struct CheckTarget<'a> {
    connector: &'a dyn ClusterConnector,
    host: &'a str,
    insecure: bool,
}

impl CheckTarget<'_> {
    async fn client(&self, access: &KubeconfigAccess) -> Result<Client, ClusterFailure> {
        self.connector.client(self.host, access, self.insecure).await
    }

    async fn verify(
        &self,
        access: &KubeconfigAccess,
        namespace: Option<&str>,
        install: Option<&str>,
    ) -> Result<Option<SecretString>, (ClusterFailure, Option<SecretString>)> {
        let cluster_failure = |cluster_failure: ClusterFailure| (cluster_failure, None);
        let client = self.client(access).await.map_err(cluster_failure)?;
        let Some(uid) = install else {
            return require_read_access(&client, self.host, namespace).await.map(|()| None).map_err(cluster_failure);
        };
        let token = install_account(&client, self.host, uid).await.map_err(cluster_failure)?;
        match self.require_access(&access.clone().as_account(&token), namespace).await {
            Ok(()) => Ok(Some(token)),
            // The account exists, whatever its permissions are.
            Err(cluster_failure) => Err((cluster_failure, Some(token))),
        }
    }

    async fn require_access(&self, own: &KubeconfigAccess, namespace: Option<&str>) -> Result<(), ClusterFailure> {
        require_read_access(&self.client(own).await?, self.host, namespace).await
    }
}

/// Builds a client from the values of a kubeconfig only: no program is run and no file is read.
async fn client(host: &str, access: &KubeconfigAccess, insecure: bool) -> Result<Client, ClusterFailure> {
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
    let refused = |message: String| (EnvironmentReason::UnableToCreateClient, message);
    let config: Kubeconfig = serde_json::from_value(config).map_err(|_| refused("the kubeconfig is invalid".into()))?;
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| (EnvironmentReason::UnableToRetrieveRestConfig, error_chain(&error)))?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.write_timeout = Some(READ_TIMEOUT);
    // The proxy settings of this process are not for tenants' clusters.
    config.proxy_url = None;
    Client::try_from(config).map_err(|error| refused(error_chain(&error)))
}

/// Fails unless the credentials can read the deployment target.
async fn require_read_access(client: &Client, host: &str, namespace: Option<&str>) -> Result<(), ClusterFailure> {
    let path = match namespace {
        Some(namespace) => format!("/api/v1/namespaces/{namespace}"),
        None => "/api/v1/namespaces?limit=1".to_string(),
    };
    match send(client, "GET", &path, Value::Null).await {
        Ok(_) => Ok(()),
        Err(error) => Err(cluster_failure(host, &error, EnvironmentReason::UnableToValidateClusterCredentials)),
    }
}

async fn install_account(client: &Client, host: &str, uid: &str) -> Result<SecretString, ClusterFailure> {
    let refused = |error: kube::Error| cluster_failure(host, &error, EnvironmentReason::UnableToInstallServiceAccount);
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
                return Ok(SecretString::from(token));
            }
            tokio::time::sleep(TOKEN_POLL_INTERVAL).await;
        }
    };
    let timeout =
        || (EnvironmentReason::UnableToInstallServiceAccount, "the service account got no token in time".to_string());
    tokio::time::timeout(TOKEN_DEADLINE, wait).await.map_err(|_| timeout())?
}

fn account_name(uid: &str) -> String {
    format!("argocd-manager-{uid}")
}

fn token_name(uid: &str) -> String {
    format!("argocd-manager-token-{uid}")
}

/// Returns the objects to create on a target, with their paths. The names are those of managed-gitops.
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
    fn objects_on_a_target_have_the_names_of_managed_gitops() {
        let names: Vec<String> = objects("u1").iter().map(|(_, body)| text(body, "/metadata/name")).collect();
        assert_eq!(
            names[..3],
            ["argocd-manager-u1", "argocd-manager-cluster-role-u1", "argocd-manager-cluster-role-binding-u1"]
        );
    }
}
