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
mod console;
mod duration;
mod gitops;
mod integrations;
mod known;
mod limits;
mod process;
mod read;
mod report;
mod section;
mod topology;
mod tree;
mod value;

pub use changes::Changes;
pub use console::{CONSOLE_ADDRESS, ConsoleConfig};
pub use gitops::{GITOPS_NAMESPACE, GitopsConfig, Said};
pub use integrations::{INTEGRATIONS_INTERVAL, IntegrationsConfig, IntegrationsSource};
pub use known::{Known, Part};
pub use limits::{LimitsConfig, Whole};
pub use report::{ConfigError, ConfigErrors, MAX_ERRORS};
pub use tree::{MAX_BYTES, MAX_DEPTH};

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::limits::GlobalLimits;
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
    /// The web console.
    pub console: ConsoleConfig,
    /// The operators that are hosted.
    pub operators: BTreeMap<OperatorName, OperatorConfig>,
    /// What is said of the limits of operators that are parts of something, see [`Whole`].
    pub parts: BTreeMap<OperatorName, LimitsConfig>,
    /// The integrations manager, if it is hosted.
    pub integrations: Option<IntegrationsConfig>,
    /// The GitOps Service, if it is hosted.
    pub gitops: Option<GitopsConfig>,
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
    /// Its limits, as far as they are said; [`OperatorConfig::limits`] has them all.
    pub limits: LimitsConfig,
    /// Whom it writes as; as it declares itself when absent.
    pub service_account: Option<ServiceAccount>,
    /// Handed to the operator as it is; null when absent.
    pub settings: Value,
    /// The program it is; absent for operators inside this binary.
    pub process: Option<ProcessConfig>,
}

/// What is said of an operator that is a program of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessConfig {
    /// The program: a path, or a bare name that is looked for where programs are.
    pub program: PathBuf,
    /// What comes before the arguments of the contract.
    pub arguments: Vec<String>,
    /// Whether `apply-configuration-live` is run as well.
    pub live: bool,
    /// Its environment.
    pub env: BTreeMap<String, String>,
    /// What it may read beside its input.
    pub files: Vec<PathBuf>,
    /// Where `apply-configuration-live` may connect to, beside the API server.
    pub egress: Vec<String>,
    /// Which of its controllers run; all when empty.
    pub controllers: Vec<String>,
    /// Whether it is confined.
    pub sandbox: bool,
    /// What it may write.
    pub disk_bytes: u64,
    /// How many processes and threads it may have.
    pub processes: u32,
}

/// [`crate::limits::Limits::memory_bytes`] of an operator that is a program, when not set.
pub const PROCESS_MEMORY_BYTES: u64 = 512 << 20;
/// [`ProcessConfig::disk_bytes`] when not set.
pub const PROCESS_DISK_BYTES: u64 = 64 << 20;
/// [`ProcessConfig::processes`] when not set.
pub const PROCESSES: u32 = 128;

impl Default for ProcessConfig {
    fn default() -> Self {
        Self {
            program: PathBuf::new(),
            arguments: Vec::new(),
            live: false,
            env: BTreeMap::new(),
            files: Vec::new(),
            egress: Vec::new(),
            controllers: Vec::new(),
            sandbox: true,
            disk_bytes: PROCESS_DISK_BYTES,
            processes: PROCESSES,
        }
    }
}

impl Config {
    /// Reads the file. `file_name` is for messages and for the paths in it; operators that are not `known` are refused.
    ///
    /// # Errors
    /// All that is wrong, up to [`MAX_ERRORS`].
    ///
    /// # Guarantees
    /// - No text makes it panic. // test: guarantees_no_text_panics
    /// - What it accepts is within the bounds of `docs/CONFIG.md`. // test: guarantees_values_are_within_bounds
    pub fn parse(file_name: &str, text: &str, known: Known<'_>) -> Result<Config, ConfigErrors> {
        read::read(file_name, text, known)
    }

    /// What is allowed, but should not go unsaid: one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let open = self.listen.filter(|address| !address.ip().is_loopback());
        let open = open.map(|address| {
            format!("listen: {address} can be reached from other machines, and asks nobody who they are")
        });
        let unused = self.clusters.keys().filter(|name| Place::ALL.iter().all(|p| self.topology.cluster(*p) != *name));
        let unused = unused.map(|name| format!("clusters.{name}: no place of the topology is this cluster"));
        let loose = self.operators.iter().filter(|(_, one)| one.process.as_ref().is_some_and(|p| !p.sandbox));
        let loose = loose
            .map(|(name, _)| format!("operators.{name}: runs without a sandbox, and may do all that this user may"));
        open.into_iter().chain(unused).chain(loose).collect()
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
            console: ConsoleConfig::default(),
            operators: BTreeMap::new(),
            parts: BTreeMap::new(),
            integrations: None,
            gitops: None,
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
        Self {
            enabled: true,
            limits: LimitsConfig::default(),
            service_account: None,
            settings: Value::Null,
            process: None,
        }
    }
}

#[cfg(test)]
mod tests;
