//! The three clusters of an operator, and which real ones they are.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A cluster as an operator thinks of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// Where the configuration that users write lives.
    #[default]
    Configuration,
    /// Where what manages the platform runs.
    Management,
    /// Where users run their workloads.
    UserWorkload,
}

impl Place {
    /// All three, in the order above.
    pub const ALL: [Place; 3] = [Place::Configuration, Place::Management, Place::UserWorkload];
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::Configuration => "configuration",
            Place::Management => "management",
            Place::UserWorkload => "user workload",
        })
    }
}

/// The name of a real cluster, as `switchboard.yaml` gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterName(pub Arc<str>);

impl ClusterName {
    /// A cluster of that name.
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which real cluster each place is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The configuration cluster.
    pub configuration: ClusterName,
    /// The management cluster.
    pub management: ClusterName,
    /// The user workload cluster.
    pub user_workload: ClusterName,
}

impl Topology {
    /// All three places are one cluster.
    pub fn standalone(cluster: &ClusterName) -> Self {
        Self { configuration: cluster.clone(), management: cluster.clone(), user_workload: cluster.clone() }
    }

    /// The real cluster of a place.
    pub fn cluster(&self, place: Place) -> &ClusterName {
        match place {
            Place::Configuration => &self.configuration,
            Place::Management => &self.management,
            Place::UserWorkload => &self.user_workload,
        }
    }
}
