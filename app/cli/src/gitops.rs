//! `switchboard gitops`: the GitOps Service.

mod admin_args;
mod agent;
mod backend;
mod backup;
mod console_fleet;
mod create;
mod credential;
pub mod database;
mod delete;
pub mod engine;
mod env;
mod existing_database;
mod fleet;
mod get;
pub mod hosting;
mod managed_gitops_env;
mod metrics;
mod migrate;
mod network;
mod object_table;
mod repo;
mod restore;
mod role;
mod sync;
mod tenant;
mod wait;
mod write_args;

use std::error::Error;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use switchboard_gitops::ServiceError;
use switchboard_gitops::backup::{BackupError, LineError};
use switchboard_gitops::instance::fleet::FleetError;
use switchboard_gitops::moves::MoveError;
use switchboard_sql::LedgerError;
use switchboard_sql::address::AddressError;
use switchboard_sql::ledger::ConnectionProblem;
use switchboard_sql::migration::MigrationError;
use switchboard_sql::seal::SealError;

use crate::failure::CommandError;
use crate::kernel::StateDir;
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

/// Returns the hint for an error of the service's database.
pub fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<MigrationError>() {
        return migration_hint(error);
    }
    if let Some(error) = error.downcast_ref::<LedgerError>() {
        return ledger_hint(error);
    }
    if let Some(error) = error.downcast_ref::<AddressError>() {
        return Some(address_hint(error));
    }
    if let Some(error) = error.downcast_ref::<FleetError>() {
        return fleet_hint(error);
    }
    if let Some(LineError::NotABackup | LineError::Truncated) = error.downcast_ref::<LineError>() {
        return Some(
            "pass a complete file that `switchboard gitops backup` of this version wrote; nothing was changed",
        );
    }
    match error.downcast_ref::<BackupError>() {
        Some(BackupError::Ledger(error)) => ledger_hint(error),
        _ => error.downcast_ref::<SealError>().and_then(seal_hint),
    }
}

fn seal_hint(error: &SealError) -> Option<&'static str> {
    match error {
        SealError::UnknownKey { .. } => {
            Some("add the line of that key to the key file: as the first line if it encrypts new values, else below")
        }
        SealError::Refused { .. } => {
            Some("check the key file: it must have the line of the key that encrypted the value; nothing was changed")
        }
        SealError::BadKey(_) | SealError::NoKey => {
            Some("write a key as a line `ID:BASE64`; `echo key1:$(head -c 32 /dev/urandom | base64)` creates one")
        }
        _ => None,
    }
}

fn address_hint(error: &AddressError) -> &'static str {
    match error {
        AddressError::Unknown => "pass --database postgres://USER:PASSWORD@HOST/NAME, or --database sqlite:FILE",
        AddressError::Postgres(_) => {
            "write the URL as postgres://USER:PASSWORD@HOST/NAME, with special characters as %XX"
        }
        AddressError::NoFile => "pass --database sqlite:FILE",
    }
}

fn fleet_hint(error: &FleetError) -> Option<&'static str> {
    Some(match error {
        FleetError::Cannot(MoveError::AlreadyThere) => {
            "nothing to do; `switchboard gitops fleet list` shows the placements of each instance"
        }
        FleetError::Cannot(MoveError::InProgress(_)) => {
            "wait until the running move ends; `switchboard gitops fleet list` shows the number of moves"
        }
        FleetError::NoMove => "recreate its deployments to create a new placement",
        // These variants are transparent, so their source is not among the causes.
        FleetError::Ledger(error) | FleetError::Service(ServiceError::Ledger(error)) => return ledger_hint(error),
        _ => return None,
    })
}

fn migration_hint(error: &MigrationError) -> Option<&'static str> {
    Some(match error {
        MigrationError::UnsupportedVersion { .. } => {
            "start the newest version of managed-gitops once, which migrates the database; then try again"
        }
        MigrationError::Dirty { .. } => {
            "repair it with the migration tool of managed-gitops, or restore a backup; then try again"
        }
        MigrationError::Newer(_) => "use the version that wrote it, or a newer version",
        MigrationError::Altered(_) => "use the version that created the database, or restore a backup",
        MigrationError::Foreign { .. } => "use a separate database or schema for the GitOps Service",
        MigrationError::MissingColumn { .. } => "the tables were changed by hand; restore a backup",
        MigrationError::OutOfDate => "run `switchboard gitops migrate`",
        MigrationError::Ledger(error) => return ledger_hint(error),
    })
}

fn ledger_hint(error: &LedgerError) -> Option<&'static str> {
    if let LedgerError::Seal(error) = error {
        return seal_hint(error);
    }
    Some(match error.connection_problem()? {
        ConnectionProblem::Unreachable => "check that the server is running, and host and port of --database",
        ConnectionProblem::Tls => {
            "set the CA of the server's certificate with `?sslrootcert=FILE`, or disable TLS with `?sslmode=disable`"
        }
        ConnectionProblem::Denied => "check user and password of --database, and that this user may create tables",
        ConnectionProblem::NoDatabase => "create it first: `createdb NAME`",
        ConnectionProblem::File => "check the path, and that this user may read and write the file",
    })
}

#[cfg(test)]
mod tests;
