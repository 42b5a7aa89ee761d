//! Overview of operators and clusters.

use std::collections::BTreeMap;

use serde::Serialize;
use switchboard_kernel::state::{Finding, Health, KernelState, OperatorPause, OperatorState};
use switchboard_kernel::timestamp::Timestamp;

use crate::problem::ConsoleProblem;
use crate::recent::spans;
use crate::redact::PageRedactor;
use crate::source::ConsoleSource;
use crate::state_cache;

/// Number of intervals in the sparkline.
pub const SPANS: usize = 60;
/// Duration of an interval.
pub const SPAN_MS: u64 = 30_000;

/// Data of the overview.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// Time of the page.
    pub now: Timestamp,
    /// Start time of the process.
    pub started_at: Timestamp,
    /// Version of the data.
    #[serde(skip)]
    pub version: String,
    /// Operators, worst first.
    pub operators: Vec<OperatorRow>,
    /// Clusters by name.
    pub clusters: Vec<ClusterRow>,
    /// Field conflicts and hot loops.
    pub findings: Vec<FindingRow>,
    /// Decisions by interval, oldest first: all, and the failed ones.
    pub decisions: Vec<(u32, u32)>,
    /// Number of decisions that could not be recorded.
    pub unrecorded: u64,
}

/// Operator in the overview.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorRow {
    /// Name of the operator.
    pub name: String,
    /// State word.
    pub state: Health,
    /// Reason for the state.
    pub reason: String,
    /// Pause of the operator; `None` while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<OperatorPause>,
    /// Number of units.
    pub units: usize,
    /// Number of units that are not done.
    pub units_waiting: usize,
    /// Number of runs.
    pub runs: u64,
    /// Number of failed runs.
    pub failures: u64,
    /// Number of writes that changed something.
    pub writes: u64,
    /// Median duration of a decision.
    pub decide_p50_us: u64,
    /// 99th percentile of the duration of a decision.
    pub decide_p99_us: u64,
    /// Operator's share of the cache.
    pub cache_share_bytes: u64,
}

/// Cluster in the overview.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRow {
    /// Name of the cluster.
    pub name: String,
    /// Number of watched kinds.
    pub kinds: usize,
    /// Number of cached objects.
    pub objects: usize,
    /// Size of the cached objects.
    pub bytes: u64,
    /// Kinds that cannot be watched, with the reason.
    pub lost: Vec<String>,
    /// Kinds that have not been read yet.
    pub pending: Vec<String>,
}

/// Kind of a finding, with the names of the metric `switchboard_conflicts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Units overwrite each other.
    FieldConflict,
    /// A unit keeps overwriting itself.
    HotLoop,
}

/// Field conflict or hot loop.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingRow {
    /// Kind of the finding.
    pub kind: FindingKind,
    /// Description of the finding.
    pub message: String,
    /// Link to the page of the object.
    pub href: String,
    /// Time of the last occurrence.
    pub at: Timestamp,
}

impl OperatorRow {
    /// Converts the state of an operator.
    pub fn of(operator: &OperatorState, redactor: &PageRedactor) -> Self {
        Self {
            name: operator.name.clone(),
            state: operator.health,
            reason: redactor.text(&operator.reason),
            paused: operator.paused.clone(),
            units: operator.units_total,
            units_waiting: operator.units_waiting,
            runs: operator.runs,
            failures: operator.failures,
            writes: operator.writes,
            decide_p50_us: operator.decide_p50_us,
            decide_p99_us: operator.decide_p99_us,
            cache_share_bytes: operator.cache_share_bytes,
        }
    }
}

/// Loads the overview.
pub async fn load(source: &ConsoleSource) -> Result<Overview, ConsoleProblem> {
    let (state, summaries, redactor) = (source.state().await?, source.summaries().await?, source.redactor().await?);
    let names = source.clusters().await?.into_keys().map(|name| name.to_string()).collect::<Vec<_>>();
    let mut overview = overview(&state, &names, &redactor);
    overview.decisions = spans(&summaries, state.now, SPAN_MS, SPANS);
    Ok(overview)
}

/// Converts a state, without the sparkline.
pub fn overview(state: &KernelState, clusters: &[String], redactor: &PageRedactor) -> Overview {
    let mut operators: Vec<OperatorRow> = state.operators.iter().map(|one| OperatorRow::of(one, redactor)).collect();
    operators.sort_by(|a, b| b.state.cmp(&a.state).then_with(|| a.name.cmp(&b.name)));
    Overview {
        now: state.now,
        started_at: state.started_at,
        version: state_cache::version(state),
        operators,
        clusters: cluster_rows(state, clusters, redactor),
        findings: state.findings.iter().map(finding).collect(),
        decisions: Vec::new(),
        unrecorded: state.unrecorded,
    }
}

fn cluster_rows(state: &KernelState, names: &[String], redactor: &PageRedactor) -> Vec<ClusterRow> {
    let named = names.iter().map(|name| (name.clone(), ClusterRow { name: name.clone(), ..ClusterRow::default() }));
    let mut rows: BTreeMap<String, ClusterRow> = named.collect();
    for table in &state.tables {
        let name = table.table.cluster.to_string();
        let row = rows.entry(name.clone()).or_insert_with(|| ClusterRow { name, ..ClusterRow::default() });
        row.kinds += 1;
        row.objects += table.objects;
        row.bytes += table.bytes;
        match &table.watch_error {
            Some(why) => row.lost.push(redactor.text(&format!("{} cannot be watched: {why}", table.table.resource))),
            None if !table.synced => row.pending.push(format!("{} has not been read yet", table.table.resource)),
            None => {}
        }
    }
    rows.into_values().collect()
}

fn finding(finding: &Finding) -> FindingRow {
    let (kind, at) = match finding {
        Finding::FieldConflict { at, .. } => (FindingKind::FieldConflict, *at),
        Finding::HotLoop { at, .. } => (FindingKind::HotLoop, *at),
    };
    FindingRow { kind, at, message: finding.to_string(), href: crate::components::object_href(finding.object()) }
}
