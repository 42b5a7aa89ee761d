//! The fleet as the GitOps Service's database knows it: instances with their limits, units, moves. Whoever hosts the service says
//! how it is asked; the console never opens a database.

use futures::future::BoxFuture;
use serde::Serialize;
use switchboard_kernel::moment::Moment;

/// Somebody who knows the fleet, and moves its units.
pub trait Fleet: Send + Sync {
    /// How it stands now.
    fn look(&self) -> BoxFuture<'_, Result<Standing, Refused>>;

    /// Begins to move a unit to the instance of a namespace, or finds the move to there that is under way. An agent carries it.
    fn begin<'a>(&'a self, unit: &'a UnitName, to: &'a str) -> BoxFuture<'a, Result<Move, Refused>>;
}

/// How the fleet stands.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Argo CD instances, by namespace.
    pub instances: Vec<Member>,
    /// Every unit that is placed.
    pub units: Vec<Unit>,
    /// Moves that are under way, and the last one of each unit.
    pub moves: Vec<Move>,
}

/// An Argo CD of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its namespace.
    pub namespace: String,
    /// Whether it is given more: `active`, `cordoned`, `unregistered`.
    pub state: String,
    /// Applications it has.
    pub applications: u64,
    /// How many it is given at most.
    pub max_applications: Option<i64>,
    /// Units it has.
    pub units: u64,
    /// How many it is given at most.
    pub max_units: Option<i64>,
    /// Units on their way from or to it.
    pub moving: usize,
}

/// What is placed as one, by the names people have for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitName {
    /// The tenant's namespace.
    pub tenant: String,
    /// The environment; none is the tenant's own namespace.
    pub environment: Option<String>,
}

/// A unit, and where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unit {
    /// Which.
    #[serde(flatten)]
    pub name: UnitName,
    /// The namespace of its Argo CD.
    pub instance: String,
    /// Whether it is on its way.
    pub moving: bool,
}

/// How a move stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Course {
    /// On its way there.
    #[default]
    Going,
    /// On its way back to where it was.
    Returning,
    /// It is there.
    Arrived,
    /// It is where it was.
    Returned,
}

impl Course {
    /// Whether there is something left to do.
    pub fn is_open(self) -> bool {
        matches!(self, Course::Going | Course::Returning)
    }
}

/// A move of a unit from one Argo CD to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// Which.
    #[serde(flatten)]
    pub unit: UnitName,
    /// The namespace it leaves.
    pub from: String,
    /// The namespace it goes to.
    pub to: String,
    /// How it stands.
    pub course: Course,
    /// The step that is under way, or the last one.
    pub step: String,
    /// When it was asked for.
    pub began: Moment,
    /// When that step began.
    pub since: Moment,
    /// Why it waits, or why it went back.
    pub message: String,
}

/// Of which kind a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no such unit or instance.
    Missing,
    /// It is as it is: there already, or on its way elsewhere.
    Conflict,
    /// The database or a cluster failed.
    Failed,
}

/// Why something about the fleet is not done, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Refused {
    /// Of which kind.
    pub why: Why,
    /// What failed.
    pub what: String,
    /// What helps.
    pub hint: String,
}

impl Refused {
    /// Nobody here knows a fleet.
    pub(crate) fn nobody() -> Self {
        Self {
            why: Why::Missing,
            what: "no GitOps Service is hosted here that could move a unit".to_string(),
            hint: "`gitops: {}` in switchboard.yaml hosts one; or run the command with --database".to_string(),
        }
    }
}

#[cfg(test)]
pub(crate) mod pretend;
