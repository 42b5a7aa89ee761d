//! Units by the names people have for them, for the console: where they are, and how they move.

use std::collections::BTreeMap;

use futures::FutureExt;
use futures::future::BoxFuture;
use switchboard_console::fleet::{self as shown, Course, Member, Refused, Standing, Unit, UnitName, Why};
use switchboard_kernel::moment::Moment;
use switchboard_ledger::ids::{EngineInstanceId, ManagedEnvironmentId, MoveStep, UserId};
use switchboard_ledger::rows::fleet::{Move, Placement};
use switchboard_ledger::{Filter, Ledger};
use switchboard_service::fleet::{self, Entry, Fleet, FleetError};

use crate::failure;

/// The fleet of the service that this process hosts.
pub struct Units {
    fleet: Fleet,
    ledger: Ledger,
}

/// What rows are called.
struct Names {
    units: fleet::Names,
    instances: BTreeMap<EngineInstanceId, String>,
}

impl Units {
    /// Over the service's own database.
    pub fn new(fleet: Fleet, ledger: Ledger) -> Self {
        Self { fleet, ledger }
    }

    async fn standing(&self) -> Result<Standing, FleetError> {
        let entries = self.fleet.list().await?;
        let names = self.names(&entries).await?;
        let placements: Vec<Placement> = self.ledger.list(&Filter::all()).await?;
        let units = placements.iter().map(|row| Unit {
            name: names.unit(&row.user, &row.environment),
            instance: names.instance(&row.instance),
            moving: row.moving.is_some(),
        });
        let moves: Vec<Move> = self.ledger.list(&Filter::all()).await?;
        Ok(Standing {
            instances: entries.iter().map(member).collect(),
            units: units.collect(),
            moves: moves.iter().map(|row| names.moved(row)).collect(),
        })
    }

    async fn names(&self, entries: &[Entry]) -> Result<Names, FleetError> {
        let instances = entries.iter().map(|entry| &entry.candidate.instance);
        Ok(Names {
            units: self.fleet.names().await?,
            instances: instances.map(|row| (row.id.clone(), row.namespace.clone())).collect(),
        })
    }

    async fn move_to(&self, unit: &UnitName, to: &str) -> Result<shown::Move, FleetError> {
        let target = self.fleet.instance(to).await?;
        let (found, _) = self.fleet.unit(&unit.tenant, unit.environment.as_deref()).await?;
        let row = self.fleet.begin(&found, &target).await?;
        Ok(self.names(&self.fleet.list().await?).await?.moved(&row))
    }
}

impl shown::Fleet for Units {
    fn look(&self) -> BoxFuture<'_, Result<Standing, Refused>> {
        async { self.standing().await.map_err(|error| refused(&error)) }.boxed()
    }

    fn begin<'a>(&'a self, unit: &'a UnitName, to: &'a str) -> BoxFuture<'a, Result<shown::Move, Refused>> {
        async move { self.move_to(unit, to).await.map_err(|error| refused(&error)) }.boxed()
    }
}

impl Names {
    /// As a move takes it: what is shown is what can be asked for.
    fn unit(&self, user: &UserId, environment: &ManagedEnvironmentId) -> UnitName {
        UnitName { tenant: self.units.tenant(user), environment: self.units.environment(environment) }
    }

    fn instance(&self, id: &EngineInstanceId) -> String {
        self.instances.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    fn moved(&self, row: &Move) -> shown::Move {
        shown::Move {
            unit: self.unit(&row.user, &row.environment),
            from: self.instance(&row.source),
            to: self.instance(&row.target),
            course: match row.step {
                MoveStep::Done => Course::Arrived,
                MoveStep::Return => Course::Returning,
                MoveStep::Returned => Course::Returned,
                _ => Course::Going,
            },
            step: row.step.as_str().to_string(),
            began: moment(row.created_on),
            since: moment(row.last_step_update),
            message: row.human_readable_state.clone().unwrap_or_default(),
        }
    }
}

fn moment(of_row: switchboard_ledger::Moment) -> Moment {
    Moment(u64::try_from(of_row.unix_us / 1000).unwrap_or_default())
}

fn member(entry: &Entry) -> Member {
    let one = &entry.candidate;
    let takes = one.member.as_ref();
    Member {
        namespace: one.instance.namespace.clone(),
        state: takes.map_or("unregistered", |member| member.state.as_str()).to_string(),
        applications: one.applications,
        max_applications: takes.map(|member| member.max_applications),
        units: one.environments,
        max_units: takes.map(|member| member.max_environments),
        moving: entry.moving,
    }
}

/// What the command line would say, in a line and a hint.
fn refused(error: &FleetError) -> Refused {
    let why = match error {
        FleetError::NoInstance(_) | FleetError::NoUnit { .. } | FleetError::NoMove => Why::Missing,
        FleetError::Cannot(_) | FleetError::Several { .. } => Why::Conflict,
        _ => Why::Failed,
    };
    let told = failure::tell(error);
    let (what, hint) = told.split_once("\nhint: ").unwrap_or((&told, ""));
    let what = what.trim_start_matches("error: ").replace("\n  ", ": ");
    Refused { why, what, hint: hint.to_string() }
}

#[cfg(test)]
mod tests {
    use switchboard_gitops::fleet::moving::CannotMove;

    use super::*;

    #[test]
    fn a_refusal_says_what_the_command_line_says() {
        let missing = refused(&FleetError::NoInstance("nowhere".to_string()));
        assert_eq!(missing.what, "could not find an Argo CD instance in namespace `nowhere`");
        assert_eq!((missing.why, &*missing.hint), (Why::Missing, "`switchboard gitops fleet list` names them"));
        let there = refused(&FleetError::Cannot(CannotMove::There));
        assert_eq!(there.why, Why::Conflict);
        assert!(there.hint.starts_with("nothing is to be done"), "{there:?}");
        let uids = vec!["a".to_string(), "b".to_string()];
        let several = refused(&FleetError::Several { what: "tenant", name: "team".to_string(), uids });
        assert_eq!(several.what, "could not tell which tenant is meant: 2 are called `team`, by uid `a`, `b`");
        assert_eq!((several.why, several.hint.starts_with("give the uid")), (Why::Conflict, true), "{several:?}");
    }
}
