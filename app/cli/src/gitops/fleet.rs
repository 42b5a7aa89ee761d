//! `switchboard gitops fleet`: manages Argo CD instances and the placement of tenants.

mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::{Serialize, Serializer};
use serde_json::Value;
use switchboard_gitops::ids::{EngineInstanceId, InstanceState, MoveStep};
use switchboard_gitops::instance::fleet::{Fleet, FleetInstance, InstanceSpec};
use switchboard_gitops::instance::{InstanceLimits, InstanceScope};
use switchboard_gitops::placement::PlacementKey;
use switchboard_gitops::rows::fleet::Placement;
use switchboard_gitops::{Store, settings};
use switchboard_runtime::stderr::print_stderr;

use self::table::FleetTable;
use super::admin_args::AdminArgs;
use crate::failure::CommandError;
use crate::output_format;
use crate::watch_loop::WatchArgs;

/// Manage the fleet of Argo CD instances and the placement of tenants
#[derive(Args)]
pub struct FleetArgs {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Subcommand)]
enum FleetCommand {
    /// Prepare a namespace (CRDs, configuration, permissions) and accept new placements on it
    Add(FleetAdd),
    /// Remove an instance without placements; its namespace stays
    Remove(FleetRemove),
    /// List instances with their limits and load, or placements
    List(FleetList),
    /// Accept no new placements on an instance
    Cordon(InstanceArgs),
    /// Accept new placements on an instance again
    Uncordon(InstanceArgs),
    /// Move a placement to another instance; deployed resources stay untouched
    Move(FleetMove),
}

#[derive(Args)]
struct FleetAdd {
    /// Namespace of the Argo CD instance
    #[arg(value_name = "NAMESPACE")]
    instance: String,

    #[command(flatten)]
    engines: AdminArgs,

    /// Create the namespace if it does not exist
    #[arg(long)]
    create_namespace: bool,

    /// Maximum number of Applications [default: the previous value, or 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max_applications: Option<i64>,

    /// Maximum number of placements, each a tenant with an environment [default: the previous value, or 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max_placements: Option<i64>,

    /// Restrict writes to the instance's own namespace; grant permissions for other namespaces yourself
    #[arg(long)]
    namespaced: bool,

    /// Add the namespace even if another database uses it, or if a tenant can read the credentials of all placements there
    #[arg(long)]
    force: bool,

    /// Treat the cluster as the recreated cluster of an existing instance with this namespace
    #[arg(long)]
    cluster_recreated: bool,
}

#[derive(Args)]
struct InstanceArgs {
    /// Namespace of the Argo CD instance
    #[arg(value_name = "NAMESPACE")]
    instance: String,

    #[command(flatten)]
    engines: AdminArgs,
}

#[derive(Args)]
struct FleetRemove {
    #[command(flatten)]
    named: InstanceArgs,

    /// Abandon running removals; the deployed resources stay
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
struct FleetList {
    /// List placements: tenant, environment and instance
    #[arg(long)]
    placements: bool,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    engines: AdminArgs,
}

#[derive(Args)]
struct FleetMove {
    /// Namespace of the tenant, or its uid if several tenants have this name
    tenant: String,

    /// Environment, or the uid of its resource [default: the tenant's own namespace]
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,

    /// Namespace of the target Argo CD instance
    #[arg(long, value_name = "NAMESPACE", required_unless_present = "back")]
    to: Option<String>,

    /// Roll back a running move
    #[arg(long, conflicts_with = "to")]
    back: bool,

    /// Request the move and return; an agent carries it out
    #[arg(long)]
    no_wait: bool,

    #[command(flatten)]
    engines: AdminArgs,
}

/// A move was rolled back.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not move the placement: {0}\nhint: try again later; the placement is on its former instance, and deployed resources are untouched"
)]
struct MoveRolledBack(String);

impl FleetArgs {
    /// Returns the flags for the database and the cluster.
    pub fn admin_args(&self) -> &AdminArgs {
        match &self.command {
            FleetCommand::Add(add) => &add.engines,
            FleetCommand::Remove(remove) => &remove.named.engines,
            FleetCommand::List(list) => &list.engines,
            FleetCommand::Cordon(named) | FleetCommand::Uncordon(named) => &named.engines,
            FleetCommand::Move(fleet_move) => &fleet_move.engines,
        }
    }

    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        match self.command {
            FleetCommand::Add(add) => add.run().await,
            FleetCommand::Remove(remove) => remove.run().await,
            FleetCommand::List(list) => list.run().await,
            FleetCommand::Cordon(named) => named.set_state(InstanceState::Cordoned).await,
            FleetCommand::Uncordon(named) => named.set_state(InstanceState::Active).await,
            FleetCommand::Move(fleet_move) => fleet_move.run().await,
        }
    }
}

/// Instance that was removed from the fleet.
struct RemovedInstance(FleetInstance);

impl fmt::Display for RemovedInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "instance {} removed", self.0.candidate.instance.namespace)
    }
}

impl Serialize for RemovedInstance {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Value::from(&self.0).serialize(to)
    }
}

impl AdminArgs {
    async fn fleet(&self) -> Result<Fleet, CommandError> {
        let ledger = self.open_ledger().await?;
        ledger.check_schema().await?;
        // The backend stores the setting; the variable is for a database that no backend has used yet.
        let isolated = settings::isolation(&ledger).await?.unwrap_or_else(super::isolated);
        let store = Store::new(ledger, tokio::runtime::Handle::current());
        Ok(Fleet::new(store, self.client().await?, isolated))
    }

    /// Prints the current state of an instance.
    async fn show(&self, fleet: &Fleet, id: &EngineInstanceId) -> Result<ExitCode, CommandError> {
        if let Some(entry) = entry(fleet.list().await?, id) {
            output_format::print(&FleetTable::instance(&entry), self.output)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Finds an instance by id: another cluster may have one in a namespace of the same name.
fn entry(entries: Vec<FleetInstance>, id: &EngineInstanceId) -> Option<FleetInstance> {
    entries.into_iter().find(|entry| entry.candidate.instance.id == *id)
}

impl FleetAdd {
    async fn run(self) -> Result<ExitCode, CommandError> {
        let fleet = self.engines.fleet().await?;
        let spec = InstanceSpec {
            namespace: &self.instance,
            limits: InstanceLimits { max_applications: self.max_applications, max_environments: self.max_placements },
            reach: if self.namespaced { InstanceScope::Namespace } else { InstanceScope::Cluster },
            create: self.create_namespace,
            force: self.force,
            cluster_recreated: self.cluster_recreated,
        };
        let added = fleet.add(&spec).await?;
        for difference in fleet.setting_differences(&self.instance).await? {
            // The setting may be intended, so it is not overwritten.
            print_stderr(format_args!(
                "warning: {difference}\nhint: placements move only between instances with the same settings; change the setting, and restart that Argo CD"
            ));
        }
        self.engines.show(&fleet, &added.id).await
    }
}

impl FleetRemove {
    async fn run(self) -> Result<ExitCode, CommandError> {
        let InstanceArgs { instance, engines } = self.named;
        let fleet = engines.fleet().await?;
        let before = fleet.list().await?;
        let removed = fleet.remove(&instance, self.force).await?;
        if let Some(entry) = entry(before, &removed.id) {
            output_format::print(&RemovedInstance(entry), engines.output)?;
        }
        print_stderr("the namespace was not changed");
        Ok(ExitCode::SUCCESS)
    }
}

impl InstanceArgs {
    async fn set_state(self, state: InstanceState) -> Result<ExitCode, CommandError> {
        let fleet = self.engines.fleet().await?;
        let member = fleet.set_state(&self.instance, state).await?;
        self.engines.show(&fleet, &member.instance).await
    }
}

impl FleetList {
    async fn run(self) -> Result<ExitCode, CommandError> {
        let fleet = self.engines.fleet().await?;
        self.watch.show(|| self.report(&fleet)).await?;
        Ok(ExitCode::SUCCESS)
    }

    async fn report(&self, fleet: &Fleet) -> Result<String, CommandError> {
        if self.placements {
            let placements = fleet.placements().await?;
            if placements.is_empty() && self.engines.output.is_table() {
                print_stderr("no placements\nhint: a tenant's first deployment to an environment creates a placement");
                return Ok(String::new());
            }
            return self.engines.output.text(&FleetTable::placements(&placements));
        }
        let entries = fleet.list().await?;
        if entries.is_empty() && self.engines.output.is_table() {
            let hint = "no instances\nhint: `switchboard gitops fleet add NAMESPACE` adds one";
            print_stderr(self.engines.state().complete(hint));
            return Ok(String::new());
        }
        self.engines.output.text(&FleetTable::instances(&entries))
    }
}

impl FleetMove {
    async fn run(self) -> Result<ExitCode, CommandError> {
        let fleet = self.engines.fleet().await?;
        let (key, placement) = fleet.find_placement(&self.tenant, self.environment.as_deref()).await?;
        let Some(to) = &self.to else { return self.roll_back(&fleet, &key, &placement).await };
        let target = fleet.instance(to).await?;
        let mut row = fleet.begin_move(&key, &target).await?;
        if !self.no_wait {
            // An interrupt does not stop the move: it is stored in the database, and an agent continues it.
            row = fleet.finish_move(&row.id, |step| print_stderr(format_args!("{step}"))).await?;
        }
        if row.step == MoveStep::RolledBack {
            return Err(MoveRolledBack(
                row.human_readable_state.unwrap_or_else(|| "it was rolled back on request".into()),
            )
            .into());
        }
        let moved = table::move_table(&row, &self.tenant, self.environment.as_deref(), to);
        output_format::print(&moved, self.engines.output)?;
        Ok(ExitCode::SUCCESS)
    }

    async fn roll_back(
        &self,
        fleet: &Fleet,
        key: &PlacementKey,
        placement: &Placement,
    ) -> Result<ExitCode, CommandError> {
        let id = fleet.cancel_move(key).await?;
        let all = fleet.list().await?;
        let former = all.iter().map(|entry| &entry.candidate.instance).find(|one| one.id == placement.instance);
        let former = former.map(|one| one.namespace.clone()).unwrap_or_default();
        if !self.no_wait {
            let row = fleet.finish_move(&id, |step| print_stderr(format_args!("{step}"))).await?;
            output_format::print(
                &table::move_table(&row, &self.tenant, self.environment.as_deref(), &former),
                self.engines.output,
            )?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
