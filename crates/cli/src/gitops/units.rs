//! Units by the names people have for them, for the console: where they are, and how they move.

use std::collections::BTreeMap;

use futures::FutureExt;
use futures::future::BoxFuture;
use switchboard_console::fleet::{self as shown, Course, Member, Refused, Standing, Unit, UnitName, Why};
use switchboard_kernel::moment::Moment;
use switchboard_ledger::ids::{ApiRelation, EngineInstanceId, ManagedEnvironmentId, MoveStep, UserId};
use switchboard_ledger::rows::fleet::{Move, Placement};
use switchboard_ledger::rows::{ApiToDatabase, ClusterUser};
use switchboard_ledger::{Filter, Ledger, LedgerError};
use switchboard_service::fleet::{Entry, Fleet, FleetError};

use crate::failure;

/// The fleet of the service that this process hosts.
pub struct Units {
    fleet: Fleet,
    ledger: Ledger,
}

/// What rows are called.
struct Names {
    tenants: BTreeMap<UserId, String>,
    environments: BTreeMap<ManagedEnvironmentId, String>,
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

    async fn names(&self, entries: &[Entry]) -> Result<Names, LedgerError> {
        let users: Vec<ClusterUser> = self.ledger.list(&Filter::all()).await?;
        let of_environments = Filter::all().is("db_relation_type", ApiRelation::ManagedEnvironment);
        let environments: Vec<ApiToDatabase> = self.ledger.list(&of_environments).await?;
        let instances = entries.iter().map(|entry| &entry.candidate.instance);
        Ok(Names {
            // A tenant of the original may have no name but the uid of its namespace.
            tenants: users.into_iter().map(|user| (user.id, user.display_name.unwrap_or(user.user_name))).collect(),
            environments: environments.into_iter().map(|row| (row.relation_key.into(), row.name)).collect(),
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
    /// An environment that nobody named is the tenant's own namespace.
    fn unit(&self, user: &UserId, environment: &ManagedEnvironmentId) -> UnitName {
        let tenant = self.tenants.get(user).cloned().unwrap_or_else(|| user.to_string());
        UnitName { tenant, environment: self.environments.get(environment).cloned() }
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
        FleetError::Cannot(_) => Why::Conflict,
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
    }
}
