//! GitOpsDeploymentManagedEnvironment: a cluster to deploy to.

mod reason;

use serde::{Deserialize, Serialize};
use switchboard_ledger::Row;
use switchboard_ledger::rows::ClusterCredentials;

pub use reason::Reason;

use super::deployment::is_label;
use super::{Meta, MetaCondition, field};
use crate::repository::has_login;

/// The kind.
pub const KIND: &str = "GitOpsDeploymentManagedEnvironment";

/// The type of Secret that holds its kubeconfig.
pub const SECRET_TYPE: &str = "managed-gitops.redhat.com/managed-environment";

/// The key of the kubeconfig in it.
pub const SECRET_KEY: &str = "kubeconfig";

/// The one condition: whether the cluster was reached as it should be.
pub const CONDITION: &str = "ConnectionInitializationSucceeded";

/// The URL is not for TLS.
pub const NOT_HTTPS: &str = "cluster api url must start with https://";
/// The URL has a query, which is ours to add.
pub const URL_WITH_QUERY: &str = "the API URL must not have ? or & values";
/// The URL holds a login, which would be kept in clear.
pub const LOGIN_IN_URL: &str = "spec.apiURL must not contain a login, which would be kept in clear: remove what is before the @, there and in the kubeconfig; the user of the kubeconfig has it";

/// A cluster, and how it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagedEnvironment {
    /// Who it is.
    pub metadata: Meta,
    /// What the tenant wants.
    pub spec: EnvironmentSpec,
    /// How it stands.
    #[serde(default, deserialize_with = "super::meta::status")]
    pub status: EnvironmentStatus,
}

/// What the tenant wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentSpec {
    /// Its API server.
    #[serde(rename = "apiURL")]
    pub api_url: String,
    /// The Secret that says how to reach it.
    pub credentials_secret: String,
    /// Whether its certificate is not checked.
    #[serde(rename = "allowInsecureSkipTLSVerify", default)]
    pub allow_insecure: bool,
    /// Whether a service account of our own is made there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub create_new_service_account: bool,
    /// Namespaces that may be deployed to; none is all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Whether the cluster takes kinds without a namespace, too. A tenant's project permits none of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cluster_resources: bool,
}

/// How it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentStatus {
    /// Whether it was reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MetaCondition>,
}

impl ManagedEnvironment {
    /// What the original's webhook would refuse.
    pub fn admit(&self) -> Result<(), &'static str> {
        let url = &self.spec.api_url;
        if url.is_empty() || url.starts_with("https://") { Ok(()) } else { Err(NOT_HTTPS) }
    }

    /// What is wrong with what the tenant wants.
    pub fn judge(&self) -> Result<(), (Reason, String)> {
        if !self.spec.api_url.starts_with("https://") {
            return Err((Reason::UnsupportedApiUrl, NOT_HTTPS.to_string()));
        }
        if self.spec.api_url.contains(['?', '&']) {
            return Err((Reason::UnsupportedApiUrl, URL_WITH_QUERY.to_string()));
        }
        if has_login(&self.spec.api_url) {
            return Err((Reason::UnsupportedApiUrl, LOGIN_IN_URL.to_string()));
        }
        field::judge("spec.apiURL", &self.spec.api_url).map_err(|said| (Reason::UnsupportedApiUrl, said))?;
        let list = self.namespace_list().unwrap_or_default();
        let kept = field::judge_kept("spec.namespaces", &list, ClusterCredentials::TABLE, "namespaces");
        kept.map_err(|said| (Reason::InvalidNamespaceList, said))?;
        match self.spec.namespaces.iter().find(|namespace| !is_label(namespace)) {
            Some(bad) => {
                let said = format!("user specified an invalid namespace: '{bad}' is not a valid name of a namespace");
                Err((Reason::InvalidNamespaceList, said))
            }
            None => Ok(()),
        }
    }

    /// The list of namespaces as it is stored: sorted, each once, with commas; none for all.
    pub fn namespace_list(&self) -> Option<String> {
        let mut namespaces = self.spec.namespaces.clone();
        namespaces.sort();
        namespaces.dedup();
        Some(namespaces.join(",")).filter(|list| !list.is_empty())
    }
}
