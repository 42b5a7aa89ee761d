//! Why an environment can be used or cannot: the word of its condition, and the status that goes with it.

use crate::kinds::Truth;

/// Why an environment can be used or cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It can.
    Succeeded,
    /// Its URL will not do.
    UnsupportedApiUrl,
    /// Kubernetes failed, or the Secret is missing.
    KubernetesError,
    /// The database failed.
    DatabaseError,
    /// The Secret is of another type.
    InvalidSecretType,
    /// The Secret holds no kubeconfig.
    MissingKubeConfigField,
    /// No client can be made of it.
    UnableToCreateClient,
    /// The credentials it holds cannot be used.
    UnableToCreateClusterCredentials,
    /// The service account could not be made.
    UnableToInstallServiceAccount,
    /// The cluster does not take the credentials.
    UnableToValidateClusterCredentials,
    /// No context of the kubeconfig uses the cluster.
    UnableToLocateContext,
    /// The kubeconfig is none.
    UnableToParseKubeconfigData,
    /// A namespace of the list is no name.
    InvalidNamespaceList,
    /// A client's settings cannot be told from it.
    UnableToRetrieveRestConfig,
    /// Nobody knows.
    UnknownError,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 15] = [
        Reason::Succeeded,
        Reason::UnsupportedApiUrl,
        Reason::KubernetesError,
        Reason::DatabaseError,
        Reason::InvalidSecretType,
        Reason::MissingKubeConfigField,
        Reason::UnableToCreateClient,
        Reason::UnableToCreateClusterCredentials,
        Reason::UnableToInstallServiceAccount,
        Reason::UnableToValidateClusterCredentials,
        Reason::UnableToLocateContext,
        Reason::UnableToParseKubeconfigData,
        Reason::InvalidNamespaceList,
        Reason::UnableToRetrieveRestConfig,
        Reason::UnknownError,
    ];

    /// The one of a word.
    pub fn named(word: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

    /// The status of the condition. Which of them are told as `Unknown` is the original's choice: programs look at it.
    pub fn status(self) -> Truth {
        match self {
            Reason::Succeeded => Truth::True,
            Reason::UnsupportedApiUrl
            | Reason::DatabaseError
            | Reason::UnableToCreateClusterCredentials
            | Reason::UnableToValidateClusterCredentials
            | Reason::InvalidNamespaceList
            | Reason::UnknownError => Truth::Unknown,
            Reason::KubernetesError
            | Reason::InvalidSecretType
            | Reason::MissingKubeConfigField
            | Reason::UnableToCreateClient
            | Reason::UnableToInstallServiceAccount
            | Reason::UnableToLocateContext
            | Reason::UnableToParseKubeconfigData
            | Reason::UnableToRetrieveRestConfig => Truth::False,
        }
    }

    /// Whether it came of a question to the cluster, which is asked again by itself. The others need somebody who writes something else.
    pub fn is_of_cluster(self) -> bool {
        matches!(
            self,
            Reason::UnableToCreateClient
                | Reason::UnableToInstallServiceAccount
                | Reason::UnableToValidateClusterCredentials
        )
    }

    /// The word of the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Succeeded => "Succeeded",
            Reason::UnsupportedApiUrl => "UnsupportedAPIURL",
            Reason::KubernetesError => "KubernetesError",
            Reason::DatabaseError => "DatabaseError",
            Reason::InvalidSecretType => "InvalidSecretType",
            Reason::MissingKubeConfigField => "MissingKubeConfigField",
            Reason::UnableToCreateClient => "UnableToCreateClient",
            Reason::UnableToCreateClusterCredentials => "UnableToCreateClusterCredentials",
            Reason::UnableToInstallServiceAccount => "UnableToInstallServiceAccount",
            Reason::UnableToValidateClusterCredentials => "UnableToValidateClusterCredentials",
            Reason::UnableToLocateContext => "UnableToLocateContext",
            Reason::UnableToParseKubeconfigData => "UnableToParseKubeconfigData",
            Reason::InvalidNamespaceList => "InvalidNamespaceList",
            Reason::UnableToRetrieveRestConfig => "UnableToRetrieveRestConfig",
            Reason::UnknownError => "UnknownError",
        }
    }
}
