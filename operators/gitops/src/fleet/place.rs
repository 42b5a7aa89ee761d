//! Where a unit goes.

use std::fmt;

use switchboard_ledger::ids::{EngineInstanceId, InstanceState};
use switchboard_ledger::rows::fleet::{Member, Move, Placement};
use switchboard_ledger::rows::{Application, ClusterAccess, EngineInstance};
use switchboard_ledger::{Bound, Change, Filter, Moment};

use super::{Unit, moving};

/// How many Applications an instance is given unless somebody says otherwise: what a default-size Argo CD carries.
pub const MAX_APPLICATIONS: i64 = 1000;

/// How many units an instance is given unless somebody says otherwise.
pub const MAX_ENVIRONMENTS: i64 = 1000;

/// An Argo CD, what it takes and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The Argo CD.
    pub instance: EngineInstance,
    /// What it takes; none if it was never added to the fleet, and is given nothing.
    pub member: Option<Member>,
    /// How many Applications it has.
    pub applications: u64,
    /// How many units it has.
    pub environments: u64,
    /// What is on its way to it.
    pub coming: Coming,
}

/// Units that move to an Argo CD and are not there yet. They count as if they were: nobody else is given their room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coming {
    /// How many units, each with a move of its own.
    pub units: u64,
    /// How many Applications they have.
    pub applications: u64,
}

impl Candidate {
    /// How many Applications it has, or will have.
    pub fn all_applications(&self) -> u64 {
        self.applications + self.coming.applications
    }

    /// How many units it has, or will have.
    pub fn all_units(&self) -> u64 {
        self.environments + self.coming.units
    }

    /// Makes sure that there is room for a unit, which is placed or begins to come before this in the same list, and for so many
    /// Applications of it. Whoever else gives it something at the same time is counted, or has to look again.
    pub fn room(&self, member: &Member, applications: u64, is_move: bool) -> Change {
        let id = &self.instance.id;
        let max = |max: i64| u64::try_from(max).unwrap_or_default();
        let moves = || Filter::all().is("target_id", id).any("step", moving::ARRIVING);
        let units = Bound::of(max(member.max_environments))
            .counting::<Placement>(Filter::all().is("instance_id", id))
            .counting::<Move>(moves());
        // How many Applications others bring was counted when this was decided: nobody else may have begun to come since.
        let others = self.coming.units + u64::from(is_move);
        let most = max(member.max_applications).saturating_sub(self.coming.applications + applications);
        let applications = Bound::of(most).counting::<Application>(Filter::all().is("engine_instance_inst_id", id));
        Change::room(member, vec![units, Bound::of(others).counting::<Move>(moves()), applications])
    }
}

/// Where a unit is from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The Argo CD.
    pub instance: EngineInstanceId,
    /// Its placement.
    pub placement: Placement,
    /// What makes it so; they go into the same transaction as whatever relies on it.
    pub changes: Vec<Change>,
}

/// No Argo CD takes the unit. The unit waits: it is placed as soon as there is room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NoRoom {
    /// How many are in the fleet.
    pub members: usize,
    /// How many of them take nothing new.
    pub cordoned: usize,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.members, self.cordoned) {
            (0, _) => write!(f, "no Argo CD instance is registered"),
            (all, cordoned) if all == cordoned => write!(f, "every Argo CD instance is cordoned"),
            (all, 0) => write!(f, "all {all} Argo CD instances are full"),
            (all, cordoned) => {
                write!(f, "{} of {all} Argo CD instances are full, the others cordoned", all - cordoned)
            }
        }
    }
}

/// Places a unit: where it is, if it is anywhere; where it was used, if the original placed it; else on the least loaded instance
/// that takes it.
///
/// # Guarantees
/// - A unit is on one instance, whoever asks and however often.           // test: guarantees_a_unit_is_never_split
/// - A cordoned or full instance is given no new unit.                     // test: guarantees_cordoned_and_full_instances_get_nothing_new
/// - However many place units at once, and move some: none is above its limits. // test: an_instance_gets_no_more_than_it_takes_however_many_come_at_once
///
/// # Caveats
/// - A unit that is there stays there whatever its tenant adds to it: it is never split, and its Applications may become more than
///   the limit of its instance.
pub fn place(
    unit: &Unit,
    placement: Option<&Placement>,
    access: &[ClusterAccess],
    fleet: &[Candidate],
    now: Moment,
) -> Result<Placed, NoRoom> {
    if let Some(placement) = placement {
        let changes = vec![Change::hold(placement)];
        return Ok(Placed { instance: placement.instance.clone(), placement: placement.clone(), changes });
    }
    let used = access.iter().find(|row| row.user == unit.user && row.environment == unit.environment);
    let (instance, room) = match used {
        Some(access) => (access.instance.clone(), None),
        None => {
            let (candidate, member) = least_loaded(fleet).ok_or_else(|| no_room(fleet))?;
            (candidate.instance.id.clone(), Some(candidate.room(member, 1, false)))
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
    let changes = std::iter::once(Change::insert(&placement)).chain(room).collect();
    Ok(Placed { instance, placement, changes })
}

/// The instance with the smallest part of what it takes in use; of equals, the first by its id.
fn least_loaded(fleet: &[Candidate]) -> Option<(&Candidate, &Member)> {
    let open = fleet.iter().filter_map(|candidate| candidate.member.as_ref().map(|member| (candidate, member)));
    let open = open.filter(|(candidate, member)| member.state == InstanceState::Active && has_room(candidate, member));
    open.min_by(|(a, of_a), (b, of_b)| {
        load(a, of_a).cmp(&load(b, of_b)).then_with(|| a.instance.id.cmp(&b.instance.id))
    })
}

/// Whether one more unit, with one Application at least, is within both limits.
pub fn has_room(candidate: &Candidate, member: &Member) -> bool {
    let below = |used: u64, max: i64| u64::try_from(max).is_ok_and(|max| used < max);
    below(candidate.all_applications(), member.max_applications)
        && below(candidate.all_units(), member.max_environments)
}

/// The fuller of both measures, in millionths of its limit.
fn load(candidate: &Candidate, member: &Member) -> u128 {
    let part = |used: u64, max: i64| u128::from(used) * 1_000_000 / u128::try_from(max.max(1)).unwrap_or(1);
    let applications = part(candidate.all_applications(), member.max_applications);
    applications.max(part(candidate.all_units(), member.max_environments))
}

fn no_room(fleet: &[Candidate]) -> NoRoom {
    let members: Vec<&Member> = fleet.iter().filter_map(|candidate| candidate.member.as_ref()).collect();
    let cordoned = members.iter().filter(|member| member.state == InstanceState::Cordoned).count();
    NoRoom { members: members.len(), cordoned }
}
