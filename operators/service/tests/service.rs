//! The roles at work, on embedded clusters and a database of their own.

#![allow(clippy::unwrap_used)]

#[path = "service/accounts.rs"]
mod accounts;
#[path = "service/argo.rs"]
mod argo;
#[path = "service/base.rs"]
mod base;
#[path = "service/defects.rs"]
mod defects;
#[path = "service/deployments.rs"]
mod deployments;
#[path = "service/environments.rs"]
mod environments;
#[cfg(feature = "real")]
#[path = "service/faults.rs"]
mod faults;
#[path = "service/fleet.rs"]
mod fleet;
#[path = "service/healing.rs"]
mod healing;
#[path = "service/isolation.rs"]
mod isolation;
#[path = "service/kills.rs"]
mod kills;
#[path = "service/left.rs"]
mod left;
#[path = "service/logins.rs"]
mod logins;
#[path = "service/moved.rs"]
mod moved;
#[path = "service/named.rs"]
mod named;
#[path = "service/network.rs"]
mod network;
#[path = "service/original.rs"]
mod original;
#[path = "service/projects.rs"]
mod projects;
#[path = "service/rechecks.rs"]
mod rechecks;
#[path = "service/restore.rs"]
mod restore;
#[path = "service/rings.rs"]
mod rings;
#[path = "service/room.rs"]
mod room;
#[path = "service/rotation.rs"]
mod rotation;
#[path = "service/scale.rs"]
mod scale;
#[path = "service/several.rs"]
mod several;
#[path = "service/stage.rs"]
mod stage;
#[path = "service/sync_runs.rs"]
mod sync_runs;
