//! `why`, `why-not`, `top` and `replay`: reports from the journal and a running kernel.

mod top;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use switchboard_kernel::config::Config;
use switchboard_kernel::decision::{Decision, DecisionId, RunOutcome};
use switchboard_kernel::explain::{self, FieldPath, ObjectTarget, ReplayReport, WhyReport};
use switchboard_kernel::journal::JournalEntry;
use switchboard_kernel::operator::Unit;
use switchboard_kernel::replay::{ReplayComparison, replay_within};
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::state::KernelState;

use crate::failure::CommandError;
use crate::kernel::StateDir;
pub use crate::output_format::{OutputFormat, print};
pub use top::Top;
use crate::stderr::print_stderr;
use crate::watch_loop::WatchArgs;
use crate::{DIFFERS, color, limits, operators};

/// Explain why an object is as it is
#[derive(Args)]
pub struct WhyObject {
    /// Object, such as `configmap/web` or `deployments.apps/web`
    #[arg(value_name = "KIND/NAME", value_parser = target)]
    object: (String, String),
    /// Namespace of the object
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Cluster of the object, by its name in the configuration
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// Limit the report to this field, such as `.spec.replicas`
    #[arg(long, value_name = "PATH")]
    field: Option<FieldPath>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    state: StateDir,
}

fn target(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((kind.to_string(), name.to_string()))
        }
        _ => Err("expected KIND/NAME, for example configmap/web".to_string()),
    }
}

impl WhyObject {
    /// Prints the report.
    pub async fn run(self) -> Result<(), CommandError> {
        self.watch.show(|| self.report()).await
    }

    async fn report(&self) -> Result<String, CommandError> {
        // The state is requested before the journal is read, so that the journal holds every decision the state
        // mentions.
        let state = self.state.state().await.ok();
        let journal = self.state.journal()?;
        let state = state.unwrap_or_else(|| {
            print_stderr("note: no kernel is running here; the report is from its journal");
            KernelState { now: now(), ..KernelState::default() }
        });
        let (kind, name) = self.object.clone();
        let target = ObjectTarget { cluster: self.cluster.clone(), kind, namespace: self.namespace.clone(), name };
        let entries: Vec<JournalEntry> = journal.newest().collect();
        check_known(&target, &entries, &state)?;
        let live = self.live(&target, &entries, &state).await?;
        let read = |id: DecisionId, key: &ObjectKey| {
            let kept = journal.reads(id)?.objects.into_iter().find(|kept| kept.key == *key);
            kept.map(|kept| kept.value)
        };
        let range = journal.range();
        let report =
            explain::explain_object(&target, self.field.as_ref(), &entries, &range, &state, live.value(), &read);
        if live.is_absent() && is_unknown(&report) {
            return Err(missing_object(&target).into());
        }
        render_report(&report, self.output, &self.state)
    }

    /// Reads the field managers of the live object.
    async fn live(
        &self,
        target: &ObjectTarget,
        entries: &[JournalEntry],
        state: &KernelState,
    ) -> Result<LiveState, CommandError> {
        let known = explain::resolve_target(target, entries);
        let certain = known.is_some() || target.namespace.is_some();
        let Some(key) = known.or_else(|| watched_key(target, state)) else { return Ok(LiveState::Unknown) };
        let body = serde_json::to_string(&key)?;
        let answer = match self.state.request::<Value>("POST", "/api/v1/fields", body).await {
            Ok(answer) => answer,
            Err(error) => {
                if !state.operators.is_empty() {
                    print_stderr(format_args!("note: {error}"));
                }
                return Ok(LiveState::Unknown);
            }
        };
        Ok(match (answer.is_null(), certain) {
            (true, true) => LiveState::Absent,
            (true, false) => LiveState::AbsentInDefault,
            (false, _) => LiveState::Exists(answer),
        })
    }
}

/// Live state of an object.
enum LiveState {
    /// Its cluster was not queried.
    Unknown,
    /// The object does not exist.
    Absent,
    /// The object does not exist in the default namespace, but may exist in another.
    AbsentInDefault,
    /// Field managers of the object.
    Exists(Value),
}

impl LiveState {
    fn is_absent(&self) -> bool {
        matches!(self, LiveState::Absent | LiveState::AbsentInDefault)
    }

    /// Returns the value for the report: null if the object does not exist, `None` if that is unknown.
    fn value(&self) -> Option<&Value> {
        match self {
            LiveState::Unknown | LiveState::AbsentInDefault => None,
            LiveState::Absent => Some(&Value::Null),
            LiveState::Exists(value) => Some(value),
        }
    }
}

/// Whether neither a decision, a waiting unit nor a finding mentions the object.
fn is_unknown(report: &WhyReport) -> bool {
    let is_written = report.last_write.is_some() || report.failed_write.is_some() || !report.managers.is_empty();
    !is_written && report.waiting_units.is_empty() && report.findings.is_empty() && report.others.is_empty()
}

/// Error for an object that does not exist and that the journal does not mention.
fn missing_object(target: &ObjectTarget) -> String {
    let (kind, name) = (&target.kind, &target.name);
    let namespace = target.namespace.as_deref().unwrap_or(NAMESPACE);
    format!(
        "could not explain {kind}/{name}: it does not exist in namespace {namespace}, and no decision in the journal mentions it\nhint: check name and namespace; pass another namespace with -n NAMESPACE"
    )
}

/// Default namespace, as in kubectl.
const NAMESPACE: &str = "default";

/// Returns the key of the target if a watched type matches it.
fn watched_key(target: &ObjectTarget, state: &KernelState) -> Option<ObjectKey> {
    let key = |table: &TableKey| {
        let namespace = target.namespace.as_deref().unwrap_or(NAMESPACE);
        let namespace = if table.resource.namespaced { namespace } else { "" };
        ObjectKey { table: table.clone(), namespace: namespace.into(), name: target.name.as_str().into() }
    };
    state.tables.iter().map(|table| key(&table.table)).find(|key| target.matches(key))
}

/// Maximum number of types or clusters that a hint lists.
const MAX_NAMED: usize = 12;

/// Refuses a type or cluster that no operator uses: most likely it is mistyped.
fn check_known(target: &ObjectTarget, entries: &[JournalEntry], state: &KernelState) -> Result<(), CommandError> {
    let decisions = entries.iter().filter_map(|entry| match entry {
        JournalEntry::Decision(decision) => Some(decision),
        JournalEntry::Finding(_) => None,
    });
    let of = |decision: &Decision| -> Vec<TableKey> {
        let written = match &decision.outcome {
            RunOutcome::Decided { writes, .. } => writes.as_slice(),
            _ => &[],
        };
        let gets = decision.gets.iter().map(|(key, _)| &key.table);
        let lists = decision.lists.iter().map(|(query, _)| &query.table);
        written.iter().map(|write| &write.object.table).chain(gets).chain(lists).cloned().collect()
    };
    let watched = state.tables.iter().map(|table| table.table.clone());
    let known: BTreeSet<TableKey> = decisions.flat_map(|decision| of(decision)).chain(watched).collect();
    if known.is_empty() {
        return Ok(());
    }
    let named = |names: BTreeSet<String>| names.into_iter().take(MAX_NAMED).collect::<Vec<_>>().join(", ");
    if let Some(cluster) =
        target.cluster.as_ref().filter(|_| !known.iter().any(|table| target.matches_cluster(&table.cluster)))
    {
        let names = named(known.iter().map(|table| table.cluster.to_string()).collect());
        return Err(format!("no operator here uses a cluster {cluster}\nhint: clusters: {names}").into());
    }
    let known: BTreeSet<&Arc<Resource>> = known.iter().map(|table| &table.resource).collect();
    if target.is_built_in() || known.iter().any(|resource| target.matches_kind(resource)) {
        return Ok(());
    }
    let names: Vec<String> = known.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let names = names.join(", ");
    Err(format!("no operator here uses a kind {}\nhint: kinds: {names}", target.kind).into())
}

fn now() -> switchboard_kernel::timestamp::Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
    switchboard_kernel::timestamp::Timestamp(0).after(since)
}

/// Explain why an operator does nothing
#[derive(Args)]
pub struct WhyNot {
    /// Operator name
    operator: String,
    /// Limit the report to this unit, such as `shop/web`
    #[arg(long, value_name = "UNIT")]
    unit: Option<Unit>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    state: StateDir,
}

/// Renders a report, with colors if it is a table on a terminal.
fn render_report(
    report: &(impl std::fmt::Display + serde::Serialize),
    form: OutputFormat,
    state: &StateDir,
) -> Result<String, CommandError> {
    let text = form.text(report)?;
    Ok(if form.is_table() { color::on_stdout(&state.complete(&text)) } else { text })
}

impl WhyNot {
    /// Prints the report.
    pub async fn run(self) -> Result<(), CommandError> {
        self.watch.show(|| self.report()).await
    }

    async fn report(&self) -> Result<String, CommandError> {
        let mut state = self.state.state().await?;
        if let Some(unit) = &self.unit
            && let Some(hosted) = state.operators.iter_mut().find(|hosted| hosted.name == self.operator)
        {
            // The state lists only waiting units, and not all of them if there are many.
            let body = json!({"operator": self.operator, "unit": unit}).to_string();
            hosted.units =
                vec![self.state.request("POST", "/api/v1/unit", body).await.map_err(|error| self.with_hint(error))?];
        }
        let report = explain::explain_idle(&self.operator, None, &state);
        if report.health.is_none() {
            let known = if report.operators.is_empty() { "none".to_string() } else { report.operators.join(", ") };
            return Err(format!("no operator {} is running\nhint: operators: {known}", self.operator).into());
        }
        render_report(&report, self.output, &self.state)
    }

    fn with_hint(&self, error: CommandError) -> CommandError {
        let hint = format!("hint: `switchboard why-not {}` lists the waiting units", self.operator);
        format!("{error}\n{}", self.state.complete(&hint)).into()
    }
}

/// Repeat a decision with the inputs it was made from
#[derive(Args)]
pub struct Replay {
    /// Number of the decision, as `why` shows it
    decision: u64,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    state: StateDir,
}

impl Replay {
    /// Prints the report. The exit code states whether the decision differs now, or could not be repeated.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        let journal = self.state.journal()?;
        let id = DecisionId(self.decision);
        let decision = journal.get(id);
        let replayed = match &decision {
            None => ReplayComparison::Gone,
            Some(decision) => {
                let name = &decision.unit.operator.0;
                let known = operators::replay_operator(name, &decision.settings).await;
                let known = known.or_else(|| crate::hosted::replay_operator(name, &self.state.path().ok()?));
                let operator = known.ok_or_else(|| {
                    format!("this binary has no operator {name}\nhint: replay with the binary that made the decision")
                })?;
                replay_within(operator, &journal, id, &[], replay_timeout(decision))
            }
        };
        if let ReplayComparison::TooMuch { why } = &replayed {
            return Err(format!("could not replay decision {id}: {why}").into());
        }
        if replayed == ReplayComparison::Gone {
            return Err(format!(
                "could not replay decision {id}: the decision or its inputs are not in the journal\nhint: `switchboard why` shows the numbers of decisions; `journal` in the configuration sets their retention"
            )
            .into());
        }
        let code = match &replayed {
            ReplayComparison::Same | ReplayComparison::Redacted { equal: true, .. } => ExitCode::SUCCESS,
            ReplayComparison::Different { .. } => ExitCode::from(DIFFERS),
            // A difference that redaction may have caused is not a finding.
            ReplayComparison::Redacted { equal: false, .. } | ReplayComparison::Undecided { .. } => ExitCode::FAILURE,
            ReplayComparison::TooMuch { .. } | ReplayComparison::Gone => ExitCode::FAILURE,
        };
        print(&ReplayReport::of(id, decision.as_ref(), replayed), self.output)?;
        Ok(code)
    }
}

/// Returns the timeout for repeating a decision: the operator's default, since the configuration of that time is
/// unknown, or four times the recorded duration if that is longer.
fn replay_timeout(decision: &Decision) -> Duration {
    let then = Duration::from_micros(decision.decide_us);
    limits::of(&Config::default(), &decision.unit.operator.0).timeout.max(then * 4)
}
