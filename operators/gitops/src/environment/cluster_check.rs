//! Checks on clusters, and their results.

use switchboard_sql::SecretString;

use crate::environment::kind::EnvironmentReason;
use crate::environment::kubeconfig::KubeconfigAccess;
use crate::ids::ServiceAccountId;
use crate::recheck::CheckSchedule;
use crate::rows::tenant_clusters::ServiceAccount;

/// Check to execute on a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterCheck {
    /// Verifies credentials. With `install`, a service account is created first and its token is returned.
    Verify {
        /// Digest of the checked values, which is returned with the result.
        digest: String,
        /// UID that is part of the names of created objects.
        uid: String,
        /// URL of the API server.
        host: String,
        /// Credentials to verify.
        access: KubeconfigAccess,
        /// Whether the server's certificate is not verified.
        allow_insecure: bool,
        /// Namespace to read; `None` lists all namespaces.
        namespace: Option<String>,
        /// Whether to create a service account.
        install: bool,
    },
    /// Deletes a created service account and its role.
    Retire {
        /// Account, with the credentials of its cluster.
        account: ServiceAccount,
    },
}

/// Checks to execute. They are independent, so that an unreachable cluster does not delay another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterChecks {
    /// Verification of credentials.
    pub verify: CheckSchedule<ClusterCheck>,
    /// Deletion of a service account.
    pub retire: Option<ClusterCheck>,
}

impl Default for ClusterChecks {
    fn default() -> Self {
        ClusterChecks { verify: CheckSchedule::Nothing, retire: None }
    }
}

impl ClusterCheckResult {
    /// Returns the digest of a verification.
    pub fn digest(&self) -> Option<&str> {
        match self {
            ClusterCheckResult::Verified { digest, .. } | ClusterCheckResult::Refused { digest, .. } => Some(digest),
            ClusterCheckResult::Retired { .. } | ClusterCheckResult::Kept { .. } => None,
        }
    }
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterCheckResult {
    /// The credentials work.
    Verified {
        /// Digest of the checked values.
        digest: String,
        /// Token of the created service account.
        token: Option<SecretString>,
    },
    /// The credentials do not work.
    Refused {
        /// Digest of the checked values.
        digest: String,
        /// Reason for the condition.
        reason: EnvironmentReason,
        /// Message for the condition.
        message: String,
        /// Token of the service account that was created nevertheless and can be used to delete it.
        token: Option<SecretString>,
    },
    /// The service account is deleted, or the cluster rejects even its own token.
    Retired {
        /// Account.
        account: ServiceAccountId,
    },
    /// The service account still exists, or its state is unknown.
    Kept {
        /// Account.
        account: ServiceAccountId,
    },
}
