//! Assignment of placements to instances.

use std::fmt;

use switchboard_sql::{DbTimestamp, Filter, RowChange, RowLimit};

use super::PlacementKey;
use crate::ids::{EngineInstanceId, InstanceState};
use crate::moves;
use crate::rows::fleet::{Member, Move, Placement};
use crate::rows::{Application, ClusterAccess, EngineInstance};

/// Default limit of Applications on an instance, which an Argo CD of default size can handle.
pub const MAX_APPLICATIONS: i64 = 1000;

/// Default limit of placements on an instance.
pub const MAX_ENVIRONMENTS: i64 = 1000;

/// Argo CD instance with its limits and load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceCandidate {
    /// Argo CD instance.
    pub instance: EngineInstance,
    /// Limits of the instance; `None` if it was never added to the fleet and gets no placements.
    pub member: Option<Member>,
    /// Number of Applications.
    pub applications: u64,
    /// Number of placements.
    pub environments: u64,
    /// Load of moves to the instance that have not arrived.
    pub incoming: IncomingLoad,
}

/// Load of moves to an instance that have not arrived. It counts against the limits, so that their capacity is
/// reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncomingLoad {
    /// Number of placements, each with its own move.
    pub placements: u64,
    /// Number of their Applications.
    pub applications: u64,
}

impl InstanceCandidate {
    /// Returns the number of Applications, including incoming ones.
    pub fn all_applications(&self) -> u64 {
        self.applications + self.incoming.applications
    }

    /// Returns the number of placements, including incoming ones.
    pub fn all_placements(&self) -> u64 {
        self.environments + self.incoming.placements
    }

    /// Returns the change that reserves capacity for a placement with this number of Applications. The placement or
    /// move itself must precede it in the same list. Concurrent reservations are counted or conflict.
    pub fn reserve(&self, member: &Member, applications: u64, is_move: bool) -> RowChange {
        let id = &self.instance.id;
        let max = |max: i64| u64::try_from(max).unwrap_or_default();
        let moves = || Filter::all().is("target_id", id).is_any_of("step", moves::RESERVING_STEPS);
        let units = RowLimit::at_most(max(member.max_environments))
            .counting::<Placement>(Filter::all().is("instance_id", id))
            .counting::<Move>(moves());
        // The number of incoming Applications was read before, so no other move may have begun since.
        let others = self.incoming.placements + u64::from(is_move);
        let most = max(member.max_applications).saturating_sub(self.incoming.applications + applications);
        let applications =
            RowLimit::at_most(most).counting::<Application>(Filter::all().is("engine_instance_inst_id", id));
        RowChange::require_limits(
            member,
            vec![units, RowLimit::at_most(others).counting::<Move>(moves()), applications],
        )
    }
}

/// Assignment of a placement to an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementDecision {
    /// Argo CD instance.
    pub instance: EngineInstanceId,
    /// Row of the placement.
    pub placement: Placement,
    /// Changes that establish the assignment. Commit them with all changes that rely on it.
    pub changes: Vec<RowChange>,
}

/// No Argo CD instance has capacity. The placement waits until one does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NoCapacity {
    /// Number of instances in the fleet.
    pub members: usize,
    /// Number of cordoned instances.
    pub cordoned: usize,
}

impl fmt::Display for NoCapacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.members, self.cordoned) {
            (0, _) => write!(f, "no Argo CD instance is registered"),
            (all, cordoned) if all == cordoned => write!(f, "every Argo CD instance is cordoned"),
            (all, 0) => write!(f, "all {all} Argo CD instances are full"),
            (all, cordoned) => {
                write!(f, "{} of {all} Argo CD instances are full, the others are cordoned", all - cordoned)
            }
        }
    }
}

/// Assigns a placement: to its instance if it has one, to the instance where managed-gitops placed it, or to the least
/// loaded instance with capacity.
///
/// # Guarantees
/// - A placement is on one instance, however many callers place it.                 // test: guarantees_a_placement_is_never_split
/// - A cordoned or full instance gets no new placement.                             // test: guarantees_cordoned_and_full_instances_get_no_new_placement
/// - Concurrent placements and moves never exceed the limits of an instance.        // test: an_instance_never_exceeds_its_limits
///
/// # Caveats
/// - A placement keeps its instance when the tenant adds Applications: it is never split, so its Applications may exceed the limit of the
///   instance.
pub fn place(
    unit: &PlacementKey,
    placement: Option<&Placement>,
    access: &[ClusterAccess],
    fleet: &[InstanceCandidate],
    now: DbTimestamp,
) -> Result<PlacementDecision, NoCapacity> {
    if let Some(placement) = placement {
        let changes = vec![RowChange::require_unchanged(placement)];
        return Ok(PlacementDecision { instance: placement.instance.clone(), placement: placement.clone(), changes });
    }
    let used = access.iter().find(|row| row.user == unit.user && row.environment == unit.environment);
    let (instance, room) = match used {
        Some(access) => (access.instance.clone(), None),
        None => {
            let (candidate, member) = least_loaded(fleet).ok_or_else(|| no_capacity(fleet))?;
            (candidate.instance.id.clone(), Some(candidate.reserve(member, 1, false)))
        }
    };
    let placement = Placement {
        user: unit.user.clone(),
        environment: unit.environment.clone(),
        instance: instance.clone(),
        epoch: 1,
        moving: None,
        created_on: now,
    };
    let changes = std::iter::once(RowChange::insert(&placement)).chain(room).collect();
    Ok(PlacementDecision { instance, placement, changes })
}

/// Returns the instance with the smallest relative load; of equals, the one with the smallest id.
fn least_loaded(fleet: &[InstanceCandidate]) -> Option<(&InstanceCandidate, &Member)> {
    let open = fleet.iter().filter_map(|candidate| candidate.member.as_ref().map(|member| (candidate, member)));
    let open =
        open.filter(|(candidate, member)| member.state == InstanceState::Active && has_capacity(candidate, member));
    open.min_by(|(a, of_a), (b, of_b)| {
        load(a, of_a).cmp(&load(b, of_b)).then_with(|| a.instance.id.cmp(&b.instance.id))
    })
}

/// Whether one more placement with at least one Application is within both limits.
pub fn has_capacity(candidate: &InstanceCandidate, member: &Member) -> bool {
    let below = |used: u64, max: i64| u64::try_from(max).is_ok_and(|max| used < max);
    below(candidate.all_applications(), member.max_applications)
        && below(candidate.all_placements(), member.max_environments)
}

/// Returns the larger of both relative loads, in millionths of its limit.
fn load(candidate: &InstanceCandidate, member: &Member) -> u128 {
    let part = |used: u64, max: i64| u128::from(used) * 1_000_000 / u128::try_from(max.max(1)).unwrap_or(1);
    let applications = part(candidate.all_applications(), member.max_applications);
    applications.max(part(candidate.all_placements(), member.max_environments))
}

fn no_capacity(fleet: &[InstanceCandidate]) -> NoCapacity {
    let members: Vec<&Member> = fleet.iter().filter_map(|candidate| candidate.member.as_ref()).collect();
    let cordoned = members.iter().filter(|member| member.state == InstanceState::Cordoned).count();
    NoCapacity { members: members.len(), cordoned }
}
