//! GitOpsDeploymentSyncRun: deploy now.

use serde::{Deserialize, Serialize};
use switchboard_ledger::Row;
use switchboard_ledger::rows::SyncOperation;

use super::{Condition, Meta, field};

/// The kind.
pub const KIND: &str = "GitOpsDeploymentSyncRun";

/// The deployment's name was changed.
pub const NAME_IMMUTABLE: &str =
    "deployment name field is immutable: changing it from its initial value is not supported";
/// The revision was changed.
pub const REVISION_IMMUTABLE: &str =
    "revision change is not supported: changing it from its initial value is not supported";

/// A name that exists to show that names can be refused.
const REFUSED_NAME: &str = "zyxwvutsrqponmlkjihgfedcba-abcdefghijklmnoqrstuvwxyz";
const BAD_NAME: &str = "name should not be zyxwvutsrqponmlkjihgfedcba-abcdefghijklmnoqrstuvwxyz";

/// A wish to deploy now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRun {
    /// Who it is.
    pub metadata: Meta,
    /// What the tenant wants.
    pub spec: SyncRunSpec,
    /// How it stands.
    #[serde(default, deserialize_with = "super::meta::status")]
    pub status: SyncRunStatus,
}

/// What the tenant wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncRunSpec {
    /// Which deployment.
    pub gitops_deployment_name: String,
    /// Which commit; empty is what the deployment says.
    #[serde(rename = "revisionID", default, skip_serializing_if = "String::is_empty")]
    pub revision_id: String,
}

/// How it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRunStatus {
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl SyncRun {
    /// What the original's webhook would refuse.
    pub fn admit(&self) -> Result<(), &'static str> {
        if self.metadata.name == REFUSED_NAME { Err(BAD_NAME) } else { Ok(()) }
    }

    /// What is wrong with what the tenant wants.
    pub fn judge(&self) -> Result<(), String> {
        field::judge("spec.revisionID", &self.spec.revision_id)?;
        field::judge_kept("spec.revisionID", &self.spec.revision_id, SyncOperation::TABLE, "revision")
    }
}

/// The deployment deploys itself.
pub fn automated_not_allowed(name: &str) -> String {
    format!(
        "invalid GitOpsDeploymentSyncRun '{name}'. Syncing a GitOpsDeployment with Automated sync policy is not allowed"
    )
}
