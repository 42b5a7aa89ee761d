//! `switchboard gitops env`: clusters to deploy to.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use switchboard_gitops::kinds::environment::{EnvironmentSpec, KIND, Reason, SECRET_KEY, SECRET_TYPE};
use switchboard_gitops::kinds::{API_VERSION, ManagedEnvironment};

use super::credential::{self, secret_of};
use super::delete::Delete;
use super::get::{Look, What};
use super::tenant::{ENVIRONMENTS, SECRETS, Side};
use super::wait::Aim;
use super::written::{Writing, Written};
use crate::failure::Failure;

/// Clusters to deploy to: GitOpsDeploymentManagedEnvironments.
#[derive(Args)]
pub struct Env {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Creates an environment, and a Secret for its kubeconfig.
    Create(Box<Create>),
    /// Shows them and how they stand.
    Get(Look),
    /// Deletes one, and the Secret made for it.
    Delete(Delete),
}

#[derive(Args)]
#[command(mut_arg("wait", |arg| arg.help("Wait until it is connected")))]
struct Create {
    /// Its name
    name: String,
    /// Its API server, as the kubeconfig names it
    #[arg(long, value_name = "URL")]
    url: String,
    /// The kubeconfig it is reached with; `-` is stdin
    #[arg(long, value_name = "FILE", required_unless_present = "secret", conflicts_with = "secret")]
    credentials: Option<PathBuf>,
    /// A Secret of the namespace that holds one
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
    /// Do not check the server's certificate
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// Make a service account there in place of using that of the kubeconfig
    #[arg(long)]
    new_service_account: bool,
    /// Only these namespaces may be deployed to; may be repeated [default: all]
    #[arg(long = "only", value_name = "NAMESPACE")]
    namespaces: Vec<String>,
    /// With --only: tell Argo CD that this cluster takes kinds without a namespace, too; the tenant's project there still
    /// permits none of them
    #[arg(long, requires = "namespaces")]
    cluster_resources: bool,
    #[command(flatten)]
    writing: Writing,
}

/// It cannot be done as it is asked for.
#[derive(Debug, thiserror::Error)]
#[error("could not create environment `{name}`: {why}\nhint: {hint}")]
struct Refused {
    name: String,
    why: String,
    hint: &'static str,
}

impl Refused {
    fn new(name: &str, (reason, why): (Reason, String)) -> Self {
        let hint = match reason {
            Reason::InvalidNamespaceList => "--only is the name of a namespace of that cluster",
            _ => "--url is the `server` of a cluster of the kubeconfig",
        };
        Self { name: name.to_string(), why, hint }
    }
}

impl Env {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Create(create) => create.run().await,
            Command::Get(look) => look.run(What::Environments).await.map(|()| ExitCode::SUCCESS),
            Command::Delete(delete) => delete.run(What::Environments).await,
        }
    }
}

impl Create {
    async fn run(self) -> Result<ExitCode, Failure> {
        let config = self.credentials.as_deref().map(|path| credential::read("a kubeconfig", path)).transpose()?;
        let spec = EnvironmentSpec {
            api_url: self.url.clone(),
            credentials_secret: self.secret.clone().unwrap_or_else(|| format!("{}-kubeconfig", self.name)),
            allow_insecure: self.insecure_skip_tls_verify,
            create_new_service_account: self.new_service_account,
            namespaces: self.namespaces.clone(),
            cluster_resources: self.cluster_resources,
        };
        let wanted = ManagedEnvironment { spec, ..ManagedEnvironment::default() };
        wanted.judge().map_err(|why| Refused::new(&self.name, why))?;
        let side = self.writing.side().await?;
        let object = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "name": self.name, "namespace": side.namespace },
            "spec": wanted.spec,
        });
        // The environment first, so that its Secret belongs to it from the start.
        let made = side.create(&ENVIRONMENTS, &object).await?;
        if let Some(config) = config {
            let secret =
                secret_of(&made, &wanted.spec.credentials_secret, SECRET_TYPE, &[(SECRET_KEY, config.as_str())]);
            undone(&side, &self.name, side.create(&SECRETS, &secret).await).await?;
        }
        self.writing.tell(&side, &Written { kind: ENVIRONMENTS, act: "created", object: made }, Aim::Environment).await
    }
}

/// Takes the environment back if its Secret could not be made.
async fn undone<T, E: Into<Failure>>(side: &Side, name: &str, made: Result<T, E>) -> Result<T, Failure> {
    match made {
        Ok(made) => Ok(made),
        Err(error) => {
            side.delete(&ENVIRONMENTS, name).await?;
            Err(error.into())
        }
    }
}
