//! One operator: its units that wait, and what it decided.

use serde::Serialize;
use switchboard_kernel::explain;
use switchboard_kernel::moment::Moment;
use switchboard_kernel::state::Word;

use super::overview::OperatorRow;
use crate::problem::Problem;
use crate::pulse;
use crate::recent::Brief;
use crate::source::Source;

/// How many decisions a page of a timeline shows.
pub const PAGE: usize = 40;

/// An operator.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorPage {
    /// The moment.
    pub now: Moment,
    /// Changes with what is shown.
    #[serde(skip)]
    pub version: String,
    /// How it stands.
    #[serde(flatten)]
    pub row: OperatorRow,
    /// Its units that are not simply done, worst first; not all when there are many.
    pub waiting: Vec<UnitRow>,
    /// Kinds it reads, with their clusters.
    pub reads: Vec<String>,
    /// What it decided, newest first.
    pub timeline: Timeline,
}

/// A unit that is not simply done.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitRow {
    /// Which.
    pub unit: String,
    /// Its word.
    pub state: Word,
    /// What it waits for, what a person must do, or what failed.
    pub reason: String,
    /// Why it does not run right now.
    pub holds: String,
    /// Since when.
    pub since: Moment,
    /// What would help.
    pub help: String,
}

/// Decisions, a page of them.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// Newest first.
    pub briefs: Vec<Brief>,
    /// Which page, from 1.
    pub page: usize,
    /// How many there are in all, as far as is remembered.
    pub total: usize,
}

/// One operator.
pub async fn load(source: &Source, name: &str, unit: Option<&str>, page: usize) -> Result<OperatorPage, Problem> {
    let (state, veil) = (source.state().await?, source.veil().await?);
    let found = state.operators.iter().find(|operator| operator.name == name);
    let known = || state.operators.iter().map(|operator| operator.name.as_str()).collect::<Vec<_>>().join(", ");
    let found =
        found.ok_or_else(|| Problem::Missing(format!("no operator {name} is hosted; there are: {}", known())))?;
    let report = explain::why_not(name, unit, &state);
    let waiting = report.units.iter().map(|held| UnitRow {
        unit: held.unit.to_string(),
        state: held.word,
        reason: veil.text(&held.reason),
        holds: explain::wait(&held.wait, state.now),
        since: held.since,
        help: held.help.clone(),
    });
    let read = state.tables.iter().filter(|table| table.readers.iter().any(|reader| *reader.0 == *name));
    Ok(OperatorPage {
        now: state.now,
        version: pulse::version(&state),
        row: OperatorRow::of(found, &veil),
        waiting: waiting.collect(),
        reads: read.map(|table| format!("{} of {}", table.table.resource, table.table.cluster)).collect(),
        timeline: timeline(source, Some(name), unit, page).await?,
    })
}

/// What was decided: of one operator, of one unit, or by all.
pub async fn timeline(
    source: &Source,
    operator: Option<&str>,
    unit: Option<&str>,
    page: usize,
) -> Result<Timeline, Problem> {
    let (briefs, veil) = (source.briefs().await?, source.veil().await?);
    let meant = |brief: &&Brief| {
        operator.is_none_or(|name| brief.operator == name) && unit.is_none_or(|name| brief.unit == name)
    };
    let page = page.max(1);
    let total = briefs.iter().filter(meant).count();
    let shown = briefs.iter().filter(meant).skip((page - 1).saturating_mul(PAGE)).take(PAGE);
    let shown = shown.map(|brief| Brief { said: veil.text(&brief.said), ..brief.clone() }).collect();
    Ok(Timeline { briefs: shown, page, total })
}
