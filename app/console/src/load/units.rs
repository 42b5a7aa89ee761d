//! Units of the fleet and their moves, from the GitOps Service's database.

use serde::Serialize;
use switchboard_kernel::moment::Moment;

use crate::fleet::{Course, Move, Refused, Standing, Unit, UnitName};
use crate::load::fleet::Instance;
use crate::veil::Veil;

/// How many units a page shows.
pub const UNITS: usize = 25;
/// How many moves a page shows.
pub const MOVES: usize = 25;

/// What the database says of a fleet.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Units {
    /// Whether a GitOps Service is hosted that could say so.
    #[serde(skip)]
    pub hosted: bool,
    /// Why it could not be asked.
    #[serde(skip)]
    pub unread: Option<Refused>,
    /// Units, those that move first.
    pub units: Vec<Unit>,
    /// How many there are of such a name.
    pub units_total: usize,
    /// Moves under way, and then those that ended last.
    pub moves: Vec<Move>,
    /// When this was.
    #[serde(skip)]
    pub now: Moment,
}

impl Units {
    /// Whether something is on its way.
    pub fn is_moving(&self) -> bool {
        self.moves.iter().any(|one| one.course.is_open())
    }
}

/// Units and moves whose names hold the filter; instances are told apart by what the database says of them.
pub fn of(standing: Standing, filter: &str, now: Moment, instances: &mut Vec<Instance>, veil: &Veil) -> Units {
    for member in standing.instances {
        let found = instances.iter().position(|one| one.name == member.namespace).unwrap_or_else(|| {
            instances.push(Instance { name: member.namespace.clone(), ..Instance::default() });
            instances.len() - 1
        });
        instances[found].member = Some(member);
    }
    instances.sort_by(|a, b| a.name.cmp(&b.name));
    let (mut units, mut moves) = (standing.units, standing.moves);
    units.retain(|unit| shown(&unit.name, filter));
    moves.retain(|one| shown(&one.unit, filter));
    units.sort_by(|a, b| b.moving.cmp(&a.moving).then_with(|| a.name.cmp(&b.name)));
    let open = |one: &Move| !one.course.is_open();
    moves.sort_by(|a, b| open(a).cmp(&open(b)).then_with(|| b.since.cmp(&a.since)));
    let units_total = units.len();
    units.truncate(UNITS);
    moves.truncate(MOVES);
    moves.iter_mut().for_each(|one| one.message = veil.text(&one.message));
    Units { hosted: true, unread: None, units, units_total, moves, now }
}

fn shown(unit: &UnitName, filter: &str) -> bool {
    filter.is_empty() || called(unit).contains(filter)
}

/// A unit in a word.
pub fn called(unit: &UnitName) -> String {
    match &unit.environment {
        Some(environment) => format!("{}/{environment}", unit.tenant),
        None => unit.tenant.clone(),
    }
}

/// How a move stands, for people.
pub fn told(course: Course) -> &'static str {
    match course {
        Course::Going => "on its way",
        Course::Returning => "going back",
        Course::Arrived => "arrived",
        Course::Returned => "went back",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Member;

    fn unit(tenant: &str, moving: bool) -> Unit {
        let name = UnitName { tenant: tenant.to_string(), environment: None };
        Unit { name, instance: "argocd".to_string(), moving }
    }

    fn a_move(tenant: &str, course: Course, since: u64) -> Move {
        let name = UnitName { tenant: tenant.to_string(), environment: None };
        Move { unit: name, course, since: Moment(since), ..Move::default() }
    }

    #[test]
    fn what_moves_comes_first_and_instances_without_applications_are_there() {
        let member = Member { namespace: "argocd-2".to_string(), ..Member::default() };
        let standing = Standing {
            instances: vec![member],
            units: vec![unit("shop", false), unit("bank", true)],
            moves: vec![a_move("shop", Course::Returned, 9), a_move("bank", Course::Going, 5)],
        };
        let mut instances = vec![Instance { name: "argocd".to_string(), ..Instance::default() }];
        let units = of(standing, "", Moment(10), &mut instances, &Veil::default());
        let tenants: Vec<&str> = units.units.iter().map(|unit| unit.name.tenant.as_str()).collect();
        assert_eq!(tenants, ["bank", "shop"]);
        assert_eq!(units.moves[0].unit.tenant, "bank");
        assert!(units.is_moving());
        let known: Vec<(&str, bool)> = instances.iter().map(|one| (&*one.name, one.member.is_some())).collect();
        assert_eq!(known, [("argocd", false), ("argocd-2", true)]);
    }

    #[test]
    fn a_page_holds_so_many_units_and_says_how_many_there_are() {
        let units = (0..60).map(|at| unit(&format!("tenant-{at}"), false)).collect();
        let standing = Standing { units, ..Standing::default() };
        let all = of(standing.clone(), "", Moment(1), &mut Vec::new(), &Veil::default());
        assert_eq!((all.units.len(), all.units_total), (UNITS, 60));
        let some = of(standing, "tenant-5", Moment(1), &mut Vec::new(), &Veil::default());
        assert_eq!((some.units.len(), some.units_total), (11, 11));
    }
}
