//! GitOpsDeploymentManagedEnvironment: cluster to deploy to.

mod reason;

use serde::{Deserialize, Serialize};
use switchboard_sql::Row;

pub use reason::EnvironmentReason;

use crate::deployment::kind::is_label;
use crate::kinds::{MetaCondition, ObjectMeta, field};
use crate::repository::has_login;
use crate::rows::ClusterCredentials;

/// Kind.
pub const KIND: &str = "GitOpsDeploymentManagedEnvironment";

/// Type of the Secret with the kubeconfig.
pub const SECRET_TYPE: &str = "managed-gitops.redhat.com/managed-environment";

/// Key of the Secret's data that holds the kubeconfig.
pub const SECRET_KEY: &str = "kubeconfig";

/// Only condition: whether the cluster accepted the credentials.
pub const CONDITION: &str = "ConnectionInitializationSucceeded";

/// The URL does not use TLS.
pub const NOT_HTTPS: &str = "cluster api url must start with https://";
/// The URL has a query, which is reserved for the service.
pub const URL_WITH_QUERY: &str = "the API URL must not have ? or & values";
/// The URL contains a login, which would be stored in plaintext.
pub const LOGIN_IN_URL: &str = "spec.apiURL must not contain a login, because URLs are stored in plaintext: remove the part before the @ here and in the kubeconfig, whose user has the login";

/// Managed environment of a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagedEnvironment {
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Specification by the tenant.
    pub spec: EnvironmentSpec,
    /// Status.
    #[serde(default, deserialize_with = "crate::kinds::meta::lenient_status")]
    pub status: EnvironmentStatus,
}

/// Specification by the tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentSpec {
    /// URL of the API server.
    #[serde(rename = "apiURL")]
    pub api_url: String,
    /// Name of the Secret with the credentials.
    pub credentials_secret: String,
    /// Whether the server's certificate is not verified.
    #[serde(rename = "allowInsecureSkipTLSVerify", default)]
    pub allow_insecure: bool,
    /// Whether the service creates a service account on the cluster.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub create_new_service_account: bool,
    /// Namespaces that may be deployed to; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Whether the cluster accepts cluster-scoped kinds. A tenant's project permits none of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cluster_resources: bool,
}

/// Status of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentStatus {
    /// Result of the last connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MetaCondition>,
}

impl ManagedEnvironment {
    /// Checks the rules of managed-gitops's webhook.
    pub fn admit(&self) -> Result<(), &'static str> {
        let url = &self.spec.api_url;
        if url.is_empty() || url.starts_with("https://") { Ok(()) } else { Err(NOT_HTTPS) }
    }

    /// Validates the specification, with the reason and message for its condition.
    pub fn validate(&self) -> Result<(), (EnvironmentReason, String)> {
        if !self.spec.api_url.starts_with("https://") {
            return Err((EnvironmentReason::UnsupportedApiUrl, NOT_HTTPS.to_string()));
        }
        if self.spec.api_url.contains(['?', '&']) {
            return Err((EnvironmentReason::UnsupportedApiUrl, URL_WITH_QUERY.to_string()));
        }
        if has_login(&self.spec.api_url) {
            return Err((EnvironmentReason::UnsupportedApiUrl, LOGIN_IN_URL.to_string()));
        }
        field::validate("spec.apiURL", &self.spec.api_url)
            .map_err(|said| (EnvironmentReason::UnsupportedApiUrl, said))?;
        let list = self.namespace_list().unwrap_or_default();
        let kept = field::check_storable("spec.namespaces", &list, ClusterCredentials::TABLE, "namespaces");
        kept.map_err(|said| (EnvironmentReason::InvalidNamespaceList, said))?;
        match self.spec.namespaces.iter().find(|namespace| !is_label(namespace)) {
            Some(bad) => {
                let said = format!("user specified an invalid namespace: '{bad}' is not a valid name of a namespace");
                Err((EnvironmentReason::InvalidNamespaceList, said))
            }
            None => Ok(()),
        }
    }

    /// Returns the namespaces in their stored form: sorted, without duplicates, separated by commas. `None` for all.
    pub fn namespace_list(&self) -> Option<String> {
        let mut namespaces = self.spec.namespaces.clone();
        namespaces.sort();
        namespaces.dedup();
        Some(namespaces.join(",")).filter(|list| !list.is_empty())
    }
}
