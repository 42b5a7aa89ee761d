//! `switchboard gitops`: the GitOps Service.

mod agent;
mod backend;
mod backup;
mod create;
mod credential;
mod database;
mod delete;
pub mod engine;
mod engines;
mod env;
mod fleet;
mod get;
pub mod hosting;
mod metrics;
mod migrate;
mod network;
mod original;
mod repo;
mod report;
mod restore;
mod role;
mod state;
mod sync;
mod tenant;
mod units;
mod wait;
mod written;

use std::error::Error;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use switchboard_gitops::fleet::moving::CannotMove;
use switchboard_ledger::LedgerError;
use switchboard_ledger::address::AddressError;
use switchboard_ledger::ledger::Trouble;
use switchboard_ledger::migration::MigrationError;
use switchboard_ledger::seal::SealError;
use switchboard_service::ServiceError;
use switchboard_service::backup::{BackupError, LineError};
use switchboard_service::fleet::FleetError;

use crate::failure::Failure;

/// The GitOps Service.
#[derive(Args)]
pub struct Gitops {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes the database's tables, or takes over the original's.
    Migrate(migrate::Migrate),
    /// Shows applications, environments, repositories or sync runs, and how they stand.
    Get(Box<get::Get>),
    /// Creates an application.
    Create(Box<create::Create>),
    /// Deploys an application now, once.
    Sync(sync::Sync),
    /// Waits until an application is deployed and healthy, or something else.
    Wait(wait::Wait),
    /// Deletes an application and what it deployed.
    Delete(delete::Delete),
    /// Clusters to deploy to: create, get, delete.
    Env(env::Env),
    /// Credentials of git repositories: create, get, delete.
    Repo(repo::Repo),
    /// Prints the CustomResourceDefinitions of the service.
    Crds,
    /// Looks after tenants' resources, until a signal.
    Backend(Box<backend::Backend>),
    /// Looks after Argo CD's objects, until a signal.
    Agent(Box<agent::Agent>),
    /// Argo CD instances, and which of them serves whom.
    Fleet(Box<fleet::FleetCommand>),
    /// Prints what both roles serve at /metrics: counts of deployments, Operations, instances and moves.
    Metrics(Box<metrics::Metrics>),
    /// Writes every row of the database into a file, as one state.
    Backup(Box<backup::Backup>),
    /// Puts the rows of a backup in place of those there are. Stop backends and agents first.
    Restore(Box<restore::Restore>),
}

impl Gitops {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Migrate(migrate) => migrate.run().await,
            Command::Get(get) => get.run().await.map(|()| ExitCode::SUCCESS),
            Command::Create(create) => create.run().await,
            Command::Sync(sync) => sync.run().await,
            Command::Wait(wait) => wait.run().await,
            Command::Delete(delete) => delete.run(get::What::Applications).await,
            Command::Env(env) => env.run().await,
            Command::Repo(repo) => repo.run().await,
            Command::Crds => {
                crate::form::write(&switchboard_gitops::kinds::CRDS.join("---\n")).map(|()| ExitCode::SUCCESS)
            }
            Command::Backend(backend) => backend.run().await,
            Command::Agent(agent) => agent.run().await,
            Command::Fleet(fleet) => fleet.run().await,
            Command::Metrics(metrics) => metrics.run().await,
            Command::Backup(backup) => backup.run().await,
            Command::Restore(restore) => restore.run().await,
        }
    }
}

/// Whether each tenant has a project of its own, where nothing else says.
fn isolated() -> bool {
    original::isolated(original::ambient)
}

/// What helps with a database that does not do what it should.
pub fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<MigrationError>() {
        return of_migration(error);
    }
    if let Some(error) = error.downcast_ref::<LedgerError>() {
        return of_ledger(error);
    }
    if let Some(error) = error.downcast_ref::<AddressError>() {
        return Some(of_address(error));
    }
    if let Some(error) = error.downcast_ref::<FleetError>() {
        return of_fleet(error);
    }
    if let Some(LineError::NoBackup | LineError::Cut) = error.downcast_ref::<LineError>() {
        return Some("give a whole file that `switchboard gitops backup` of this version wrote; nothing was changed");
    }
    match error.downcast_ref::<BackupError>() {
        Some(BackupError::Ledger(error)) => of_ledger(error),
        _ => error.downcast_ref::<SealError>().and_then(of_seal),
    }
}

fn of_seal(error: &SealError) -> Option<&'static str> {
    match error {
        SealError::UnknownKey { .. } => Some(
            "put the line of that key back into the key file: first if it seals by now, else below the one that does",
        ),
        SealError::Refused { .. } => Some(
            "is it the right key file? put the line of the key that it was sealed with back into it; nothing was changed",
        ),
        SealError::BadKey(_) | SealError::NoKey => {
            Some("a key is a line `ID:BASE64`; `echo key1:$(openssl rand -base64 32)` makes one")
        }
        _ => None,
    }
}

fn of_address(error: &AddressError) -> &'static str {
    match error {
        AddressError::Unknown => "give --database postgres://USER:PASSWORD@HOST/NAME, or --database sqlite:FILE",
        AddressError::Postgres(_) => {
            "it is postgres://USER:PASSWORD@HOST/NAME; what is not a letter or a digit is written as %XX"
        }
        AddressError::NoFile => "give --database sqlite:FILE",
    }
}

fn of_fleet(error: &FleetError) -> Option<&'static str> {
    Some(match error {
        FleetError::Cannot(CannotMove::There) => {
            "nothing is to be done; `switchboard gitops fleet list` shows what each has"
        }
        FleetError::Cannot(CannotMove::UnderWay(_)) => {
            "it ends by itself, there or where it was; `switchboard gitops fleet list` shows how many move"
        }
        FleetError::NoMove => "create what it deploys again, and it is placed anew",
        // What is passed on without a word of its own is no cause of it.
        FleetError::Ledger(error) | FleetError::Service(ServiceError::Ledger(error)) => return of_ledger(error),
        _ => return None,
    })
}

fn of_migration(error: &MigrationError) -> Option<&'static str> {
    Some(match error {
        MigrationError::OldOriginal(_) => {
            "start the newest version of the original on it once: it migrates when it starts; then try again"
        }
        MigrationError::Dirty(_) => {
            "repair it with the original's migration tool, or put a backup back; then try again"
        }
        MigrationError::Newer(_) => "use the version that was here, or a newer one",
        MigrationError::Altered(_) => "use the version that made the database, or put a backup back",
        MigrationError::Foreign(_) => "give the GitOps Service a database, or a schema, of its own",
        MigrationError::Missing { .. } => "somebody changed the tables; put a backup back",
        MigrationError::Behind => "run `switchboard gitops migrate`",
        MigrationError::Ledger(error) => return of_ledger(error),
    })
}

fn of_ledger(error: &LedgerError) -> Option<&'static str> {
    if let LedgerError::Seal(error) = error {
        return of_seal(error);
    }
    Some(match error.trouble()? {
        Trouble::Unreachable => {
            "is the server running, and does this machine reach it? check host and port of --database"
        }
        Trouble::Tls => {
            "`?sslrootcert=FILE` names who vouches for the server's certificate; `?sslmode=disable` does without TLS"
        }
        Trouble::Denied => "check user and password of --database, and that this user may create tables",
        Trouble::NoDatabase => "create it first: `createdb NAME`",
        Trouble::File => "check the file's path, and that this user may read and write there",
    })
}

#[cfg(test)]
mod tests;
