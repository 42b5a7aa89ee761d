//! How everything stands.

use std::collections::BTreeMap;

use serde::Serialize;
use switchboard_kernel::moment::Moment;
use switchboard_kernel::state::{Finding, OperatorState, State, Wait, Word};

use crate::problem::Problem;
use crate::pulse;
use crate::recent::spans;
use crate::source::Source;
use crate::veil::Veil;

/// The time that the sparkline covers, in parts.
pub const SPANS: usize = 60;
/// How long each part is.
pub const SPAN_MS: u64 = 30_000;

/// Everything at one moment.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// The moment.
    pub now: Moment,
    /// When the process began.
    pub began: Moment,
    /// Changes with what is shown.
    #[serde(skip)]
    pub version: String,
    /// Worst first.
    pub operators: Vec<OperatorRow>,
    /// By name.
    pub clusters: Vec<ClusterRow>,
    /// Fights and loops.
    pub findings: Vec<FindingRow>,
    /// Decisions over time, oldest first: all, and those that did not come to be.
    pub decisions: Vec<(u32, u32)>,
    /// Decisions that could not be recorded.
    pub unrecorded: u64,
}

/// An operator.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorRow {
    /// Its name.
    pub name: String,
    /// Its word.
    pub state: Word,
    /// Why it stands so.
    pub reason: String,
    /// Whether somebody paused it.
    pub paused: bool,
    /// All its units.
    pub units: usize,
    /// Those that are not simply done.
    pub units_waiting: usize,
    /// Runs so far.
    pub runs: u64,
    /// Those that failed.
    pub failures: u64,
    /// Writes that changed something.
    pub writes: u64,
    /// Median time to decide.
    pub decide_p50_us: u64,
    /// 99th percentile of the same.
    pub decide_p99_us: u64,
    /// Its share of the cache.
    pub cache_share_bytes: u64,
}

/// A cluster.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRow {
    /// Its name.
    pub name: String,
    /// Kinds that are watched there.
    pub kinds: usize,
    /// Objects that are cached.
    pub objects: usize,
    /// Their bytes.
    pub bytes: u64,
    /// What cannot be watched, and why.
    pub lost: Vec<String>,
    /// What has not been read yet.
    pub pending: Vec<String>,
}

/// A fight or a loop.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingRow {
    /// Whether two fight; otherwise one loops.
    pub fight: bool,
    /// In words.
    pub words: String,
    /// The page of the object it is about.
    pub href: String,
    /// When it was last seen.
    pub at: Moment,
}

impl OperatorRow {
    /// Of an operator's state.
    pub fn of(operator: &OperatorState, veil: &Veil) -> Self {
        Self {
            name: operator.name.clone(),
            state: operator.word,
            reason: veil.text(&operator.reason),
            paused: operator.units.iter().any(|unit| unit.wait == Wait::Paused)
                || operator.reason.starts_with("paused"),
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

/// How everything stands.
pub async fn load(source: &Source) -> Result<Overview, Problem> {
    let (state, briefs, veil) = (source.state().await?, source.briefs().await?, source.veil().await?);
    let names = source.clusters().await?.into_keys().map(|name| name.to_string()).collect::<Vec<_>>();
    let mut overview = of(&state, &names, &veil);
    overview.decisions = spans(&briefs, state.now, SPAN_MS, SPANS);
    Ok(overview)
}

/// The same of a state, without what was decided.
pub fn of(state: &State, clusters: &[String], veil: &Veil) -> Overview {
    let mut operators: Vec<OperatorRow> = state.operators.iter().map(|one| OperatorRow::of(one, veil)).collect();
    operators.sort_by(|a, b| b.state.cmp(&a.state).then_with(|| a.name.cmp(&b.name)));
    Overview {
        now: state.now,
        began: state.began,
        version: pulse::version(state),
        operators,
        clusters: of_clusters(state, clusters, veil),
        findings: state.findings.iter().map(finding).collect(),
        decisions: Vec::new(),
        unrecorded: state.unrecorded,
    }
}

fn of_clusters(state: &State, names: &[String], veil: &Veil) -> Vec<ClusterRow> {
    let named = names.iter().map(|name| (name.clone(), ClusterRow { name: name.clone(), ..ClusterRow::default() }));
    let mut rows: BTreeMap<String, ClusterRow> = named.collect();
    for table in &state.tables {
        let name = table.table.cluster.to_string();
        let row = rows.entry(name.clone()).or_insert_with(|| ClusterRow { name, ..ClusterRow::default() });
        row.kinds += 1;
        row.objects += table.objects;
        row.bytes += table.bytes;
        match &table.lost {
            Some(why) => row.lost.push(veil.text(&format!("{} cannot be watched: {why}", table.table.resource))),
            None if !table.known => row.pending.push(format!("{} has not been read yet", table.table.resource)),
            None => {}
        }
    }
    rows.into_values().collect()
}

fn finding(finding: &Finding) -> FindingRow {
    let (fight, at) = match finding {
        Finding::Fight { at, .. } => (true, *at),
        Finding::Loop { at, .. } => (false, *at),
    };
    FindingRow { fight, at, words: finding.to_string(), href: crate::piece::object_href(finding.object()) }
}
