//! Tests of the roles on embedded clusters and a database per test.

#![allow(clippy::unwrap_used)]

#[path = "service/accounts.rs"]
mod accounts;
#[path = "service/after_moves.rs"]
mod after_moves;
#[path = "service/capacity.rs"]
mod capacity;
#[path = "service/cluster_state.rs"]
mod cluster_state;
#[path = "service/crashes.rs"]
mod crashes;
#[path = "service/database.rs"]
mod database;
#[path = "service/defects.rs"]
mod defects;
#[path = "service/deployments.rs"]
mod deployments;
#[path = "service/environments.rs"]
mod environments;
#[path = "service/fake_argocd.rs"]
mod fake_argocd;
#[cfg(feature = "real")]
#[path = "service/faults.rs"]
mod faults;
#[path = "service/fixture.rs"]
mod fixture;
#[path = "service/fleet.rs"]
mod fleet;
#[path = "service/isolation.rs"]
mod isolation;
#[path = "service/logins.rs"]
mod logins;
#[path = "service/managed_gitops.rs"]
mod managed_gitops;
#[path = "service/multiple_clusters.rs"]
mod multiple_clusters;
#[path = "service/network.rs"]
mod network;
#[path = "service/notifications.rs"]
mod notifications;
#[path = "service/placement_names.rs"]
mod placement_names;
#[path = "service/projects.rs"]
mod projects;
#[path = "service/rechecks.rs"]
mod rechecks;
#[path = "service/restore.rs"]
mod restore;
#[path = "service/rotation.rs"]
mod rotation;
#[path = "service/scale.rs"]
mod scale;
#[path = "service/self_healing.rs"]
mod self_healing;
#[path = "service/sync_runs.rs"]
mod sync_runs;
