//! Operator: its waiting units and its decisions.

use serde::Serialize;
use switchboard_kernel::explain;
use switchboard_kernel::state::Health;
use switchboard_kernel::timestamp::Timestamp;

use super::overview::OperatorRow;
use super::timeline::{DecisionScope, Timeline, timeline};
use crate::problem::ConsoleProblem;
use crate::source::ConsoleSource;
use crate::state_cache;
use crate::table::TableQuery;

/// Data of an operator.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorPage {
    /// Time of the page.
    pub now: Timestamp,
    /// Version of the data.
    #[serde(skip)]
    pub version: String,
    /// State of the operator.
    #[serde(flatten)]
    pub row: OperatorRow,
    /// Units that are not done, worst first; limited in number.
    pub waiting: Vec<UnitRow>,
    /// Kinds that the operator reads, with their clusters.
    pub reads: Vec<String>,
    /// Decisions of the operator, newest first.
    pub timeline: Timeline,
}

/// Unit that is not done.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitRow {
    /// Name of the unit.
    pub unit: String,
    /// State word.
    pub state: Health,
    /// Awaited input, required user action, or error.
    pub reason: String,
    /// Reason why the unit does not run right now.
    pub wait: String,
    /// Start time of the state.
    pub since: Timestamp,
    /// Hint for the user.
    pub hint: String,
}

/// Loads an operator.
pub async fn load(
    source: &ConsoleSource,
    name: &str,
    unit: Option<&str>,
    query: &TableQuery,
    page: usize,
) -> Result<OperatorPage, ConsoleProblem> {
    let (state, redactor) = (source.state().await?, source.redactor().await?);
    let found = state.operators.iter().find(|operator| operator.name == name);
    let known = || state.operators.iter().map(|operator| operator.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = found
        .ok_or_else(|| ConsoleProblem::NotFound(format!("no operator {name} is running; operators: {}", known())))?;
    let report = explain::explain_idle(name, unit, &state);
    let waiting = report.units.iter().map(|held| UnitRow {
        unit: held.unit.to_string(),
        state: held.health,
        reason: redactor.text(&held.reason),
        wait: explain::describe_wait(&held.wait, state.now),
        since: held.since,
        hint: held.hint.clone(),
    });
    let read = state.tables.iter().filter(|table| table.readers.iter().any(|reader| *reader.0 == *name));
    Ok(OperatorPage {
        now: state.now,
        version: state_cache::version(&state),
        row: OperatorRow::of(found, &redactor),
        waiting: waiting.collect(),
        reads: read.map(|table| format!("{} of {}", table.table.resource, table.table.cluster)).collect(),
        timeline: timeline(source, DecisionScope { operator: Some(name), unit }, query, page).await?,
    })
}
