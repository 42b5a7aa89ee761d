//! `switchboard gitops fleet`: Argo CD instances, and which of them serves whom.

mod table;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use switchboard_gitops::fleet::setup::{Limits, Reach};
use switchboard_ledger::ids::{InstanceState, MoveStep};
use switchboard_service::Store;
use switchboard_service::fleet::{Entry, Fleet, Wanted};

use super::database::Database;
use crate::failure::Failure;
use crate::reach;
use crate::talk::say;

/// Argo CD instances, and which of them serves whom.
#[derive(Args)]
pub struct FleetCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prepares a namespace (kinds, configuration, rights) and gives it new units from now on
    Add(Add),
    /// Takes an instance out that has no units any more; its namespace stays
    Remove(Named),
    /// Shows instances, what they take and what they have
    List(List),
    /// Gives an instance no new units
    Cordon(Named),
    /// Gives it new units again
    Uncordon(Named),
    /// Moves a unit to another instance; nothing that was deployed is touched
    Move(Move),
}

/// Which database, and which cluster hosts the instances.
#[derive(Args)]
struct Where {
    #[command(flatten)]
    database: Database,

    /// The cluster of the instances [default: as kubectl does]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The context in it
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// How it is told
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Json,
}

#[derive(Args)]
struct Add {
    /// The namespace of the Argo CD
    #[arg(value_name = "NAMESPACE")]
    instance: String,

    #[command(flatten)]
    place: Where,

    /// Create the namespace if it is not there
    #[arg(long)]
    create_namespace: bool,

    /// How many Applications it is given at most [default: as before, or 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max_applications: Option<i64>,

    /// How many units it is given at most: a tenant and an environment are one [default: as before, or 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max_units: Option<i64>,

    /// Let it write to its own namespace only; others are granted by somebody else
    #[arg(long)]
    namespaced: bool,
}

#[derive(Args)]
struct Named {
    /// The namespace of the Argo CD
    #[arg(value_name = "NAMESPACE")]
    instance: String,

    #[command(flatten)]
    place: Where,
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    place: Where,
}

#[derive(Args)]
struct Move {
    /// The tenant: its namespace
    tenant: String,

    /// The environment [default: the tenant's own namespace]
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,

    /// The namespace of the Argo CD that is to have it
    #[arg(long, value_name = "NAMESPACE")]
    to: String,

    /// Ask for it, and let an agent carry it
    #[arg(long)]
    no_wait: bool,

    #[command(flatten)]
    place: Where,
}

/// A move ended where it began.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not move the unit: {0}\nhint: it is where it was, and nothing that was deployed was touched; try again later"
)]
struct Returned(String);

impl FleetCommand {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Add(add) => add.run().await,
            Command::Remove(named) => named.remove().await,
            Command::List(list) => list.run().await,
            Command::Cordon(named) => named.mark(InstanceState::Cordoned).await,
            Command::Uncordon(named) => named.mark(InstanceState::Active).await,
            Command::Move(wanted) => wanted.run().await,
        }
    }
}

impl Where {
    async fn fleet(&self) -> Result<Fleet, Failure> {
        let (ledger, _) = self.database.open(false).await?;
        ledger.check_schema().await?;
        let reach = reach::Reach { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() };
        let store = Store::new(ledger, tokio::runtime::Handle::current());
        Ok(Fleet::new(store, reach.client().await?, super::isolated()))
    }

    fn tell(&self, entries: &[Entry]) -> Result<(), Failure> {
        let told = match self.output {
            Output::Table => table::fleet(entries),
            Output::Json => format!("{:#}\n", json!(entries.iter().map(Value::from).collect::<Vec<_>>())),
        };
        Ok(std::io::stdout().lock().write_all(told.as_bytes())?)
    }

    /// One instance as it is now.
    async fn show(&self, fleet: &Fleet, namespace: &str) -> Result<ExitCode, Failure> {
        let entries = fleet.list().await?;
        let one: Vec<Entry> =
            entries.into_iter().filter(|entry| entry.candidate.instance.namespace == namespace).collect();
        self.tell(&one)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Add {
    async fn run(self) -> Result<ExitCode, Failure> {
        let fleet = self.place.fleet().await?;
        let wanted = Wanted {
            namespace: &self.instance,
            limits: Limits { max_applications: self.max_applications, max_environments: self.max_units },
            reach: if self.namespaced { Reach::Namespace } else { Reach::Cluster },
            create: self.create_namespace,
        };
        fleet.add(&wanted).await?;
        self.place.show(&fleet, &self.instance).await
    }
}

impl Named {
    async fn remove(self) -> Result<ExitCode, Failure> {
        let fleet = self.place.fleet().await?;
        let gone = fleet.remove(&self.instance).await?;
        say(format!(
            "the Argo CD instance in `{}` is no longer in the fleet; its namespace is as it was",
            gone.namespace
        ));
        Ok(ExitCode::SUCCESS)
    }

    async fn mark(self, state: InstanceState) -> Result<ExitCode, Failure> {
        let fleet = self.place.fleet().await?;
        fleet.set_state(&self.instance, state).await?;
        self.place.show(&fleet, &self.instance).await
    }
}

impl List {
    async fn run(self) -> Result<ExitCode, Failure> {
        let fleet = self.place.fleet().await?;
        self.place.tell(&fleet.list().await?)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Move {
    async fn run(self) -> Result<ExitCode, Failure> {
        let fleet = self.place.fleet().await?;
        let target = fleet.instance(&self.to).await?;
        let (unit, _) = fleet.unit(&self.tenant, self.environment.as_deref()).await?;
        let mut row = fleet.begin(&unit, &target).await?;
        if !self.no_wait {
            // Whoever stops this stops nothing: the move stands in the database, and an agent goes on with it.
            row = fleet.finish(&row.id, |step| say(format_args!("{step}"))).await?;
        }
        if row.step == MoveStep::Returned {
            return Err(Returned(row.human_readable_state.unwrap_or_else(|| "it was called back".into())).into());
        }
        let told = match self.place.output {
            Output::Table => table::one_move(&row, &self.tenant, self.environment.as_deref(), &self.to),
            Output::Json => format!(
                "{:#}\n",
                json!({
                    "id": row.id.as_str(),
                    "tenant": self.tenant,
                    "environment": self.environment,
                    "to": self.to,
                    "step": row.step.as_str(),
                    "message": row.human_readable_state,
                })
            ),
        };
        std::io::stdout().lock().write_all(told.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
