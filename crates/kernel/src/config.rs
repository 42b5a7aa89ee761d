//! `switchboard.yaml`: which clusters, which operators, within which limits.
//!
//! ```text
//! text ─▶ tree (where each part stands) ─▶ section, value ─▶ Config, or all that is wrong with it
//!                                                              │
//!                                                              └─ changes ─▶ what is taken up, what waits for a restart
//! ```
//!
//! Reading is a pure function of the text: no file is opened, no name is looked up. The reference for people is
//! `docs/CONFIG.md`; a test reads its example.

mod changes;
mod duration;
mod read;
mod report;
mod section;
mod topology;
mod tree;
mod value;

pub use changes::Changes;
pub use report::{ConfigError, ConfigErrors, MAX_ERRORS};
pub use tree::{MAX_BYTES, MAX_DEPTH};

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::limits::{GlobalLimits, Limits};
use crate::operator::{OperatorName, ServiceAccount};
use crate::place::{ClusterName, Place, Topology};

/// The cluster that there is when the file names none.
pub const DEFAULT_CLUSTER: &str = "default";
/// [`JournalConfig::max_bytes`] when not set.
pub const JOURNAL_MAX_BYTES: u64 = 256 << 20;
/// [`JournalConfig::max_age`] when not set.
pub const JOURNAL_MAX_AGE: Duration = Duration::from_secs(168 * 3600);

/// What `switchboard.yaml` says.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The clusters; never empty.
    pub clusters: BTreeMap<ClusterName, ClusterConfig>,
    /// Which of them each place is.
    pub topology: Topology,
    /// The limits over all operators.
    pub limits: GlobalLimits,
    /// How much the journal keeps.
    pub journal: JournalConfig,
    /// Where metrics and health are served; nowhere when absent. With port 0, on a free one.
    pub listen: Option<SocketAddr>,
    /// The operators that are hosted.
    pub operators: BTreeMap<OperatorName, OperatorConfig>,
}

/// How a cluster is reached. With neither, it is the ambient kubeconfig's current context, or the embedded cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterConfig {
    /// The kubeconfig; a relative path counts from the folder of the file it stands in.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it; its current one when absent.
    pub context: Option<String>,
}

/// How much the journal keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalConfig {
    /// As many bytes.
    pub max_bytes: u64,
    /// Decisions as old.
    pub max_age: Duration,
}

/// What is said of one operator.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorConfig {
    /// Whether it runs.
    pub enabled: bool,
    /// Its limits.
    pub limits: Limits,
    /// Whom it writes as; as it declares itself when absent.
    pub service_account: Option<ServiceAccount>,
    /// Handed to the operator as it is; null when absent.
    pub settings: Value,
}

impl Config {
    /// Reads the file. `file_name` is for messages and for the paths in it; operators not in `known_operators` are refused.
    ///
    /// # Errors
    /// All that is wrong, up to [`MAX_ERRORS`].
    ///
    /// # Guarantees
    /// - No text makes it panic. // test: guarantees_no_text_panics
    /// - What it accepts is within the bounds of `docs/CONFIG.md`. // test: guarantees_values_are_within_bounds
    pub fn parse(file_name: &str, text: &str, known_operators: &[&str]) -> Result<Config, ConfigErrors> {
        read::read(file_name, text, known_operators)
    }

    /// What is allowed, but should not go unsaid: one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let open = self.listen.filter(|address| !address.ip().is_loopback());
        let open = open.map(|address| {
            format!("listen: {address} can be reached from other machines, and asks nobody who they are")
        });
        let unused = self.clusters.keys().filter(|name| Place::ALL.iter().all(|p| self.topology.cluster(*p) != *name));
        let unused = unused.map(|name| format!("clusters.{name}: no place of the topology is this cluster"));
        open.into_iter().chain(unused).collect()
    }
}

impl Default for Config {
    fn default() -> Self {
        let cluster = ClusterName::new(DEFAULT_CLUSTER);
        Self {
            topology: Topology::standalone(&cluster),
            clusters: BTreeMap::from([(cluster, ClusterConfig::default())]),
            limits: GlobalLimits::default(),
            journal: JournalConfig::default(),
            listen: None,
            operators: BTreeMap::new(),
        }
    }
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self { max_bytes: JOURNAL_MAX_BYTES, max_age: JOURNAL_MAX_AGE }
    }
}

impl Default for OperatorConfig {
    fn default() -> Self {
        Self { enabled: true, limits: Limits::default(), service_account: None, settings: Value::Null }
    }
}

#[cfg(test)]
mod tests;
