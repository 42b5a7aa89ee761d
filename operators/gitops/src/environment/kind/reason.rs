//! Reasons of an environment's condition, and their status.

use crate::kinds::ConditionStatus;

/// Reason of an environment's condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvironmentReason {
    /// The environment can be used.
    Succeeded,
    /// The URL is not supported.
    UnsupportedApiUrl,
    /// A Kubernetes request failed, or the Secret is missing.
    KubernetesError,
    /// A database request failed.
    DatabaseError,
    /// The Secret has another type.
    InvalidSecretType,
    /// The Secret contains no kubeconfig.
    MissingKubeConfigField,
    /// No client can be created.
    UnableToCreateClient,
    /// The credentials cannot be used.
    UnableToCreateClusterCredentials,
    /// The service account cannot be created.
    UnableToInstallServiceAccount,
    /// The cluster rejects the credentials.
    UnableToValidateClusterCredentials,
    /// No context of the kubeconfig uses the cluster.
    UnableToLocateContext,
    /// The kubeconfig is invalid.
    UnableToParseKubeconfigData,
    /// The list contains an invalid namespace.
    InvalidNamespaceList,
    /// The client configuration cannot be read.
    UnableToRetrieveRestConfig,
    /// The cause is unknown.
    UnknownError,
}

impl EnvironmentReason {
    /// All reasons.
    pub const ALL: [EnvironmentReason; 15] = [
        EnvironmentReason::Succeeded,
        EnvironmentReason::UnsupportedApiUrl,
        EnvironmentReason::KubernetesError,
        EnvironmentReason::DatabaseError,
        EnvironmentReason::InvalidSecretType,
        EnvironmentReason::MissingKubeConfigField,
        EnvironmentReason::UnableToCreateClient,
        EnvironmentReason::UnableToCreateClusterCredentials,
        EnvironmentReason::UnableToInstallServiceAccount,
        EnvironmentReason::UnableToValidateClusterCredentials,
        EnvironmentReason::UnableToLocateContext,
        EnvironmentReason::UnableToParseKubeconfigData,
        EnvironmentReason::InvalidNamespaceList,
        EnvironmentReason::UnableToRetrieveRestConfig,
        EnvironmentReason::UnknownError,
    ];

    /// Parses a reason.
    pub fn parse(word: &str) -> Option<EnvironmentReason> {
        EnvironmentReason::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

    /// Returns the status of the condition. Programs depend on the statuses, which are those of managed-gitops.
    pub fn status(self) -> ConditionStatus {
        match self {
            EnvironmentReason::Succeeded => ConditionStatus::True,
            EnvironmentReason::UnsupportedApiUrl
            | EnvironmentReason::DatabaseError
            | EnvironmentReason::UnableToCreateClusterCredentials
            | EnvironmentReason::UnableToValidateClusterCredentials
            | EnvironmentReason::InvalidNamespaceList
            | EnvironmentReason::UnknownError => ConditionStatus::Unknown,
            EnvironmentReason::KubernetesError
            | EnvironmentReason::InvalidSecretType
            | EnvironmentReason::MissingKubeConfigField
            | EnvironmentReason::UnableToCreateClient
            | EnvironmentReason::UnableToInstallServiceAccount
            | EnvironmentReason::UnableToLocateContext
            | EnvironmentReason::UnableToParseKubeconfigData
            | EnvironmentReason::UnableToRetrieveRestConfig => ConditionStatus::False,
        }
    }

    /// Whether the reason results from a check on the cluster, which is repeated automatically. The others require a
    /// change of the input.
    pub fn is_from_cluster(self) -> bool {
        matches!(
            self,
            EnvironmentReason::UnableToCreateClient
                | EnvironmentReason::UnableToInstallServiceAccount
                | EnvironmentReason::UnableToValidateClusterCredentials
        )
    }

    /// Name of the reason.
    pub fn as_str(self) -> &'static str {
        match self {
            EnvironmentReason::Succeeded => "Succeeded",
            EnvironmentReason::UnsupportedApiUrl => "UnsupportedAPIURL",
            EnvironmentReason::KubernetesError => "KubernetesError",
            EnvironmentReason::DatabaseError => "DatabaseError",
            EnvironmentReason::InvalidSecretType => "InvalidSecretType",
            EnvironmentReason::MissingKubeConfigField => "MissingKubeConfigField",
            EnvironmentReason::UnableToCreateClient => "UnableToCreateClient",
            EnvironmentReason::UnableToCreateClusterCredentials => "UnableToCreateClusterCredentials",
            EnvironmentReason::UnableToInstallServiceAccount => "UnableToInstallServiceAccount",
            EnvironmentReason::UnableToValidateClusterCredentials => "UnableToValidateClusterCredentials",
            EnvironmentReason::UnableToLocateContext => "UnableToLocateContext",
            EnvironmentReason::UnableToParseKubeconfigData => "UnableToParseKubeconfigData",
            EnvironmentReason::InvalidNamespaceList => "InvalidNamespaceList",
            EnvironmentReason::UnableToRetrieveRestConfig => "UnableToRetrieveRestConfig",
            EnvironmentReason::UnknownError => "UnknownError",
        }
    }
}
