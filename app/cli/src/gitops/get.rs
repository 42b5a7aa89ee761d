//! `switchboard gitops get`: applications, sync runs, environments, repositories, and how they stand.

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use switchboard_gitops::repository::without_login;

use super::report::{Cell, Column, Report, age, column, text, wide};
use super::state::{State, of_application, of_environment, of_repository, of_run};
use super::tenant::{APPLICATIONS, ENVIRONMENTS, Kind, REPOSITORIES, RUNS, Side, Tenant};
use crate::again::Watch;
use crate::failure::Failure;
use crate::form::Form;
use crate::paint;
use crate::talk::say;

/// Shows applications, or something else a tenant has, and how they stand.
#[derive(Args)]
pub struct Get {
    /// What to show
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    kind: What,
    #[command(flatten)]
    look: Look,
}

/// Which of them, and how they are printed.
#[derive(Args)]
pub struct Look {
    /// One of this name [default: all]
    name: Option<String>,
    /// Those of all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["name", "namespace"])]
    all_namespaces: bool,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    tenant: Tenant,
}

/// What a tenant has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// What is deployed: GitOpsDeployments
    #[default]
    Applications,
    /// Syncs that were asked for: GitOpsDeploymentSyncRuns
    Runs,
    /// Clusters to deploy to: GitOpsDeploymentManagedEnvironments
    Environments,
    /// Credentials of repositories: GitOpsDeploymentRepositoryCredentials
    Repositories,
}

impl What {
    /// As the cluster has it.
    pub fn kind(self) -> Kind {
        match self {
            What::Applications => APPLICATIONS,
            What::Runs => RUNS,
            What::Environments => ENVIRONMENTS,
            What::Repositories => REPOSITORIES,
        }
    }

    /// The state word, and why.
    fn state(self) -> (Cell, Cell) {
        match self {
            What::Applications => (|object, _| word(of_application(object)), |object, _| why(of_application(object))),
            What::Runs => (|object, _| word(of_run(object)), |object, _| why(of_run(object))),
            What::Environments => (|object, _| word(of_environment(object)), |object, _| why(of_environment(object))),
            What::Repositories => (|object, _| word(of_repository(object)), |object, _| why(of_repository(object))),
        }
    }

    fn own_columns(self) -> Vec<Column> {
        match self {
            What::Applications => vec![
                column("Sync", |object, _| text(object, "/status/sync/status")),
                column("Health", |object, _| text(object, "/status/health/status")),
                wide("Repository", |object, _| without_login(&text(object, "/spec/source/repoURL"))),
                wide("Path", |object, _| text(object, "/spec/source/path")),
                wide("Target", |object, _| text(object, "/spec/source/targetRevision")),
                wide("Revision", |object, _| text(object, "/status/sync/revision").chars().take(12).collect()),
                wide("Environment", |object, _| text(object, "/spec/destination/environment")),
                wide("Type", |object, _| text(object, "/spec/type")),
            ],
            What::Runs => vec![
                column("Application", |object, _| text(object, "/spec/gitopsDeploymentName")),
                column("Revision", |object, _| text(object, "/spec/revisionID")),
            ],
            What::Environments => vec![
                column("URL", |object, _| text(object, "/spec/apiURL")),
                wide("Secret", |object, _| text(object, "/spec/credentialsSecret")),
                wide("Reason", |object, _| text(object, "/status/conditions/0/reason")),
            ],
            What::Repositories => vec![
                column("Repository", |object, _| without_login(&text(object, "/spec/repository"))),
                wide("Secret", |object, _| text(object, "/spec/secret")),
            ],
        }
    }

    /// The columns of a table.
    pub fn columns(self, everywhere: bool) -> Vec<Column> {
        let (state, message) = self.state();
        let mut columns = Vec::new();
        if everywhere {
            columns.push(column("Namespace", |object, _| text(object, "/metadata/namespace")));
        }
        columns.push(column("Name", |object, _| text(object, "/metadata/name")));
        columns.push(column("State", state));
        columns.extend(self.own_columns());
        columns.push(wide("Age", age));
        columns.push(column("Message", message));
        columns
    }
}

fn word(state: State) -> String {
    state.word.to_string()
}

fn why(state: State) -> String {
    if state.why.is_empty() { "-".to_string() } else { state.why }
}

impl Get {
    /// Prints it.
    pub async fn run(self) -> Result<(), Failure> {
        self.look.run(self.kind).await
    }
}

impl Look {
    /// Prints what there is of a kind.
    pub async fn run(self, what: What) -> Result<(), Failure> {
        let side = self.tenant.side().await?;
        self.watch.show(|| self.report(what, &side)).await
    }

    async fn report(&self, what: What, side: &Side) -> Result<String, Failure> {
        let kind = what.kind();
        let objects = match &self.name {
            Some(name) => vec![side.get(&kind, name).await?],
            None => side.list(&kind, self.all_namespaces).await?,
        };
        if objects.is_empty() && self.output.is_for_people() {
            let place = if self.all_namespaces { String::new() } else { format!(" in namespace `{}`", side.namespace) };
            say(format_args!("no {}s{place}", kind.told));
            return Ok(String::new());
        }
        let columns = what.columns(self.all_namespaces);
        let report = Report { columns, objects, is_one: self.name.is_some(), now: Timestamp::now() };
        let text = self.output.text(&report)?;
        Ok(if self.output.is_for_people() { paint::on_stdout(&text) } else { text })
    }
}
