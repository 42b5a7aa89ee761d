//! `switchboard gitops sync`: deploy now, once.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use switchboard_gitops::kinds::API_VERSION;
use switchboard_gitops::kinds::sync_run::KIND;

use super::tenant::{APPLICATIONS, RUNS, Tenant};
use super::wait::{Aim, Patience};
use super::written::{Written, printed};
use crate::failure::Failure;
use crate::form::Form;

/// The most characters of an application's name that a run's name begins with: the cluster adds some.
const MAX_PREFIX_CHARS: usize = 200;

/// Deploys an application now: creates a GitOpsDeploymentSyncRun.
#[derive(Args)]
pub struct Sync {
    /// The application; it must have been created with --manual
    name: String,
    /// To which commit [default: what the application says]
    #[arg(long, value_name = "REVISION")]
    revision: Option<String>,
    /// Wait until it is over
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    patience: Patience,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    tenant: Tenant,
}

/// It deploys itself.
#[derive(Debug, thiserror::Error)]
#[error(
    "application `{0}` cannot be synced by hand: it is automated\nhint: it is deployed whenever something changed; `switchboard gitops wait {0}` waits until it is"
)]
struct Automated(String);

impl Sync {
    /// Asks for it.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let side = self.tenant.side().await?;
        let application = side.get(&APPLICATIONS, &self.name).await?;
        if !application["spec"]["type"].as_str().unwrap_or_default().eq_ignore_ascii_case("manual") {
            return Err(Automated(self.name).into());
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
        let made = side.create(&RUNS, &object).await?;
        let name = made["metadata"]["name"].as_str().unwrap_or_default().to_string();
        printed(&Written { told: RUNS.told, act: "created", object: made }, self.output)?;
        if self.wait {
            return self.patience.wait(&side, &name, Aim::Run).await;
        }
        Ok(ExitCode::SUCCESS)
    }
}
