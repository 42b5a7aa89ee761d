//! A process dies after any commit and any write of any flow; another one goes on, and all is as if nothing had happened.
//!
//! | spec | flows |
//! |---|---|
//! | 3.1 | a deployment is created, changed, goes to another environment, is made anew; what somebody edits or takes away |
//! | 3.2 | a deployment is removed, with and without its finalizer |
//! | 3.3 | an environment is created, with a given and with an own account, rotated, given another target, toggled, removed |
//! | 3.4 | a credential is created, rotated, given another repository, removed |
//! | 3.5 | a sync runs, is stopped, its run is removed |
//! | 3.6 | an Operation that somebody else wrote is done |
//! | 4.3 | what Argo CD says is told |
//! | 0, 8.2 | a whole namespace goes, and one of its name comes |
//! | 6.2 | a unit is moved |
//!
//! Each is killed at every step on SQLite: both roles as one process, the backend alone, the agent alone. On PostgreSQL
//! (`make test-real`) it is killed at a sample of steps: it is the same code over the same transactions, and all would take long.

#[path = "kills/credentials.rs"]
mod credentials;
#[path = "kills/deployments.rs"]
mod deployments;
#[path = "kills/environments.rs"]
mod environments;
#[path = "kills/fuse.rs"]
mod fuse;
#[path = "kills/moves.rs"]
mod moves;
#[path = "kills/sync_runs.rs"]
mod sync_runs;
#[path = "kills/tenants.rs"]
mod tenants;

use futures::{StreamExt, stream};

use crate::base::Base;
use crate::left::{self, World};
use crate::stage::{Side, Stage, plain};
use fuse::Fuse;

/// More steps than any flow here has.
#[cfg(not(feature = "real"))]
const MAX_STEPS: i64 = 80;

/// How many stages a flow runs on at a time: most of it is waiting.
const AT_ONCE: usize = 4;

/// Who is killed on PostgreSQL, after how many steps.
#[cfg(feature = "real")]
const SAMPLE: [(Side, i64); 6] =
    [(Side::Backend, 1), (Side::Agent, 1), (Side::Both, 2), (Side::Agent, 3), (Side::Backend, 4), (Side::Both, 9)];

/// What a flow begins with, what happens in it, and what must hold in the end.
struct Flow {
    before: fn(&Stage) -> Later<'_>,
    change: fn(&Stage) -> Later<'_>,
    holds: fn(&Stage) -> Later<'_>,
}

type Later<'a> = std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Lets a flow run with a kill of each role and of both, after their first step, after their second, and so on, until it ends
/// without one. With the feature `real` this has been done before, by `make test`.
#[cfg(not(feature = "real"))]
async fn at_every_step(flow: Flow) {
    for side in [Side::Both, Side::Backend, Side::Agent] {
        let runs = stream::iter(1..MAX_STEPS).map(|steps| flow.with_a_kill(Base::sqlite(), side, steps));
        let mut runs = std::pin::pin!(runs.buffered(AT_ONCE));
        let mut lived = false;
        while let Some(one) = runs.next().await {
            lived = one;
            if lived {
                break;
            }
        }
        assert!(lived, "a flow had more than {MAX_STEPS} steps of {side:?}");
    }
}

#[cfg(feature = "real")]
async fn at_some_steps_on_postgres(flow: Flow) {
    let runs = stream::iter(SAMPLE).map(|(side, steps)| flow.with_a_kill(Base::postgres(), side, steps));
    runs.buffered(AT_ONCE).collect::<Vec<bool>>().await;
}

impl Flow {
    /// Lets a flow run with a kill after so many steps; says whether there were fewer. Both roles, as one process, find what
    /// has changed when they start; one alone is there while it changes, and so is the other, which goes on.
    async fn with_a_kill(&self, base: Base, side: Side, steps: i64) -> bool {
        let mut stage = Stage::set(base, false).await;
        stage.label = format!("killed {side:?} after {steps}:");
        let empty = World::of(&stage).await;
        stage.start().await;
        (self.before)(&stage).await;
        stage.kill().await;
        let fuse = Fuse::of(steps);
        let clients = fuse.clients(&stage.clients());
        if side == Side::Both {
            (self.change)(&stage).await;
        } else {
            let other = if side == Side::Agent { Side::Backend } else { Side::Agent };
            stage.start_side(other, None, stage.clients()).await;
        }
        stage.start_side(side, Some(fuse.gate()), clients).await;
        if side != Side::Both {
            (self.change)(&stage).await;
        }
        let lived = stage.until_burnt(|| fuse.is_burnt()).await;
        stage.kill_side(side).await;
        stage.start_side(side, None, stage.clients()).await;
        (self.holds)(&stage).await;
        stage.settled().await;
        left::consistent(&stage, &empty).await;
        left::nothing(&stage, &empty).await;
        stage.kill().await;
        lived
    }
}

/// Tests of flows, each a function that makes one.
macro_rules! killed {
    ($($flow:ident)*) => {
        #[cfg(not(feature = "real"))]
        mod at_every_step {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $flow() { crate::kills::at_every_step(super::$flow()).await })*
        }
        #[cfg(feature = "real")]
        mod at_some_steps_on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $flow() { crate::kills::at_some_steps_on_postgres(super::$flow()).await })*
        }
    };
}

use killed;

async fn synced(stage: &Stage) {
    stage
        .until("a status", async || {
            stage.deployment("shop", "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
}

fn is_synced(stage: &Stage) -> Later<'_> {
    Box::pin(synced(stage))
}

fn nothing(_: &Stage) -> Later<'_> {
    Box::pin(async {})
}

fn deployed(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage.deploy("shop", "web", plain()).await;
        synced(stage).await;
        stage.settled().await;
    })
}
