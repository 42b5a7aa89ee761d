//! `switchboard gitops delete`, `env delete`, `repo delete`: deletes a resource and its dependents.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use switchboard_gitops::deployment::kind::FINALIZER;

use super::get::ResourceKind;
use super::tenant::{TenantClient, TenantClientError, TenantKind};
use super::wait::WaitGoal;
use super::write_args::{WriteArgs, WrittenObject};
use crate::failure::CommandError;

/// Delete a resource
#[derive(Args)]
#[command(mut_arg("wait", |arg| arg.help("Wait until the resource is deleted")))]
pub struct DeleteResource {
    /// Name of the resource
    name: String,
    #[command(flatten)]
    writing: WriteArgs,
}

impl DeleteResource {
    /// Deletes the resource and prints its last state.
    pub async fn run(self, what: ResourceKind) -> Result<ExitCode, CommandError> {
        let (side, kind) = (self.writing.client().await?, what.kind());
        let object = side.get(&kind, &self.name).await?;
        if self.writing.waits() && what == ResourceKind::Applications {
            add_finalizer(&side, &kind, &object).await?;
        }
        side.delete(&kind, &self.name).await?;
        self.writing.finish(&side, &WrittenObject { kind, action: "deleted", object }, WaitGoal::Deleted).await
    }
}

/// Maximum number of conflicting writes before the command fails.
const TRIES: usize = 10;

/// Adds the finalizer that keeps an application until all its resources are deleted. Without it, the application is
/// deleted at once and a wait could not observe the rest.
async fn add_finalizer(side: &TenantClient, kind: &TenantKind, object: &Value) -> Result<(), TenantClientError> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let mut last = object.clone();
    for tries_left in (0..TRIES).rev() {
        let meta = &last["metadata"];
        let mut finalizers = meta["finalizers"].as_array().cloned().unwrap_or_default();
        // An object under deletion accepts no new finalizers.
        if meta["deletionTimestamp"].is_string() || finalizers.iter().any(|one| one == FINALIZER) {
            return Ok(());
        }
        finalizers.push(json!(FINALIZER));
        let patch = json!({ "metadata": { "resourceVersion": meta["resourceVersion"], "finalizers": finalizers } });
        match side.patch(kind, name, &patch).await {
            Err(TenantClientError::Refused { code: 409, .. }) if tries_left > 0 => last = side.get(kind, name).await?,
            other => return other.map(drop),
        }
    }
    Ok(())
}
