//! `switchboard gitops fleet`: Argo CD instances, and which of them serves whom.

mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::{Serialize, Serializer};
use serde_json::Value;
use switchboard_gitops::fleet::Unit;
use switchboard_gitops::fleet::setup::{Limits, Reach};
use switchboard_ledger::ids::{EngineInstanceId, InstanceState, MoveStep};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_service::fleet::{Entry, Fleet, Wanted};
use switchboard_service::{Store, settings};

use self::table::Listed;
use super::engines::Engines;
use crate::again::Watch;
use crate::failure::Failure;
use crate::form;
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
    Remove(Remove),
    /// Shows instances, what they take and what they have; or units, and where they are
    List(List),
    /// Gives an instance no new units
    Cordon(Named),
    /// Gives it new units again
    Uncordon(Named),
    /// Moves a unit to another instance; nothing that was deployed is touched
    Move(Move),
}

#[derive(Args)]
struct Add {
    /// The namespace of the Argo CD
    #[arg(value_name = "NAMESPACE")]
    instance: String,

    #[command(flatten)]
    engines: Engines,

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

    /// Take the namespace though it is another database's, or a tenant's, who can read there what all units of the instance deploy with
    #[arg(long)]
    force: bool,

    /// Take the cluster for the one that an instance in a namespace of that name was on: it was made anew
    #[arg(long)]
    cluster_made_anew: bool,
}

#[derive(Args)]
struct Named {
    /// The namespace of the Argo CD
    #[arg(value_name = "NAMESPACE")]
    instance: String,

    #[command(flatten)]
    engines: Engines,
}

#[derive(Args)]
struct Remove {
    #[command(flatten)]
    named: Named,

    /// Give up removals that are under way there: what was deployed stays
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
struct List {
    /// Show units: what a tenant deploys to an environment, and which instance has it
    #[arg(long)]
    units: bool,
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    engines: Engines,
}

#[derive(Args)]
struct Move {
    /// The tenant: its namespace, or the uid of that where several have the name
    tenant: String,

    /// The environment, or the uid of its resource [default: the tenant's own namespace]
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,

    /// The namespace of the Argo CD that is to have it
    #[arg(long, value_name = "NAMESPACE", required_unless_present = "back")]
    to: Option<String>,

    /// Call it back from its way to another one
    #[arg(long, conflicts_with = "to")]
    back: bool,

    /// Ask for it, and let an agent carry it
    #[arg(long)]
    no_wait: bool,

    #[command(flatten)]
    engines: Engines,
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
            Command::Remove(remove) => remove.run().await,
            Command::List(list) => list.run().await,
            Command::Cordon(named) => named.mark(InstanceState::Cordoned).await,
            Command::Uncordon(named) => named.mark(InstanceState::Active).await,
            Command::Move(wanted) => wanted.run().await,
        }
    }
}

/// An instance that is in the fleet no longer.
struct Removed(Entry);

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "instance {} removed", self.0.candidate.instance.namespace)
    }
}

impl Serialize for Removed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Value::from(&self.0).serialize(to)
    }
}

impl Engines {
    async fn fleet(&self) -> Result<Fleet, Failure> {
        let ledger = self.ledger().await?;
        ledger.check_schema().await?;
        // As the backend was told; the variable is for a database that no backend has used yet.
        let isolated = settings::isolation(&ledger).await?.unwrap_or_else(super::isolated);
        let store = Store::new(ledger, tokio::runtime::Handle::current());
        Ok(Fleet::new(store, self.client().await?, isolated))
    }

    /// One instance as it is now.
    async fn show(&self, fleet: &Fleet, id: &EngineInstanceId) -> Result<ExitCode, Failure> {
        if let Some(entry) = entry(fleet.list().await?, id) {
            form::print(&Listed::instance(&entry), self.output)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// By its id: another cluster may have one in a namespace of the same name.
fn entry(entries: Vec<Entry>, id: &EngineInstanceId) -> Option<Entry> {
    entries.into_iter().find(|entry| entry.candidate.instance.id == *id)
}

impl Add {
    async fn run(self) -> Result<ExitCode, Failure> {
        let fleet = self.engines.fleet().await?;
        let wanted = Wanted {
            namespace: &self.instance,
            limits: Limits { max_applications: self.max_applications, max_environments: self.max_units },
            reach: if self.namespaced { Reach::Namespace } else { Reach::Cluster },
            create: self.create_namespace,
            force: self.force,
            anew: self.cluster_made_anew,
        };
        let added = fleet.add(&wanted).await?;
        for difference in fleet.differences(&self.instance).await? {
            // Whoever installed it may have a reason: it is not overwritten.
            say(format_args!(
                "warning: {difference}\nhint: units move only between instances that say the same; change it there, and start that Argo CD anew"
            ));
        }
        self.engines.show(&fleet, &added.id).await
    }
}

impl Remove {
    async fn run(self) -> Result<ExitCode, Failure> {
        let Named { instance, engines } = self.named;
        let fleet = engines.fleet().await?;
        let before = fleet.list().await?;
        let removed = fleet.remove(&instance, self.force).await?;
        if let Some(entry) = entry(before, &removed.id) {
            form::print(&Removed(entry), engines.output)?;
        }
        say("its namespace is as it was");
        Ok(ExitCode::SUCCESS)
    }
}

impl Named {
    async fn mark(self, state: InstanceState) -> Result<ExitCode, Failure> {
        let fleet = self.engines.fleet().await?;
        let member = fleet.set_state(&self.instance, state).await?;
        self.engines.show(&fleet, &member.instance).await
    }
}

impl List {
    async fn run(self) -> Result<ExitCode, Failure> {
        let fleet = self.engines.fleet().await?;
        self.watch.show(|| self.report(&fleet)).await?;
        Ok(ExitCode::SUCCESS)
    }

    async fn report(&self, fleet: &Fleet) -> Result<String, Failure> {
        if self.units {
            let units = fleet.units().await?;
            if units.is_empty() && self.engines.output.is_for_people() {
                say("no units\nhint: one is placed when a tenant's first deployment to an environment is created");
                return Ok(String::new());
            }
            return self.engines.output.text(&Listed::units(&units));
        }
        let entries = fleet.list().await?;
        if entries.is_empty() && self.engines.output.is_for_people() {
            say("no instances\nhint: `switchboard gitops fleet add NAMESPACE` adds one");
            return Ok(String::new());
        }
        self.engines.output.text(&Listed::instances(&entries))
    }
}

impl Move {
    async fn run(self) -> Result<ExitCode, Failure> {
        let fleet = self.engines.fleet().await?;
        let (unit, placement) = fleet.unit(&self.tenant, self.environment.as_deref()).await?;
        let Some(to) = &self.to else { return self.call_back(&fleet, &unit, &placement).await };
        let target = fleet.instance(to).await?;
        let mut row = fleet.begin(&unit, &target).await?;
        if !self.no_wait {
            // Whoever stops this stops nothing: the move stands in the database, and an agent goes on with it.
            row = fleet.finish(&row.id, |step| say(format_args!("{step}"))).await?;
        }
        if row.step == MoveStep::Returned {
            return Err(Returned(row.human_readable_state.unwrap_or_else(|| "it was called back".into())).into());
        }
        let told = table::one_move(&row, &self.tenant, self.environment.as_deref(), to);
        form::print(&told, self.engines.output)?;
        Ok(ExitCode::SUCCESS)
    }

    async fn call_back(&self, fleet: &Fleet, unit: &Unit, placement: &Placement) -> Result<ExitCode, Failure> {
        let id = fleet.call_back(unit).await?;
        let all = fleet.list().await?;
        let was = all.iter().map(|entry| &entry.candidate.instance).find(|one| one.id == placement.instance);
        let was = was.map(|one| one.namespace.clone()).unwrap_or_default();
        if !self.no_wait {
            let row = fleet.finish(&id, |step| say(format_args!("{step}"))).await?;
            form::print(&table::one_move(&row, &self.tenant, self.environment.as_deref(), &was), self.engines.output)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
