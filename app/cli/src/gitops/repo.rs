//! `switchboard gitops repo`: manages credentials of git repositories.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use switchboard_gitops::credential::kind::{CredentialSpec, KIND, LOGIN_IN_URL, SECRET_TYPE};
use switchboard_gitops::kinds::{API_VERSION, RepositoryCredential};
use switchboard_gitops::repository::has_login;
use switchboard_runtime::gitops::credential::{self, owned_secret};

use super::delete::DeleteResource;
use super::get::{GetArgs, ResourceKind};
use super::tenant::{REPOSITORIES, SECRETS};
use super::wait::WaitGoal;
use super::write_args::{WriteArgs, WrittenObject};
use crate::failure::CommandError;

/// Manage credentials of git repositories (GitOpsDeploymentRepositoryCredentials)
#[derive(Args)]
pub struct Repo {
    #[command(subcommand)]
    command: RepoCommand,
}

#[derive(Subcommand)]
enum RepoCommand {
    /// Create a credential, and a Secret for it
    Create(Box<CreateCredential>),
    /// List credentials and their status
    Get(GetArgs),
    /// Delete a credential, and the Secret created for it
    Delete(DeleteResource),
}

#[derive(Args)]
#[command(mut_arg("wait", |arg| arg.help("Wait until the repository accepts the credential")))]
struct CreateCredential {
    /// Name of the credential
    name: String,
    /// URL of the repository: https://…, ssh://… or git@HOST:PATH
    #[arg(long, value_name = "URL")]
    url: String,
    /// User name for HTTPS
    #[arg(long, value_name = "NAME", requires = "password_file")]
    username: Option<String>,
    /// File with the password or token for HTTPS; `-` is stdin
    #[arg(long, value_name = "FILE", group = "proof")]
    password_file: Option<PathBuf>,
    /// File with the private key for SSH; `-` is stdin
    #[arg(long, value_name = "FILE", group = "proof")]
    ssh_key_file: Option<PathBuf>,
    /// Existing Secret with the password or key, in the same namespace
    #[arg(long, value_name = "NAME", group = "proof")]
    secret: Option<String>,
    #[command(flatten)]
    writing: WriteArgs,
}

/// The arguments are not a valid credential.
#[derive(Debug, thiserror::Error)]
#[error("could not create repository credential `{name}`: {why}\nhint: {hint}")]
struct InvalidCredential {
    name: String,
    why: String,
    hint: &'static str,
}

impl Repo {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        match self.command {
            RepoCommand::Create(create) => create.run().await,
            RepoCommand::Get(look) => look.run(ResourceKind::Repositories).await.map(|()| ExitCode::SUCCESS),
            RepoCommand::Delete(delete) => delete.run(ResourceKind::Repositories).await,
        }
    }
}

impl CreateCredential {
    async fn run(self) -> Result<ExitCode, CommandError> {
        let refused = |why: &str, hint| InvalidCredential { name: self.name.clone(), why: why.to_string(), hint };
        let spec = CredentialSpec {
            repository: self.url.clone(),
            secret: self.secret.clone().unwrap_or_else(|| format!("{}-repository", self.name)),
        };
        let new_credential = RepositoryCredential { spec, ..RepositoryCredential::default() };
        new_credential
            .admit()
            .map_err(|why| refused(why, "pass https://HOST/PATH, ssh://git@HOST/PATH or git@HOST:PATH with --url"))?;
        // Every reader of the resource would see the login, even though the service refuses it.
        if has_login(&self.url) {
            return Err(refused(LOGIN_IN_URL, "pass the login with --username and --password-file FILE").into());
        }
        new_credential.validate().map_err(|why| refused(&why, "pass the clone URL of a repository with --url"))?;
        let data = match (&self.password_file, &self.ssh_key_file, &self.secret) {
            (Some(file), _, _) if self.url.starts_with("https://") => {
                let password = credential::read("a password", file)?;
                // A password file ends with a line break that is not part of the password.
                let password = password.trim_end_matches(['\r', '\n']).to_string();
                Some(vec![
                    ("username", self.username.clone().unwrap_or_else(|| "git".to_string())),
                    ("password", password),
                ])
            }
            (_, Some(file), _) if !self.url.is_empty() && !self.url.starts_with("https://") => {
                Some(vec![("sshPrivateKey", credential::read("a private key", file)?)])
            }
            (_, _, Some(_)) => None,
            (Some(_), _, _) | (_, Some(_), _) => {
                return Err(refused(
                    "the type of credential does not match the URL",
                    "use --password-file with https://, and --ssh-key-file with ssh://",
                )
                .into());
            }
            (None, None, None) => {
                return Err(refused(
                    "no credential was passed",
                    "pass --password-file FILE, --ssh-key-file FILE or --secret NAME",
                )
                .into());
            }
        };
        let side = self.writing.client().await?;
        let object = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": { "name": self.name, "namespace": side.namespace },
            "spec": new_credential.spec,
        });
        let created = side.create(&REPOSITORIES, &object).await?;
        if let Some(data) = data {
            let data: Vec<(&str, &str)> = data.iter().map(|(key, value)| (*key, value.as_str())).collect();
            let secret = owned_secret(&created, &new_credential.spec.secret, SECRET_TYPE, &data);
            if let Err(error) = side.create(&SECRETS, &secret).await {
                side.delete(&REPOSITORIES, &self.name).await?;
                return Err(error.into());
            }
        }
        self.writing
            .finish(
                &side,
                &WrittenObject { kind: REPOSITORIES, action: "created", object: created },
                WaitGoal::Repository,
            )
            .await
    }
}
