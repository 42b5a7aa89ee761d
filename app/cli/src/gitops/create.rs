//! `switchboard gitops create`: an application.

use clap::Args;
use serde_json::json;
use switchboard_gitops::kinds::deployment::{FINALIZER, KIND};
use switchboard_gitops::kinds::{API_VERSION, Deployment};

use super::tenant::APPLICATIONS;
use super::wait::Aim;
use super::written::{Writing, Written};
use crate::failure::Failure;

/// Creates an application: a GitOpsDeployment.
#[derive(Args)]
#[command(mut_arg("wait", |arg| arg.help("Wait until it is deployed and healthy")))]
pub struct Create {
    /// Its name
    name: String,
    /// The git repository
    #[arg(long, value_name = "URL")]
    repo: String,
    /// The directory in it
    #[arg(long, value_name = "DIR")]
    path: String,
    /// Branch, tag or commit [default: the repository's default branch]
    #[arg(long, value_name = "REVISION", default_value = "", hide_default_value = true)]
    revision: String,
    /// The environment to deploy to [default: the tenant's own namespace]
    #[arg(long, value_name = "NAME", requires = "to_namespace")]
    environment: Option<String>,
    /// The namespace there
    #[arg(long, value_name = "NAMESPACE", requires = "environment")]
    to_namespace: Option<String>,
    /// Deploy only when `switchboard gitops sync` asks for it
    #[arg(long)]
    manual: bool,
    /// Create the namespace there if it is missing
    #[arg(long)]
    create_namespace: bool,
    /// Let a deletion wait until all that was deployed is gone
    #[arg(long)]
    wait_for_removal: bool,
    #[command(flatten)]
    writing: Writing,
}

/// It cannot be done as it is asked for.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not create application `{name}`: {why}\nhint: `switchboard gitops create --help` says what is understood"
)]
struct Refused {
    name: String,
    why: String,
}

impl Create {
    /// Creates it.
    pub async fn run(self) -> Result<std::process::ExitCode, Failure> {
        let mut wanted = Deployment::default();
        wanted.spec.source.repo_url = self.repo.clone();
        wanted.spec.source.path = self.path.clone();
        wanted.spec.source.target_revision = self.revision.clone();
        wanted.spec.destination.environment = self.environment.clone().unwrap_or_default();
        wanted.spec.destination.namespace = self.to_namespace.clone().unwrap_or_default();
        wanted.spec.r#type = if self.manual { "manual" } else { "automated" }.to_string();
        if self.create_namespace {
            wanted.spec.sync_policy.get_or_insert_default().sync_options.push("CreateNamespace=true".to_string());
        }
        wanted.judge().map_err(|why| Refused { name: self.name.clone(), why })?;
        let side = self.writing.side().await?;
        let mut object = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "name": self.name, "namespace": side.namespace },
            "spec": wanted.spec,
        });
        if self.wait_for_removal {
            object["metadata"]["finalizers"] = json!([FINALIZER]);
        }
        let object = side.create(&APPLICATIONS, &object).await?;
        self.writing.tell(&side, &Written { kind: APPLICATIONS, act: "created", object }, Aim::Ready).await
    }
}
