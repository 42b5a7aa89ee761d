//! `switchboard gitops sync`: deploys an application once.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use switchboard_gitops::kinds::API_VERSION;
use switchboard_gitops::state::resource_error;
use switchboard_gitops::sync_run::kind::KIND;

use super::tenant::{APPLICATIONS, RUNS};
use super::wait::WaitGoal;
use super::write_args::{WriteArgs, WrittenObject};
use crate::failure::CommandError;

/// Maximum length of the name prefix of a sync run; the cluster appends a suffix.
const MAX_PREFIX_CHARS: usize = 200;

/// Deploy an application once by creating a GitOpsDeploymentSyncRun
#[derive(Args)]
#[command(mut_arg("wait", |arg| arg.help("Wait until the sync is finished")))]
pub struct SyncCommand {
    /// Application to deploy; created with --manual
    name: String,
    /// Commit to deploy [default: the application's revision]
    #[arg(long, value_name = "REVISION")]
    revision: Option<String>,
    #[command(flatten)]
    writing: WriteArgs,
}

/// Reason why an application cannot be synced.
#[derive(Debug, thiserror::Error)]
enum SyncError {
    /// The application is synced automatically.
    #[error(
        "application `{0}` cannot be synced by hand: it is automated\nhint: it is deployed on every change; wait for it with `switchboard gitops wait {0}`"
    )]
    Automated(String),
    /// The application has an error that blocks every sync.
    #[error(
        "application `{name}` cannot be synced: {why}\nhint: correct the application or the objects it refers to; `switchboard gitops get -o yaml {name}` shows its status"
    )]
    Blocked { name: String, why: String },
}

impl SyncCommand {
    /// Creates the sync run.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        let side = self.writing.client().await?;
        let application = side.get(&APPLICATIONS, &self.name).await?;
        if !application["spec"]["type"].as_str().unwrap_or_default().eq_ignore_ascii_case("manual") {
            return Err(SyncError::Automated(self.name).into());
        }
        // A sync run would wait as long as this error persists.
        if let Some(why) = resource_error(&application) {
            return Err(SyncError::Blocked { name: self.name, why }.into());
        }
        let prefix: String = self.name.chars().take(MAX_PREFIX_CHARS).collect();
        let mut object = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "generateName": format!("{prefix}-"), "namespace": side.namespace },
            "spec": { "gitopsDeploymentName": self.name },
        });
        if let Some(revision) = &self.revision {
            object["spec"]["revisionID"] = json!(revision);
        }
        let object = side.create(&RUNS, &object).await?;
        self.writing.finish(&side, &WrittenObject { kind: RUNS, action: "created", object }, WaitGoal::SyncRun).await
    }
}
