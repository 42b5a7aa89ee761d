//! `switchboard gitops get`: shows applications, sync runs, environments and repositories with their status.

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use switchboard_gitops::repository::without_login;
use switchboard_gitops::state::{
    ResourceState, application_health, application_state, environment_state, repository_state, root_cause,
    sync_run_state,
};
use switchboard_runtime::stderr::print_stderr;

use super::object_table::{CellFn, ObjectTable, TableColumn, age, column, text, wide};
use super::tenant::{APPLICATIONS, ENVIRONMENTS, REPOSITORIES, RUNS, TenantArgs, TenantClient, TenantKind};
use crate::color;
use crate::failure::CommandError;
use crate::output_format::OutputFormat;
use crate::watch_loop::WatchArgs;

/// Show applications, environments, repositories or sync runs and their status
#[derive(Args)]
pub struct GetCommand {
    /// Kind of resource
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    kind: ResourceKind,
    #[command(flatten)]
    look: GetArgs,
}

/// Arguments of all `get` commands.
#[derive(Args)]
pub struct GetArgs {
    /// Name of the resource [default: all]
    name: Option<String>,
    /// List resources of all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["name", "namespace"])]
    all_namespaces: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    tenant: TenantArgs,
}

/// Kind of tenant resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ResourceKind {
    /// GitOpsDeployments
    #[default]
    Applications,
    /// GitOpsDeploymentSyncRuns
    Runs,
    /// GitOpsDeploymentManagedEnvironments
    Environments,
    /// GitOpsDeploymentRepositoryCredentials
    Repositories,
}

impl ResourceKind {
    /// Returns the Kubernetes kind.
    pub fn kind(self) -> TenantKind {
        match self {
            ResourceKind::Applications => APPLICATIONS,
            ResourceKind::Runs => RUNS,
            ResourceKind::Environments => ENVIRONMENTS,
            ResourceKind::Repositories => REPOSITORIES,
        }
    }

    /// Returns the cells for the state and its reason.
    fn state(self) -> (CellFn, CellFn) {
        match self {
            ResourceKind::Applications => {
                (|object, _| word(application_state(object)), |object, _| why(application_state(object)))
            }
            ResourceKind::Runs => (|object, _| word(sync_run_state(object)), |object, _| why(sync_run_state(object))),
            ResourceKind::Environments => {
                (|object, _| word(environment_state(object)), |object, _| why(environment_state(object)))
            }
            ResourceKind::Repositories => {
                (|object, _| word(repository_state(object)), |object, _| why(repository_state(object)))
            }
        }
    }

    fn own_columns(self) -> Vec<TableColumn> {
        match self {
            ResourceKind::Applications => vec![
                column("Sync", |object, _| text(object, "/status/sync/status")),
                column("Health", |object, _| or_dash(application_health(object))),
                wide("Repository", |object, _| without_login(&text(object, "/spec/source/repoURL"))),
                wide("Path", |object, _| text(object, "/spec/source/path")),
                wide("Target", |object, _| text(object, "/spec/source/targetRevision")),
                wide("Revision", |object, _| text(object, "/status/sync/revision").chars().take(12).collect()),
                wide("Environment", |object, _| text(object, "/spec/destination/environment")),
                wide("Type", |object, _| text(object, "/spec/type")),
            ],
            ResourceKind::Runs => vec![
                column("Application", |object, _| text(object, "/spec/gitopsDeploymentName")),
                column("Revision", |object, _| text(object, "/spec/revisionID")),
            ],
            ResourceKind::Environments => vec![
                column("URL", |object, _| text(object, "/spec/apiURL")),
                wide("Secret", |object, _| text(object, "/spec/credentialsSecret")),
                wide("Reason", |object, _| text(object, "/status/conditions/0/reason")),
            ],
            ResourceKind::Repositories => vec![
                column("Repository", |object, _| without_login(&text(object, "/spec/repository"))),
                wide("Secret", |object, _| text(object, "/spec/secret")),
            ],
        }
    }

    /// Returns the columns of the table.
    pub fn columns(self, everywhere: bool) -> Vec<TableColumn> {
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

fn word(state: ResourceState) -> String {
    state.label.to_string()
}

/// Returns the reason for a table: of a chain of gRPC errors, the last. JSON and YAML have the whole message.
fn why(state: ResourceState) -> String {
    or_dash(root_cause(&state.reason))
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_string() } else { text.to_string() }
}

impl GetCommand {
    /// Prints the resources.
    pub async fn run(self) -> Result<(), CommandError> {
        self.look.run(self.kind).await
    }
}

impl GetArgs {
    /// Prints the resources of a kind.
    pub async fn run(self, what: ResourceKind) -> Result<(), CommandError> {
        let side = self.tenant.client().await?;
        self.watch.show(|| self.report(what, &side)).await
    }

    async fn report(&self, what: ResourceKind, side: &TenantClient) -> Result<String, CommandError> {
        let kind = what.kind();
        let objects = match &self.name {
            Some(name) => vec![side.get(&kind, name).await?],
            None => side.list(&kind, self.all_namespaces).await?,
        };
        if objects.is_empty() && self.output.is_table() {
            let place = if self.all_namespaces { String::new() } else { format!(" in namespace `{}`", side.namespace) };
            print_stderr(format_args!("no {}s{place}", kind.noun));
            return Ok(String::new());
        }
        let columns = what.columns(self.all_namespaces);
        let report = ObjectTable { columns, objects, is_one: self.name.is_some(), now: Timestamp::now() };
        let text = self.output.text(&report)?;
        Ok(if self.output.is_table() { color::on_stdout(&text) } else { text })
    }
}
