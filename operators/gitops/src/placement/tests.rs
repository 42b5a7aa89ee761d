#![allow(clippy::unwrap_used)]

use switchboard_sql::{DbTimestamp, RowChange};

use crate::ids::InstanceState;
use crate::placement::{IncomingLoad, InstanceCandidate, NoCapacity, PlacementKey, may_begin, place};
use crate::rows::fleet::{Member, Placement};
use crate::rows::{ClusterAccess, EngineInstance};

const NOW: DbTimestamp = DbTimestamp { unix_us: 1_790_000_000_000_000 };

fn unit() -> PlacementKey {
    PlacementKey { user: "u".into(), environment: "e".into() }
}

fn candidate(id: &str, applications: u64, state: InstanceState) -> InstanceCandidate {
    InstanceCandidate {
        instance: EngineInstance {
            id: id.into(),
            namespace: id.into(),
            namespace_uid: id.into(),
            cluster: "ec".into(),
        },
        member: Some(Member { instance: id.into(), state, max_applications: 10, max_environments: 5, created_on: NOW }),
        applications,
        environments: 0,
        incoming: IncomingLoad::default(),
    }
}

use InstanceState::{Active, Cordoned};

#[test]
fn a_new_placement_goes_to_the_instance_with_the_least_relative_load() {
    let mut big = candidate("big", 8, Active);
    big.member.as_mut().unwrap().max_applications = 100;
    let placed = place(&unit(), None, &[], &[candidate("a", 3, Active), big.clone()], NOW).unwrap();
    assert_eq!(placed.instance.as_str(), "big");
    // The larger relative load decides.
    big.environments = 4;
    let placed = place(&unit(), None, &[], &[candidate("a", 3, Active), big], NOW).unwrap();
    assert_eq!(placed.instance.as_str(), "a");
}

#[test]
fn of_equal_instances_the_smallest_id_is_chosen() {
    let placed = place(&unit(), None, &[], &[candidate("b", 1, Active), candidate("a", 1, Active)], NOW).unwrap();
    assert_eq!(placed.instance.as_str(), "a");
}

#[test]
fn guarantees_a_placement_is_never_split() {
    // The placement keeps its instance although that one is full and cordoned and another is empty.
    let here = Placement {
        user: "u".into(),
        environment: "e".into(),
        instance: "full".into(),
        epoch: 3,
        moving: None,
        created_on: NOW,
    };
    let fleet = [candidate("full", 10, Cordoned), candidate("empty", 0, Active)];
    let placed = place(&unit(), Some(&here), &[], &fleet, NOW).unwrap();
    assert_eq!((placed.instance.as_str(), placed.placement.epoch), ("full", 3));
    assert_eq!(placed.changes, [RowChange::require_unchanged(&here)]);
    // managed-gitops has no placements, so the instance with access is used.
    let access = ClusterAccess { user: "u".into(), environment: "e".into(), instance: "full".into(), created_on: NOW };
    let placed = place(&unit(), None, &[access], &fleet, NOW).unwrap();
    assert_eq!(placed.instance.as_str(), "full");
    // Two concurrent assignments insert the same key: one of them conflicts and is decided again.
    let one = place(&unit(), None, &[], &fleet, NOW).unwrap();
    assert!(
        matches!(one.changes[..], [RowChange::Insert { .. }, RowChange::RequireLimits { .. }]),
        "{:?}",
        one.changes
    );
}

#[test]
fn guarantees_cordoned_and_full_instances_get_no_new_placement() {
    let fleet = [candidate("a", 10, Active), candidate("b", 0, Cordoned)];
    let refused = place(&unit(), None, &[], &fleet, NOW).unwrap_err();
    assert_eq!(refused, NoCapacity { members: 2, cordoned: 1 });
    assert_eq!(refused.to_string(), "1 of 2 Argo CD instances are full, the others are cordoned");
    let mut watched = candidate("a", 0, Active);
    watched.environments = 5;
    assert_eq!(place(&unit(), None, &[], &[watched], NOW).unwrap_err().to_string(), "all 1 Argo CD instances are full");
    // An instance that was never added is not in the fleet.
    let mut stranger = candidate("s", 0, Active);
    stranger.member = None;
    let refused = place(&unit(), None, &[], &[stranger], NOW).unwrap_err();
    assert_eq!(refused.to_string(), "no Argo CD instance is registered");
}

#[test]
fn incoming_placements_count_against_the_limits() {
    let mut expecting = candidate("a", 3, Active);
    expecting.incoming = IncomingLoad { placements: 5, applications: 5 };
    assert!(place(&unit(), None, &[], &[expecting.clone()], NOW).is_err(), "all of its units are there or come");
    expecting.incoming.placements = 1;
    let fleet = [expecting.clone(), candidate("b", 5, Active)];
    assert_eq!(place(&unit(), None, &[], &fleet, NOW).unwrap().instance.as_str(), "b", "it will be the fuller one");
    expecting.incoming.applications = 7;
    assert!(place(&unit(), None, &[], &[expecting], NOW).is_err(), "all of its Applications are there or come");
}

#[test]
fn no_operation_begins_during_a_move() {
    let mut here = Placement {
        user: "u".into(),
        environment: "e".into(),
        instance: "a".into(),
        epoch: 1,
        moving: None,
        created_on: NOW,
    };
    assert_eq!(may_begin(Some(&here)), Some(vec![RowChange::require_unchanged(&here)]));
    assert_eq!(may_begin(None), Some(vec![]));
    here.moving = Some("m".into());
    assert_eq!(may_begin(Some(&here)), None);
}
