//! Fleet of the hosted service for the console: placements by the names users know, and their moves.

use std::collections::BTreeMap;

use futures::FutureExt;
use futures::future::BoxFuture;
use switchboard_console::fleet as shown;
use switchboard_console::fleet::{
    FleetInstanceSummary, FleetPlacement, FleetRefusal, FleetStatus, MoveProgress, PlacementName, RefusalKind,
};
use switchboard_gitops::ids::{EngineInstanceId, ManagedEnvironmentId, MoveStep, UserId};
use switchboard_gitops::instance::fleet::{self, Fleet, FleetError, FleetInstance};
use switchboard_gitops::rows::fleet::{Move, Placement};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_sql::{Filter, Ledger};

use crate::failure;

/// Fleet of the service that this process hosts.
pub struct HostedFleet {
    fleet: Fleet,
    ledger: Ledger,
}

/// Display names of rows.
struct PlacementNames {
    names: fleet::PlacementNames,
    instances: BTreeMap<EngineInstanceId, String>,
}

impl HostedFleet {
    /// Creates the fleet over the service's database.
    pub fn new(fleet: Fleet, ledger: Ledger) -> Self {
        Self { fleet, ledger }
    }

    async fn fleet_status(&self) -> Result<FleetStatus, FleetError> {
        let entries = self.fleet.list().await?;
        let names = self.names(&entries).await?;
        let placements: Vec<Placement> = self.ledger.list(&Filter::all()).await?;
        let placements = placements.iter().map(|row| FleetPlacement {
            name: names.placement(&row.user, &row.environment),
            instance: names.instance(&row.instance),
            moving: row.moving.is_some(),
        });
        let moves: Vec<Move> = self.ledger.list(&Filter::all()).await?;
        Ok(FleetStatus {
            instances: entries.iter().map(member).collect(),
            placements: placements.collect(),
            moves: moves.iter().map(|row| names.placement_move(row)).collect(),
        })
    }

    async fn names(&self, entries: &[FleetInstance]) -> Result<PlacementNames, FleetError> {
        let instances = entries.iter().map(|entry| &entry.candidate.instance);
        Ok(PlacementNames {
            names: self.fleet.placement_names().await?,
            instances: instances.map(|row| (row.id.clone(), row.namespace.clone())).collect(),
        })
    }

    async fn move_to(&self, placement: &PlacementName, to: &str) -> Result<shown::PlacementMove, FleetError> {
        let target = self.fleet.instance(to).await?;
        let (found, _) = self.fleet.find_placement(&placement.tenant, placement.environment.as_deref()).await?;
        let row = self.fleet.begin_move(&found, &target).await?;
        Ok(self.names(&self.fleet.list().await?).await?.placement_move(&row))
    }
}

impl shown::FleetProvider for HostedFleet {
    fn status(&self) -> BoxFuture<'_, Result<FleetStatus, FleetRefusal>> {
        async { self.fleet_status().await.map_err(|error| refusal(&error)) }.boxed()
    }

    fn begin<'a>(
        &'a self,
        placement: &'a PlacementName,
        to: &'a str,
    ) -> BoxFuture<'a, Result<shown::PlacementMove, FleetRefusal>> {
        async move { self.move_to(placement, to).await.map_err(|error| refusal(&error)) }.boxed()
    }
}

impl PlacementNames {
    /// Returns the names that `fleet move` accepts for a placement.
    fn placement(&self, user: &UserId, environment: &ManagedEnvironmentId) -> PlacementName {
        PlacementName { tenant: self.names.tenant(user), environment: self.names.environment(environment) }
    }

    fn instance(&self, id: &EngineInstanceId) -> String {
        self.instances.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    fn placement_move(&self, row: &Move) -> shown::PlacementMove {
        shown::PlacementMove {
            name: self.placement(&row.user, &row.environment),
            from: self.instance(&row.source),
            to: self.instance(&row.target),
            progress: match row.step {
                MoveStep::Done => MoveProgress::Finished,
                MoveStep::Rollback => MoveProgress::RollingBack,
                MoveStep::RolledBack => MoveProgress::RolledBack,
                _ => MoveProgress::Running,
            },
            step: row.step.as_str().to_string(),
            began: timestamp(row.created_on),
            since: timestamp(row.last_step_update),
            message: row.human_readable_state.clone().unwrap_or_default(),
        }
    }
}

fn timestamp(of_row: switchboard_sql::DbTimestamp) -> Timestamp {
    Timestamp(u64::try_from(of_row.unix_us / 1000).unwrap_or_default())
}

fn member(entry: &FleetInstance) -> FleetInstanceSummary {
    let one = &entry.candidate;
    let takes = one.member.as_ref();
    FleetInstanceSummary {
        namespace: one.instance.namespace.clone(),
        state: takes.map_or("unregistered", |member| member.state.as_str()).to_string(),
        applications: one.applications,
        max_applications: takes.map(|member| member.max_applications),
        placements: one.environments,
        max_placements: takes.map(|member| member.max_environments),
        moving: entry.moving,
    }
}

/// Converts an error to the message and hint that the command line prints.
fn refusal(error: &FleetError) -> FleetRefusal {
    let why = match error {
        FleetError::NoInstance(_) | FleetError::NoPlacement { .. } | FleetError::NoMove => RefusalKind::Missing,
        FleetError::Cannot(_) | FleetError::Ambiguous { .. } => RefusalKind::Conflict,
        _ => RefusalKind::Failed,
    };
    let printed = failure::message(error);
    let (what, hint) = printed.split_once("\nhint: ").unwrap_or((&printed, ""));
    let what = what.trim_start_matches("error: ").replace("\n  ", ": ");
    FleetRefusal { kind: why, message: what, hint: hint.to_string() }
}

#[cfg(test)]
mod tests {
    use switchboard_gitops::moves::MoveError;

    use super::*;

    #[test]
    fn refusal_has_the_message_of_the_command_line() {
        let missing = refusal(&FleetError::NoInstance("nowhere".to_string()));
        assert_eq!(missing.message, "could not find an Argo CD instance in namespace `nowhere`");
        assert_eq!(
            (missing.kind, &*missing.hint),
            (RefusalKind::Missing, "list the instances with `switchboard gitops fleet list`")
        );
        let refused = refusal(&FleetError::Cannot(MoveError::AlreadyThere));
        assert_eq!(refused.kind, RefusalKind::Conflict);
        assert!(refused.hint.starts_with("nothing to do"), "{refused:?}");
        let uids = vec!["a".to_string(), "b".to_string()];
        let several = refusal(&FleetError::Ambiguous { what: "tenant", name: "team".to_string(), uids });
        assert_eq!(several.message, "could not select one tenant: 2 have the name `team`, with the uids `a`, `b`");
        assert_eq!(
            (several.kind, several.hint.starts_with("pass the uid")),
            (RefusalKind::Conflict, true),
            "{several:?}"
        );
    }
}
