//! Placements and moves of the fleet, from the GitOps Service's database.

use serde::Serialize;
use switchboard_kernel::timestamp::Timestamp;

use crate::fleet::{FleetPlacement, FleetRefusal, FleetStatus, MoveProgress, PlacementMove, PlacementName};
use crate::load::fleet::InstanceRow;
use crate::redact::PageRedactor;
use crate::table::{SortKey, TableQuery, TableRow};

/// Name of the table of placements in the parameter `sort`.
pub const PLACEMENT_TABLE: &str = "placements";
/// Name of the table of moves in the parameter `sort`.
pub const MOVE_TABLE: &str = "moves";
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
    pub read_error: Option<FleetRefusal>,
    /// Placements, moving ones first.
    pub placements: Vec<FleetPlacement>,
    /// Total number of matching placements.
    pub placements_total: usize,
    /// Running moves, then the last ended ones.
    pub moves: Vec<PlacementMove>,
    /// Time of the data.
    #[serde(skip)]
    pub now: Timestamp,
}

impl PlacementsView {
    /// Whether a move is running.
    pub fn is_moving(&self) -> bool {
        self.moves.iter().any(|one| one.progress.is_open())
    }
}

/// Returns the placements and moves that match the filter, and adds the database entries to the instances.
pub fn placements(
    standing: FleetStatus,
    query: &TableQuery,
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
    let (mut placements, mut moves) = (standing.placements, standing.moves);
    placements.sort_by(|a, b| b.moving.cmp(&a.moving).then_with(|| a.name.cmp(&b.name)));
    let open = |one: &PlacementMove| !one.progress.is_open();
    moves.sort_by(|a, b| open(a).cmp(&open(b)).then_with(|| b.since.cmp(&a.since)));
    query.arrange(PLACEMENT_TABLE, &mut placements);
    query.arrange(MOVE_TABLE, &mut moves);
    let placements_total = placements.len();
    placements.truncate(PLACEMENTS_PER_PAGE);
    moves.truncate(MOVES_PER_PAGE);
    moves.iter_mut().for_each(|one| one.message = redactor.text(&one.message));
    PlacementsView { hosted: true, read_error: None, placements, placements_total, moves, now }
}

impl TableRow for FleetPlacement {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        Some(match column {
            "name" => SortKey::text(&display_name(&self.name)),
            "instance" => SortKey::text(&self.instance),
            _ => return None,
        })
    }

    fn filter_text(&self) -> String {
        format!("{} {}", display_name(&self.name), self.instance)
    }
}

impl TableRow for PlacementMove {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        Some(match column {
            "name" => SortKey::text(&display_name(&self.name)),
            "state" => SortKey::text(progress_text(self.progress)),
            "from" => SortKey::text(&self.from),
            "to" => SortKey::text(&self.to),
            "step" => SortKey::text(&self.step),
            "requested" => SortKey::Number(self.began.0),
            _ => return None,
        })
    }

    fn filter_text(&self) -> String {
        format!("{} {} {} {}", display_name(&self.name), self.from, self.to, progress_text(self.progress))
    }
}

/// Returns the display name of a placement.
pub fn display_name(name: &PlacementName) -> String {
    match &name.environment {
        Some(environment) => format!("{}/{environment}", name.tenant),
        None => name.tenant.clone(),
    }
}

/// Returns the display text for the progress of a move.
pub fn progress_text(progress: MoveProgress) -> &'static str {
    match progress {
        MoveProgress::Running => "moving",
        MoveProgress::RollingBack => "rolling back",
        MoveProgress::Finished => "finished",
        MoveProgress::RolledBack => "rolled back",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::FleetInstanceSummary;

    fn placement(tenant: &str, moving: bool) -> FleetPlacement {
        let name = PlacementName { tenant: tenant.to_string(), environment: None };
        FleetPlacement { name, instance: "argocd".to_string(), moving }
    }

    fn a_move(tenant: &str, progress: MoveProgress, since: u64) -> PlacementMove {
        let name = PlacementName { tenant: tenant.to_string(), environment: None };
        PlacementMove { name, progress, since: Timestamp(since), ..PlacementMove::default() }
    }

    #[test]
    fn moving_placements_come_first_and_empty_instances_are_listed() {
        let member = FleetInstanceSummary { namespace: "argocd-2".to_string(), ..FleetInstanceSummary::default() };
        let standing = FleetStatus {
            instances: vec![member],
            placements: vec![placement("shop", false), placement("bank", true)],
            moves: vec![a_move("shop", MoveProgress::RolledBack, 9), a_move("bank", MoveProgress::Running, 5)],
        };
        let mut instances = vec![InstanceRow { name: "argocd".to_string(), ..InstanceRow::default() }];
        let view =
            placements(standing, &TableQuery::default(), Timestamp(10), &mut instances, &PageRedactor::default());
        let tenants: Vec<&str> = view.placements.iter().map(|one| one.name.tenant.as_str()).collect();
        assert_eq!(tenants, ["bank", "shop"]);
        assert_eq!(view.moves[0].name.tenant, "bank");
        assert!(view.is_moving());
        let known: Vec<(&str, bool)> = instances.iter().map(|one| (&*one.name, one.member.is_some())).collect();
        assert_eq!(known, [("argocd", false), ("argocd-2", true)]);
    }

    #[test]
    fn page_is_bounded_and_shows_the_total() {
        let placed = (0..60).map(|at| placement(&format!("tenant-{at}"), false)).collect();
        let standing = FleetStatus { placements: placed, ..FleetStatus::default() };
        let all = placements(
            standing.clone(),
            &TableQuery::default(),
            Timestamp(1),
            &mut Vec::new(),
            &PageRedactor::default(),
        );
        assert_eq!((all.placements.len(), all.placements_total), (PLACEMENTS_PER_PAGE, 60));
        let some = placements(
            standing,
            &TableQuery::new("", vec![], "tenant-5", ""),
            Timestamp(1),
            &mut Vec::new(),
            &PageRedactor::default(),
        );
        assert_eq!((some.placements.len(), some.placements_total), (11, 11));
    }
}
