//! `switchboard gitops`: the GitOps Service.

mod admin_args;
mod agent;
mod backend;
mod backup;
mod create;
mod database;
mod delete;
mod env;
mod existing_database;
mod fleet;
mod get;
mod managed_gitops_env;
mod metrics;
mod migrate;
mod object_table;
mod repo;
mod restore;
mod role;
mod sync;
mod tenant;
mod wait;
mod write_args;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use switchboard_runtime::state_dir::StateDir;

use crate::failure::CommandError;
use crate::log::LogArgs;

/// Run and use the GitOps Service
#[derive(Args)]
pub struct Gitops {
    #[command(subcommand)]
    command: GitopsCommand,
}

#[derive(Subcommand)]
enum GitopsCommand {
    /// Create the database tables, or adopt those of managed-gitops
    Migrate(migrate::Migrate),
    /// Show applications, environments, repositories or sync runs and their status
    Get(Box<get::GetCommand>),
    /// Create an application
    Create(Box<create::CreateApplication>),
    /// Deploy an application once
    Sync(sync::SyncCommand),
    /// Wait until a resource reaches a state, such as an application being synced and healthy
    Wait(wait::WaitCommand),
    /// Delete an application and the resources it deployed
    Delete(delete::DeleteResource),
    /// Manage environments (clusters to deploy to): create, get, delete
    Env(env::Env),
    /// Manage credentials of git repositories: create, get, delete
    Repo(repo::Repo),
    /// Print the CustomResourceDefinitions of the service
    Crds,
    /// Run the backend, which reconciles the tenants' resources
    Backend(Box<backend::Backend>),
    /// Run the agent, which reconciles the objects of Argo CD
    Agent(Box<agent::Agent>),
    /// Manage the fleet of Argo CD instances and the placement of tenants
    Fleet(Box<fleet::FleetArgs>),
    /// Print the metrics that both roles serve at /metrics
    Metrics(Box<metrics::MetricsCommand>),
    /// Back up all rows of the database to a file
    Backup(Box<backup::Backup>),
    /// Restore the rows of a backup; stop backends and agents first
    Restore(Box<restore::Restore>),
}

impl Gitops {
    /// Flag for the log, of the commands that run until a signal.
    pub fn log(&self) -> Option<LogArgs> {
        match &self.command {
            GitopsCommand::Backend(backend) => Some(backend.role.log),
            GitopsCommand::Agent(agent) => Some(agent.role.log),
            _ => None,
        }
    }

    /// State directory of the commands that find the database by it.
    pub fn state(&self) -> StateDir {
        match &self.command {
            GitopsCommand::Fleet(fleet) => fleet.admin_args().state(),
            GitopsCommand::Restore(restore) => restore.engines.state(),
            GitopsCommand::Backup(backup) => backup.database.state(),
            GitopsCommand::Metrics(metrics) => metrics.database.state(),
            _ => StateDir::default(),
        }
    }

    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        match self.command {
            GitopsCommand::Migrate(migrate) => migrate.run().await,
            GitopsCommand::Get(get) => get.run().await.map(|()| ExitCode::SUCCESS),
            GitopsCommand::Create(create) => create.run().await,
            GitopsCommand::Sync(sync) => sync.run().await,
            GitopsCommand::Wait(wait) => wait.run().await,
            GitopsCommand::Delete(delete) => delete.run(get::ResourceKind::Applications).await,
            GitopsCommand::Env(env) => env.run().await,
            GitopsCommand::Repo(repo) => repo.run().await,
            GitopsCommand::Crds => {
                crate::output_format::write(&switchboard_gitops::kinds::CRDS.join("---\n")).map(|()| ExitCode::SUCCESS)
            }
            GitopsCommand::Backend(backend) => backend.run().await,
            GitopsCommand::Agent(agent) => agent.run().await,
            GitopsCommand::Fleet(fleet) => fleet.run().await,
            GitopsCommand::Metrics(metrics) => metrics.run().await,
            GitopsCommand::Backup(backup) => backup.run().await,
            GitopsCommand::Restore(restore) => restore.run().await,
        }
    }
}

/// Returns whether each tenant has an AppProject of its own, if no setting or flag decides it.
fn isolated() -> bool {
    managed_gitops_env::isolated(managed_gitops_env::process_env)
}
