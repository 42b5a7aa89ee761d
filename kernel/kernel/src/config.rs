//! Configuration in `switchboard.yaml`: clusters, operators and their limits.
//!
//! ```text
//! text ─▶ tree (with positions) ─▶ section, value ─▶ Config, or all errors
//!                                                      │
//!                                                      └─ changes ─▶ applied at once, or after a restart
//! ```
//!
//! Reading is a pure function of the text: it opens no file and resolves no name. The user reference is
//! `docs/reference/configuration.md`; a test reads its example.

mod changes;
mod console;
mod duration;
mod limits;
mod process;
mod read;
mod report;
mod section;
mod section_config;
mod topology;
mod tree;
pub mod value;

pub use changes::ConfigChanges;
pub use console::{CONSOLE_ADDRESS, ConsoleConfig};
pub use limits::{LimitsConfig, ParentSection};
pub(crate) use report::nearest;
pub use report::{ConfigError, ConfigErrors, ConfigProblem, ErrorCollector, MAX_ERRORS};
pub use section::Section;
pub use section_config::{SectionConfig, SectionReader, SectionSettings};
pub use tree::{MAX_BYTES, MAX_DEPTH, NodeContent, SourcePosition, YamlKey, YamlNode};

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::family::Families;
use crate::limits::GlobalLimits;
use crate::operator::{OperatorName, ServiceAccount};
use crate::topology::{ClusterName, ClusterType, Topology};

/// Name of the only cluster if the file names none.
pub const DEFAULT_CLUSTER: &str = "default";
/// Default of [`JournalConfig::max_bytes`].
pub const JOURNAL_MAX_BYTES: u64 = 256 << 20;
/// Default of [`JournalConfig::max_age`].
pub const JOURNAL_MAX_AGE: Duration = Duration::from_secs(168 * 3600);

/// Content of `switchboard.yaml`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Clusters; never empty.
    pub clusters: BTreeMap<ClusterName, ClusterConfig>,
    /// Real cluster of each cluster type.
    pub topology: Topology,
    /// Limits over all operators.
    pub limits: GlobalLimits,
    /// Limits of the journal.
    pub journal: JournalConfig,
    /// Listen address for metrics and health; off when absent. Port 0 selects a free port.
    pub listen: Option<SocketAddr>,
    /// Web console.
    pub console: ConsoleConfig,
    /// Hosted operators.
    pub operators: BTreeMap<OperatorName, OperatorConfig>,
    /// Limits of operators that belong to a parent section, see [`ParentSection`].
    pub parts: BTreeMap<OperatorName, LimitsConfig>,
    /// Sections of operator families, by name.
    pub sections: BTreeMap<&'static str, SectionConfig>,
    /// Families that the file may name.
    pub families: Families,
}

/// Access to a cluster. Without both fields, the current context of the ambient kubeconfig, or the embedded cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterConfig {
    /// Path of the kubeconfig, relative to the folder of the configuration file.
    pub kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig; the current context when absent.
    pub context: Option<String>,
}

/// Limits of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalConfig {
    /// Maximum size in bytes.
    pub max_bytes: u64,
    /// Maximum age of a decision.
    pub max_age: Duration,
}

/// Configuration of one operator.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorConfig {
    /// Whether the operator runs.
    pub enabled: bool,
    /// Limits set in the file; [`OperatorConfig::limits`] returns all limits.
    pub limits: LimitsConfig,
    /// Service account to impersonate; the one the operator declares when absent.
    pub service_account: Option<ServiceAccount>,
    /// Settings passed to the operator unchanged; null when absent.
    pub settings: Value,
    /// Program of a hosted operator; absent for operators in this binary.
    pub process: Option<ProcessConfig>,
}

/// Configuration of an operator that is a separate program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessConfig {
    /// Program: a path, or a name that is searched in `PATH`.
    pub program: PathBuf,
    /// Arguments before those of the hosting contract.
    pub arguments: Vec<String>,
    /// Whether `apply-configuration-live` is run as well.
    pub live: bool,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
    /// Files the program may read in addition to its input.
    pub files: Vec<PathBuf>,
    /// Hosts `apply-configuration-live` may connect to, in addition to the API server.
    pub egress: Vec<String>,
    /// Controllers to run; all when empty.
    pub controllers: Vec<String>,
    /// Whether the program runs in a sandbox.
    pub sandbox: bool,
    /// Maximum bytes the program may write.
    pub disk_bytes: u64,
    /// Maximum number of processes and threads.
    pub processes: u32,
}

/// Default of [`crate::limits::Limits::memory_bytes`] for hosted programs.
pub const PROCESS_MEMORY_BYTES: u64 = 512 << 20;
/// Default of [`ProcessConfig::disk_bytes`].
pub const PROCESS_DISK_BYTES: u64 = 64 << 20;
/// Default of [`ProcessConfig::processes`].
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
    /// Parses the file. `file_name` is used in messages and to resolve relative paths; operators and sections
    /// of other families are refused.
    ///
    /// # Errors
    /// All errors in the file, up to [`MAX_ERRORS`].
    ///
    /// # Guarantees
    /// - No text makes it panic. // test: guarantees_no_text_panics
    /// - Accepted values are within the bounds of `docs/reference/configuration.md`. // test: guarantees_values_are_within_bounds
    pub fn parse(file_name: &str, text: &str, families: Families) -> Result<Config, ConfigErrors> {
        read::read(file_name, text, families)
    }

    /// Returns warnings about allowed but risky settings, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let open = self.listen.filter(|address| !address.ip().is_loopback());
        let open =
            open.map(|address| format!("listen: {address} is reachable from other machines without authentication"));
        let unused =
            self.clusters.keys().filter(|name| ClusterType::ALL.iter().all(|p| self.topology.cluster(*p) != *name));
        let unused = unused.map(|name| format!("clusters.{name}: not used by the topology"));
        let loose = self.operators.iter().filter(|(_, one)| one.process.as_ref().is_some_and(|p| !p.sandbox));
        let loose = loose
            .map(|(name, _)| format!("operators.{name}: runs without a sandbox, with all permissions of this user"));
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
            sections: BTreeMap::new(),
            families: Families::default(),
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
