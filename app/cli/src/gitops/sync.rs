//! `switchboard gitops sync`: deploy now, once.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use switchboard_gitops::kinds::API_VERSION;
use switchboard_gitops::kinds::sync_run::KIND;

use super::state::error;
use super::tenant::{APPLICATIONS, RUNS};
use super::wait::Aim;
use super::written::{Writing, Written};
use crate::failure::Failure;

/// The most characters of an application's name that a run's name begins with: the cluster adds some.
const MAX_PREFIX_CHARS: usize = 200;

/// Deploys an application now: creates a GitOpsDeploymentSyncRun.
#[derive(Args)]
#[command(mut_arg("wait", |arg| arg.help("Wait until it is over")))]
pub struct Sync {
    /// The application; it must have been created with --manual
    name: String,
    /// To which commit [default: what the application says]
    #[arg(long, value_name = "REVISION")]
    revision: Option<String>,
    #[command(flatten)]
    writing: Writing,
}

/// Why there is nothing to sync.
#[derive(Debug, thiserror::Error)]
enum Refused {
    /// It deploys itself.
    #[error(
        "application `{0}` cannot be synced by hand: it is automated\nhint: it is deployed whenever something changed; `switchboard gitops wait {0}` waits until it is"
    )]
    Automated(String),
    /// It cannot be deployed at all.
    #[error(
        "application `{name}` cannot be synced: {why}\nhint: correct the application or what it names; `switchboard gitops get -o yaml {name}` shows all that is known"
    )]
    Blocked { name: String, why: String },
}

impl Sync {
    /// Asks for it.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let side = self.writing.side().await?;
        let application = side.get(&APPLICATIONS, &self.name).await?;
        if !application["spec"]["type"].as_str().unwrap_or_default().eq_ignore_ascii_case("manual") {
            return Err(Refused::Automated(self.name).into());
        }
        // A run of it would wait for as long as this stands.
        if let Some(("Blocked", why)) = error(&application) {
            return Err(Refused::Blocked { name: self.name, why }.into());
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
        self.writing.tell(&side, &Written { kind: RUNS, act: "created", object }, Aim::Run).await
    }
}
