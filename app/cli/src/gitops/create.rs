//! `switchboard gitops create`: creates an application.

use clap::Args;
use serde_json::json;
use switchboard_gitops::deployment::kind::{FINALIZER, KIND};
use switchboard_gitops::kinds::{API_VERSION, GitOpsDeployment};

use super::tenant::APPLICATIONS;
use super::wait::WaitGoal;
use super::write_args::{WriteArgs, WrittenObject};
use crate::failure::CommandError;

/// Create an application (GitOpsDeployment)
#[derive(Args)]
#[command(mut_arg("wait", |arg| arg.help("Wait until the application is synced and healthy")))]
pub struct CreateApplication {
    /// Name of the application
    name: String,
    /// URL of the git repository
    #[arg(long, value_name = "URL")]
    repo: String,
    /// Directory in the repository
    #[arg(long, value_name = "DIR")]
    path: String,
    /// Branch, tag or commit [default: the repository's default branch]
    #[arg(long, value_name = "REVISION", default_value = "", hide_default_value = true)]
    revision: String,
    /// Environment to deploy to [default: the tenant's own namespace]
    #[arg(long, value_name = "NAME", requires = "to_namespace")]
    environment: Option<String>,
    /// Namespace in the environment
    #[arg(long, value_name = "NAMESPACE", requires = "environment")]
    to_namespace: Option<String>,
    /// Deploy only on `switchboard gitops sync`
    #[arg(long)]
    manual: bool,
    /// Create the namespace in the environment if it does not exist
    #[arg(long)]
    create_namespace: bool,
    /// Make a deletion wait until all deployed resources are deleted
    #[arg(long)]
    wait_for_removal: bool,
    #[command(flatten)]
    writing: WriteArgs,
}

/// The arguments are not a valid application.
#[derive(Debug, thiserror::Error)]
#[error("could not create application `{name}`: {why}\nhint: see `switchboard gitops create --help`")]
struct InvalidApplication {
    name: String,
    why: String,
}

impl CreateApplication {
    /// Creates the application.
    pub async fn run(self) -> Result<std::process::ExitCode, CommandError> {
        let mut new_deployment = GitOpsDeployment::default();
        new_deployment.spec.source.repo_url = self.repo.clone();
        new_deployment.spec.source.path = self.path.clone();
        new_deployment.spec.source.target_revision = self.revision.clone();
        new_deployment.spec.destination.environment = self.environment.clone().unwrap_or_default();
        new_deployment.spec.destination.namespace = self.to_namespace.clone().unwrap_or_default();
        new_deployment.spec.r#type = if self.manual { "manual" } else { "automated" }.to_string();
        if self.create_namespace {
            new_deployment
                .spec
                .sync_policy
                .get_or_insert_default()
                .sync_options
                .push("CreateNamespace=true".to_string());
        }
        new_deployment.validate().map_err(|why| InvalidApplication { name: self.name.clone(), why })?;
        let side = self.writing.client().await?;
        let mut object = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "name": self.name, "namespace": side.namespace },
            "spec": new_deployment.spec,
        });
        if self.wait_for_removal {
            object["metadata"]["finalizers"] = json!([FINALIZER]);
        }
        let object = side.create(&APPLICATIONS, &object).await?;
        self.writing
            .finish(&side, &WrittenObject { kind: APPLICATIONS, action: "created", object }, WaitGoal::Ready)
            .await
    }
}
