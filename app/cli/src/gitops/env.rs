//! `switchboard gitops env`: manages environments.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use switchboard_gitops::environment::kind::{EnvironmentReason, EnvironmentSpec, KIND, SECRET_KEY, SECRET_TYPE};
use switchboard_gitops::kinds::{API_VERSION, ManagedEnvironment};
use switchboard_runtime::gitops::credential::{self, owned_secret};

use super::delete::DeleteResource;
use super::get::{GetArgs, ResourceKind};
use super::tenant::{ENVIRONMENTS, SECRETS, TenantClient};
use super::wait::WaitGoal;
use super::write_args::{WriteArgs, WrittenObject};
use crate::failure::CommandError;

/// Manage environments (GitOpsDeploymentManagedEnvironments)
#[derive(Args)]
pub struct Env {
    #[command(subcommand)]
    command: EnvCommand,
}

#[derive(Subcommand)]
enum EnvCommand {
    /// Create an environment, and a Secret for its kubeconfig
    Create(Box<CreateEnvironment>),
    /// List environments and their status
    Get(GetArgs),
    /// Delete an environment, and the Secret created for it
    Delete(DeleteResource),
}

#[derive(Args)]
#[command(mut_arg("wait", |arg| arg.help("Wait until the environment is connected")))]
struct CreateEnvironment {
    /// Name of the environment
    name: String,
    /// URL of the API server, as in the kubeconfig
    #[arg(long, value_name = "URL")]
    url: String,
    /// Kubeconfig file with the credentials; `-` is stdin
    #[arg(long, value_name = "FILE", required_unless_present = "secret", conflicts_with = "secret")]
    credentials: Option<PathBuf>,
    /// Existing Secret with the kubeconfig, in the same namespace
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
    /// Skip verification of the server's certificate
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// Create a service account in the cluster instead of using the kubeconfig's user
    #[arg(long)]
    new_service_account: bool,
    /// Namespace that may be deployed to; may be repeated [default: all namespaces]
    #[arg(long = "only", value_name = "NAMESPACE")]
    namespaces: Vec<String>,
    /// With --only: allow cluster-scoped kinds in Argo CD's cluster Secret; the tenant's AppProject still permits none
    /// of them
    #[arg(long, requires = "namespaces")]
    cluster_resources: bool,
    #[command(flatten)]
    writing: WriteArgs,
}

/// The arguments are not a valid environment.
#[derive(Debug, thiserror::Error)]
#[error("could not create environment `{name}`: {why}\nhint: {hint}")]
struct InvalidEnvironment {
    name: String,
    why: String,
    hint: &'static str,
}

impl InvalidEnvironment {
    fn new(name: &str, (reason, why): (EnvironmentReason, String)) -> Self {
        let hint = match reason {
            EnvironmentReason::InvalidNamespaceList => "pass the name of a namespace of that cluster with --only",
            _ => "pass the `server` of a cluster of the kubeconfig with --url",
        };
        Self { name: name.to_string(), why, hint }
    }
}

impl Env {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        match self.command {
            EnvCommand::Create(create) => create.run().await,
            EnvCommand::Get(look) => look.run(ResourceKind::Environments).await.map(|()| ExitCode::SUCCESS),
            EnvCommand::Delete(delete) => delete.run(ResourceKind::Environments).await,
        }
    }
}

impl CreateEnvironment {
    async fn run(self) -> Result<ExitCode, CommandError> {
        let config = self.credentials.as_deref().map(|path| credential::read("a kubeconfig", path)).transpose()?;
        let spec = EnvironmentSpec {
            api_url: self.url.clone(),
            credentials_secret: self.secret.clone().unwrap_or_else(|| format!("{}-kubeconfig", self.name)),
            allow_insecure: self.insecure_skip_tls_verify,
            create_new_service_account: self.new_service_account,
            namespaces: self.namespaces.clone(),
            cluster_resources: self.cluster_resources,
        };
        let new_environment = ManagedEnvironment { spec, ..ManagedEnvironment::default() };
        new_environment.validate().map_err(|why| InvalidEnvironment::new(&self.name, why))?;
        let side = self.writing.client().await?;
        let object = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "name": self.name, "namespace": side.namespace },
            "spec": new_environment.spec,
        });
        // The environment is created first, so that its Secret has an owner from the start.
        let created = side.create(&ENVIRONMENTS, &object).await?;
        if let Some(config) = config {
            let secret = owned_secret(
                &created,
                &new_environment.spec.credentials_secret,
                SECRET_TYPE,
                &[(SECRET_KEY, config.as_str())],
            );
            delete_on_error(&side, &self.name, side.create(&SECRETS, &secret).await).await?;
        }
        self.writing
            .finish(
                &side,
                &WrittenObject { kind: ENVIRONMENTS, action: "created", object: created },
                WaitGoal::Environment,
            )
            .await
    }
}

/// Deletes the environment again if its Secret could not be created.
async fn delete_on_error<T, E: Into<CommandError>>(
    side: &TenantClient,
    name: &str,
    created: Result<T, E>,
) -> Result<T, CommandError> {
    match created {
        Ok(created) => Ok(created),
        Err(error) => {
            side.delete(&ENVIRONMENTS, name).await?;
            Err(error.into())
        }
    }
}
