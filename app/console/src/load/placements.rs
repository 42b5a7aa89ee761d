//! Placements and moves of the fleet, from the GitOps Service's database.

use serde::Serialize;
use switchboard_kernel::timestamp::Timestamp;

use crate::fleet::{FleetPlacement, FleetRefusal, FleetStatus, MoveProgress, PlacementMove, PlacementName};
use crate::load::fleet::InstanceRow;
use crate::redact::PageRedactor;

/// Number of placements on a page.
pub const PLACEMENTS_PER_PAGE: usize = 25;
/// Number of moves on a page.
pub const MOVES_PER_PAGE: usize = 25;

/// Placements and moves of a fleet.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacementsView {
    /// Whether this process hosts a GitOps Service.
    #[serde(skip)]
    pub hosted: bool,
    /// Error of the database.
    #[serde(skip)]
    pub unread: Option<FleetRefusal>,
    /// Placements, moving ones first.
    pub units: Vec<FleetPlacement>,
    /// Total number of matching placements.
    pub units_total: usize,
    /// Running moves, then the last ended ones.
    pub moves: Vec<PlacementMove>,
    /// Time of the data.
    #[serde(skip)]
    pub now: Timestamp,
}

impl PlacementsView {
    /// Whether a move is running.
    pub fn is_moving(&self) -> bool {
        self.moves.iter().any(|one| one.course.is_open())
    }
}

/// Returns the placements and moves that match the filter, and adds the database entries to the instances.
pub fn placements(
    standing: FleetStatus,
    filter: &str,
    now: Timestamp,
    instances: &mut Vec<InstanceRow>,
    redactor: &PageRedactor,
) -> PlacementsView {
    for member in standing.instances {
        let found = instances.iter().position(|one| one.name == member.namespace).unwrap_or_else(|| {
            instances.push(InstanceRow { name: member.namespace.clone(), ..InstanceRow::default() });
            instances.len() - 1
        });
        instances[found].member = Some(member);
    }
    instances.sort_by(|a, b| a.name.cmp(&b.name));
    let (mut units, mut moves) = (standing.units, standing.moves);
    units.retain(|unit| matches_filter(&unit.name, filter));
    moves.retain(|one| matches_filter(&one.unit, filter));
    units.sort_by(|a, b| b.moving.cmp(&a.moving).then_with(|| a.name.cmp(&b.name)));
    let open = |one: &PlacementMove| !one.course.is_open();
    moves.sort_by(|a, b| open(a).cmp(&open(b)).then_with(|| b.since.cmp(&a.since)));
    let units_total = units.len();
    units.truncate(PLACEMENTS_PER_PAGE);
    moves.truncate(MOVES_PER_PAGE);
    moves.iter_mut().for_each(|one| one.message = redactor.text(&one.message));
    PlacementsView { hosted: true, unread: None, units, units_total, moves, now }
}

fn matches_filter(unit: &PlacementName, filter: &str) -> bool {
    filter.is_empty() || display_name(unit).contains(filter)
}

/// Returns the display name of a placement.
pub fn display_name(unit: &PlacementName) -> String {
    match &unit.environment {
        Some(environment) => format!("{}/{environment}", unit.tenant),
        None => unit.tenant.clone(),
    }
}

/// Returns the display text for the progress of a move.
pub fn progress_text(course: MoveProgress) -> &'static str {
    match course {
        MoveProgress::Going => "moving",
        MoveProgress::Returning => "rolling back",
        MoveProgress::Arrived => "finished",
        MoveProgress::Returned => "rolled back",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::FleetInstanceSummary;

    fn unit(tenant: &str, moving: bool) -> FleetPlacement {
        let name = PlacementName { tenant: tenant.to_string(), environment: None };
        FleetPlacement { name, instance: "argocd".to_string(), moving }
    }

    fn a_move(tenant: &str, course: MoveProgress, since: u64) -> PlacementMove {
        let name = PlacementName { tenant: tenant.to_string(), environment: None };
        PlacementMove { unit: name, course, since: Timestamp(since), ..PlacementMove::default() }
    }

    #[test]
    fn moving_placements_come_first_and_empty_instances_are_listed() {
        let member = FleetInstanceSummary { namespace: "argocd-2".to_string(), ..FleetInstanceSummary::default() };
        let standing = FleetStatus {
            instances: vec![member],
            units: vec![unit("shop", false), unit("bank", true)],
            moves: vec![a_move("shop", MoveProgress::Returned, 9), a_move("bank", MoveProgress::Going, 5)],
        };
        let mut instances = vec![InstanceRow { name: "argocd".to_string(), ..InstanceRow::default() }];
        let units = placements(standing, "", Timestamp(10), &mut instances, &PageRedactor::default());
        let tenants: Vec<&str> = units.units.iter().map(|unit| unit.name.tenant.as_str()).collect();
        assert_eq!(tenants, ["bank", "shop"]);
        assert_eq!(units.moves[0].unit.tenant, "bank");
        assert!(units.is_moving());
        let known: Vec<(&str, bool)> = instances.iter().map(|one| (&*one.name, one.member.is_some())).collect();
        assert_eq!(known, [("argocd", false), ("argocd-2", true)]);
    }

    #[test]
    fn page_is_bounded_and_shows_the_total() {
        let units = (0..60).map(|at| unit(&format!("tenant-{at}"), false)).collect();
        let standing = FleetStatus { units, ..FleetStatus::default() };
        let all = placements(standing.clone(), "", Timestamp(1), &mut Vec::new(), &PageRedactor::default());
        assert_eq!((all.units.len(), all.units_total), (PLACEMENTS_PER_PAGE, 60));
        let some = placements(standing, "tenant-5", Timestamp(1), &mut Vec::new(), &PageRedactor::default());
        assert_eq!((some.units.len(), some.units_total), (11, 11));
    }
}
