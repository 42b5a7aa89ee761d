//! GitOpsDeploymentSyncRun: request for one sync.

use serde::{Deserialize, Serialize};
use switchboard_sql::Row;

use crate::kinds::{DeploymentCondition, ObjectMeta, field};
use crate::rows::SyncOperation;

/// Kind.
pub const KIND: &str = "GitOpsDeploymentSyncRun";

/// The deployment's name was changed.
pub const NAME_IMMUTABLE: &str =
    "deployment name field is immutable: changing it from its initial value is not supported";
/// The revision was changed.
pub const REVISION_IMMUTABLE: &str =
    "revision change is not supported: changing it from its initial value is not supported";

/// Name that managed-gitops rejects as an example of validation.
const REFUSED_NAME: &str = "zyxwvutsrqponmlkjihgfedcba-abcdefghijklmnoqrstuvwxyz";
const BAD_NAME: &str = "name should not be zyxwvutsrqponmlkjihgfedcba-abcdefghijklmnoqrstuvwxyz";

/// Request for one sync.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRun {
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Specification by the tenant.
    pub spec: SyncRunSpec,
    /// Status.
    #[serde(default, deserialize_with = "crate::kinds::meta::lenient_status")]
    pub status: SyncRunStatus,
}

/// Specification by the tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncRunSpec {
    /// Name of the deployment.
    pub gitops_deployment_name: String,
    /// Commit; empty for the revision of the deployment.
    #[serde(rename = "revisionID", default, skip_serializing_if = "String::is_empty")]
    pub revision_id: String,
}

/// Status of a sync run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRunStatus {
    /// Errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<DeploymentCondition>,
}

impl SyncRun {
    /// Checks the rules of managed-gitops's webhook.
    pub fn admit(&self) -> Result<(), &'static str> {
        if self.metadata.name == REFUSED_NAME { Err(BAD_NAME) } else { Ok(()) }
    }

    /// Validates the specification.
    pub fn validate(&self) -> Result<(), String> {
        field::validate("spec.revisionID", &self.spec.revision_id)?;
        field::check_storable("spec.revisionID", &self.spec.revision_id, SyncOperation::TABLE, "revision")
    }
}

/// Returns the error message for a run of an automated deployment.
pub fn automated_not_allowed(name: &str) -> String {
    format!(
        "invalid GitOpsDeploymentSyncRun '{name}'. Syncing a GitOpsDeployment with Automated sync policy is not allowed"
    )
}
