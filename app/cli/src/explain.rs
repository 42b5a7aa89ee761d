//! `why`, `why-not`, `top` and `replay`: reports from the journal and a running kernel.

mod live_object;
mod top;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use switchboard_kernel::config::Config;
use switchboard_kernel::decision::{Decision, DecisionId};
use switchboard_kernel::explain::{self, FieldPath, ObjectTarget, ReplayReport, WhyReport};
use switchboard_kernel::journal::JournalEntry;
use switchboard_kernel::operator::Unit;
use switchboard_kernel::replay::{ReplayComparison, replay_within};
use switchboard_kernel::resource::ObjectKey;
use switchboard_kernel::state::KernelState;
use switchboard_runtime::hosted;
use switchboard_runtime::state_dir::StateDir;
use switchboard_runtime::stderr::print_stderr;

use crate::failure::CommandError;
pub use crate::output_format::{OutputFormat, print};
use crate::own_operators::families;
use crate::state_args::StateArgs;
use crate::watch_loop::WatchArgs;
use crate::{DIFFERS, color};
pub use top::Top;

/// Maximum time to wait until the journal has the decision of a write. Decisions are recorded after their writes.
const JOURNAL_PATIENCE: Duration = Duration::from_secs(3);
const JOURNAL_POLL: Duration = Duration::from_millis(100);

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
    pub state: StateArgs,
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
        self.watch.show(|| self.recorded_report()).await
    }

    /// Returns the text of the report. If the live object shows a write that the journal does not have yet, waits for
    /// the journal.
    async fn recorded_report(&self) -> Result<String, CommandError> {
        let end = Instant::now() + JOURNAL_PATIENCE;
        loop {
            let report = self.report().await?;
            if report.unrecorded_manager.is_none() || report.lost > 0 || Instant::now() >= end {
                return render_report(&report, self.output, &self.state.dir());
            }
            tokio::time::sleep(JOURNAL_POLL).await;
        }
    }

    async fn report(&self) -> Result<WhyReport, CommandError> {
        // The state is requested before the journal is read, so that the journal holds every decision the state
        // mentions.
        let state = self.state.dir().state().await.ok();
        let journal = self.state.dir().journal()?;
        let state = state.unwrap_or_else(|| {
            print_stderr("note: no kernel is running here; the report is from its journal");
            KernelState { now: now(), ..KernelState::default() }
        });
        let (kind, name) = self.object.clone();
        let target = ObjectTarget { cluster: self.cluster.clone(), kind, namespace: self.namespace.clone(), name };
        let entries: Vec<JournalEntry> = journal.newest().collect();
        live_object::check_known(&target, &entries, &state)?;
        let live = live_object::read(&self.state.dir(), &target, &entries, &state).await?;
        let read = |id: DecisionId, key: &ObjectKey| {
            let kept = journal.reads(id)?.objects.into_iter().find(|kept| kept.key == *key);
            kept.map(|kept| kept.value)
        };
        let range = journal.range();
        let report =
            explain::explain_object(&target, self.field.as_ref(), &entries, &range, &state, live.value(), &read);
        match live.absent_key() {
            Some(key) if is_unknown(&report) => Err(missing_object(&target, key).into()),
            _ => Ok(report),
        }
    }
}

/// Whether neither a decision, a waiting unit nor a finding mentions the object.
fn is_unknown(report: &WhyReport) -> bool {
    let is_written = report.last_write.is_some() || report.failed_write.is_some() || !report.managers.is_empty();
    !is_written && report.waiting_units.is_empty() && report.findings.is_empty() && report.others.is_empty()
}

/// Error for an object that does not exist and that the journal does not mention.
fn missing_object(target: &ObjectTarget, key: &ObjectKey) -> String {
    let (kind, name, namespace) = (&target.kind, &target.name, &key.namespace);
    let (within, hint) = match key.table.resource.namespaced {
        true => (
            format!(" in namespace {namespace}"),
            "check name and namespace (-n NAMESPACE); if another process runs the operator, pass its --state-dir",
        ),
        false => (String::new(), "check the name"),
    };
    format!(
        "could not explain {kind}/{name}: it does not exist{within}, and no decision in the journal mentions it\nhint: {hint}"
    )
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
    pub state: StateArgs,
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
        let mut state = self.state.dir().state().await?;
        if let Some(unit) = &self.unit
            && let Some(hosted) = state.operators.iter_mut().find(|hosted| hosted.name == self.operator)
        {
            // The state lists only waiting units, and not all of them if there are many.
            let body = json!({"operator": self.operator, "unit": unit}).to_string();
            hosted.units = vec![
                self.state.dir().request("POST", "/api/v1/unit", body).await.map_err(|error| self.with_hint(error))?,
            ];
        }
        let report = explain::explain_idle(&self.operator, None, &state);
        if report.health.is_none() {
            let known = if report.operators.is_empty() { "none".to_string() } else { report.operators.join(", ") };
            return Err(format!("no operator {} is running\nhint: operators: {known}", self.operator).into());
        }
        render_report(&report, self.output, &self.state.dir())
    }

    fn with_hint(&self, error: CommandError) -> CommandError {
        let hint = format!("hint: `switchboard why-not {}` lists the waiting units", self.operator);
        format!("{error}\n{hint}").into()
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
    pub state: StateArgs,
}

impl Replay {
    /// Prints the report. The exit code states whether the decision differs now, or could not be repeated.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        let journal = self.state.dir().journal()?;
        let id = DecisionId(self.decision);
        let decision = journal.get(id);
        let replayed = match &decision {
            None => ReplayComparison::Gone,
            Some(decision) => {
                let name = &decision.unit.operator.0;
                let known = families().replay(name, &decision.settings).await;
                let known = known.or_else(|| hosted::replay_operator(name, &self.state.dir().path().ok()?));
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
    let config = Config { families: families(), ..Config::default() };
    config.limits_of(&decision.unit.operator.0).timeout.max(then * 4)
}
