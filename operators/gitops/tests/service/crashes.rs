//! Crash tests: a process is killed after any commit or cluster write of any flow, another process continues, and the
//! result equals that of a run without a crash.
//!
//! | spec | flows |
//! |---|---|
//! | 3.1 | a deployment is created, changed, sent to another environment, recreated; manual edits and deletions are corrected |
//! | 3.2 | a deployment is deleted, with and without its finalizer |
//! | 3.3 | an environment is created, with a provided and with a created account, rotated, retargeted, toggled, deleted |
//! | 3.4 | a credential is created, rotated, assigned to another repository, deleted |
//! | 3.5 | a sync runs, is stopped, its run is deleted |
//! | 3.6 | an Operation of another client is completed |
//! | 4.3 | Argo CD's status is reported |
//! | 0, 8.2 | a namespace is deleted and recreated |
//! | 6.2 | a placement is moved |
//!
//! On SQLite, every flow runs with a kill at every step of both roles in one process, of the backend alone, and of the
//! agent alone. On PostgreSQL (`make test-real`), it runs with a sample of steps: the code and the transactions are the
//! same, and all steps take long.

#[path = "crashes/crash_point.rs"]
mod crash_point;
#[path = "crashes/credentials.rs"]
mod credentials;
#[path = "crashes/deployments.rs"]
mod deployments;
#[path = "crashes/environments.rs"]
mod environments;
#[path = "crashes/moves.rs"]
mod moves;
#[path = "crashes/sync_runs.rs"]
mod sync_runs;
#[path = "crashes/tenants.rs"]
mod tenants;

use futures::{StreamExt, stream};

use crate::cluster_state::{self, ClusterState};
use crate::database::TestDatabase;
use crate::fixture::{RoleSet, ServiceFixture, plain};
use crash_point::CrashPoint;

/// Upper bound of the steps of any flow.
#[cfg(not(feature = "real"))]
const MAX_STEPS: i64 = 80;

/// Number of runs of a flow in parallel: they mostly wait.
const AT_ONCE: usize = 4;

/// Roles and step counts for the kills on PostgreSQL.
#[cfg(feature = "real")]
const SAMPLE: [(RoleSet, i64); 6] = [
    (RoleSet::Backend, 1),
    (RoleSet::Agent, 1),
    (RoleSet::Both, 2),
    (RoleSet::Agent, 3),
    (RoleSet::Backend, 4),
    (RoleSet::Both, 9),
];

/// Setup, change and expected result of a flow.
struct CrashCase {
    before: fn(&ServiceFixture) -> StepFuture<'_>,
    change: fn(&ServiceFixture) -> StepFuture<'_>,
    verify: fn(&ServiceFixture) -> StepFuture<'_>,
}

type StepFuture<'a> = std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Runs a flow with a kill of each role and of both, after the first step, after the second, and so on, until it
/// completes without a kill. With the feature `real`, `make test` has covered this.
#[cfg(not(feature = "real"))]
async fn at_every_step(flow: CrashCase) {
    for roles in [RoleSet::Both, RoleSet::Backend, RoleSet::Agent] {
        let runs = stream::iter(1..MAX_STEPS).map(|steps| flow.run_with_crash(TestDatabase::sqlite(), roles, steps));
        let mut runs = std::pin::pin!(runs.buffered(AT_ONCE));
        let mut survived = false;
        while let Some(one) = runs.next().await {
            survived = one;
            if survived {
                break;
            }
        }
        assert!(survived, "a flow had more than {MAX_STEPS} steps of {roles:?}");
    }
}

#[cfg(feature = "real")]
async fn at_some_steps_on_postgres(flow: CrashCase) {
    let runs = stream::iter(SAMPLE).map(|(roles, steps)| flow.run_with_crash(TestDatabase::postgres(), roles, steps));
    runs.buffered(AT_ONCE).collect::<Vec<bool>>().await;
}

impl CrashCase {
    /// Runs a flow with a kill after a number of steps and returns whether it completed earlier. Both roles in one
    /// process start after the change; a single role, and the other role that survives it, run while the change
    /// happens.
    async fn run_with_crash(&self, database: TestDatabase, roles: RoleSet, steps: i64) -> bool {
        let mut fixture = ServiceFixture::without_roles(database, false).await;
        fixture.label = format!("killed {roles:?} after {steps}:");
        let empty = ClusterState::of(&fixture).await;
        fixture.start().await;
        (self.before)(&fixture).await;
        fixture.kill().await;
        let crash_point = CrashPoint::of(steps);
        let clients = crash_point.clients(&fixture.clients());
        if roles == RoleSet::Both {
            (self.change)(&fixture).await;
        } else {
            let other = if roles == RoleSet::Agent { RoleSet::Backend } else { RoleSet::Agent };
            fixture.start_roles(other, None, fixture.clients()).await;
        }
        fixture.start_roles(roles, Some(crash_point.commit_hook()), clients).await;
        if roles != RoleSet::Both {
            (self.change)(&fixture).await;
        }
        let survived = fixture.wait_until_crashed(|| crash_point.has_crashed()).await;
        fixture.kill_roles(roles).await;
        fixture.start_roles(roles, None, fixture.clients()).await;
        (self.verify)(&fixture).await;
        fixture.wait_until_settled().await;
        cluster_state::assert_consistent(&fixture, &empty).await;
        cluster_state::assert_nothing_left(&fixture, &empty).await;
        fixture.kill().await;
        survived
    }
}

/// Defines a test for each flow function.
macro_rules! crash_tests {
    ($($flow:ident)*) => {
        #[cfg(not(feature = "real"))]
        mod at_every_step {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $flow() { crate::crashes::at_every_step(super::$flow()).await })*
        }
        #[cfg(feature = "real")]
        mod at_some_steps_on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $flow() { crate::crashes::at_some_steps_on_postgres(super::$flow()).await })*
        }
    };
}

use crash_tests;

async fn synced(fixture: &ServiceFixture) {
    fixture
        .wait_for("a status", async || {
            fixture.deployment("shop", "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
}

fn is_synced(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(synced(fixture))
}

fn nothing(_: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {})
}

fn deployed(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        fixture.deploy("shop", "web", plain()).await;
        synced(fixture).await;
        fixture.wait_until_settled().await;
    })
}
