//! Decisions by time, with the ordinary ones folded.

use serde::Serialize;

use crate::problem::ConsoleProblem;
use crate::recent::{DecisionSummary, SummaryOutcome};
use crate::source::ConsoleSource;
use crate::table::{SortKey, TableQuery, TableRow};

/// Number of rows on a page of a timeline.
pub const PAGE: usize = 40;
/// Maximum number of decisions that are listed in a fold.
const MAX_FOLDED: usize = 50;
/// Name of the timeline in the parameter `sort`.
pub const TABLE: &str = "decisions";

/// Page of decisions.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// Decisions, newest first.
    pub decisions: Vec<DecisionSummary>,
    /// Number of the page, from 1.
    pub page: usize,
    /// Total number of remembered decisions.
    pub total: usize,
}

/// Page of decisions, with consecutive ordinary ones folded.
#[derive(Clone, Debug, Default)]
pub struct FoldedTimeline {
    /// Decisions and folds.
    pub rows: Vec<Folded<DecisionSummary>>,
    /// Number of the page, from 1.
    pub page: usize,
    /// Total number of rows.
    pub total: usize,
    /// Whether folds are possible: the decisions are ordered by time.
    pub by_time: bool,
    /// Whether the user asked for all decisions.
    pub unfolded: bool,
}

/// Row, or a fold of ordinary ones.
#[derive(Clone, Debug, PartialEq)]
pub enum Folded<T> {
    /// Single row.
    One(T),
    /// Consecutive ordinary rows.
    Many {
        /// First rows of the fold; limited in number.
        first: Vec<T>,
        /// Last row, which identifies the fold while it grows.
        last: T,
        /// Number of rows.
        count: usize,
    },
}

/// Decisions of an operator, of a unit, or of all operators.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecisionScope<'a> {
    /// Operator; `None` for all.
    pub operator: Option<&'a str>,
    /// Unit; `None` for all.
    pub unit: Option<&'a str>,
}

impl DecisionScope<'_> {
    fn includes(&self, summary: &DecisionSummary) -> bool {
        self.operator.is_none_or(|name| summary.operator == name) && self.unit.is_none_or(|name| summary.unit == name)
    }
}

impl TableRow for &DecisionSummary {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        Some(match column {
            "id" | "time" => SortKey::Number(self.id.0),
            "operator" => SortKey::text(&self.operator),
            "unit" => SortKey::text(&self.unit),
            "outcome" => SortKey::text(&self.outcome_text()),
            "duration" => SortKey::Number(self.decide_us.saturating_add(self.write_us)),
            _ => return None,
        })
    }

    fn filter_text(&self) -> String {
        format!("#{} {} {} {} {}", self.id, self.operator, self.unit, self.outcome_text(), self.causes)
    }
}

/// Loads a page of decisions.
pub async fn timeline(
    source: &ConsoleSource,
    scope: DecisionScope<'_>,
    query: &TableQuery,
    page: usize,
) -> Result<Timeline, ConsoleProblem> {
    let (summaries, redactor) = (source.summaries().await?, source.redactor().await?);
    let mut rows: Vec<&DecisionSummary> = summaries.iter().filter(|summary| scope.includes(summary)).collect();
    query.arrange(TABLE, &mut rows);
    let (total, page) = (rows.len(), page.max(1));
    let shown = rows.into_iter().skip((page - 1).saturating_mul(PAGE)).take(PAGE);
    let shown = shown.map(|summary| DecisionSummary { message: redactor.text(&summary.message), ..summary.clone() });
    Ok(Timeline { decisions: shown.collect(), page, total })
}

/// Loads a page of decisions, with consecutive ordinary ones folded unless `unfolded` is set.
pub async fn folded_timeline(
    source: &ConsoleSource,
    scope: DecisionScope<'_>,
    query: &TableQuery,
    page: usize,
    unfolded: bool,
) -> Result<FoldedTimeline, ConsoleProblem> {
    let (summaries, redactor) = (source.summaries().await?, source.redactor().await?);
    let mut rows: Vec<&DecisionSummary> = summaries.iter().filter(|summary| scope.includes(summary)).collect();
    query.arrange(TABLE, &mut rows);
    let by_time = query.order_of(TABLE).is_none_or(|(column, _)| matches!(column, "id" | "time"));
    let folds = by_time && !unfolded;
    let rows = fold(rows, |summary| folds && summary.is_ordinary());
    let (total, page) = (rows.len(), page.max(1));
    let redacted =
        |summary: &DecisionSummary| DecisionSummary { message: redactor.text(&summary.message), ..summary.clone() };
    let shown = rows.into_iter().skip((page - 1).saturating_mul(PAGE)).take(PAGE).map(|row| row.map(redacted));
    Ok(FoldedTimeline { rows: shown.collect(), page, total, by_time, unfolded })
}

/// Folds consecutive ordinary rows. A single one stays as it is.
pub fn fold<T>(rows: Vec<T>, is_ordinary: impl Fn(&T) -> bool) -> Vec<Folded<T>> {
    let (mut out, mut run) = (Vec::new(), Vec::new());
    for row in rows {
        if is_ordinary(&row) {
            run.push(row);
        } else {
            out.extend(close(std::mem::take(&mut run)));
            out.push(Folded::One(row));
        }
    }
    out.extend(close(run));
    out
}

fn close<T>(mut run: Vec<T>) -> Option<Folded<T>> {
    let last = run.pop()?;
    if run.is_empty() {
        return Some(Folded::One(last));
    }
    let count = run.len() + 1;
    run.truncate(MAX_FOLDED);
    Some(Folded::Many { first: run, last, count })
}

impl<T> Folded<T> {
    fn map<U>(self, convert: impl Fn(T) -> U) -> Folded<U> {
        match self {
            Folded::One(row) => Folded::One(convert(row)),
            Folded::Many { first, last, count } => {
                Folded::Many { first: first.into_iter().map(&convert).collect(), last: convert(last), count }
            }
        }
    }
}

impl AsRef<DecisionSummary> for DecisionSummary {
    fn as_ref(&self) -> &DecisionSummary {
        self
    }
}

impl DecisionSummary {
    /// Whether the decision wrote nothing and reports nothing: no error, no wait, no required action.
    pub fn is_ordinary(&self) -> bool {
        match self.outcome {
            SummaryOutcome::Unchanged => self.message.is_empty(),
            // The unit runs again as soon as the kind is readable.
            SummaryOutcome::NotCached => true,
            SummaryOutcome::Written
            | SummaryOutcome::WritesFailed
            | SummaryOutcome::Deferred
            | SummaryOutcome::Failed => false,
        }
    }

    /// Returns the outcome as a label.
    pub fn outcome_text(&self) -> String {
        let count = |number| crate::components::count(number, "write");
        match self.outcome {
            SummaryOutcome::Written => count(self.written),
            SummaryOutcome::Unchanged => "no writes".to_string(),
            SummaryOutcome::WritesFailed => format!("{} failed", count(self.failed_writes)),
            SummaryOutcome::Deferred => format!("{} deferred", count(self.failed_writes)),
            SummaryOutcome::NotCached => "not cached".to_string(),
            SummaryOutcome::Failed => "failed".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordinary(outcome: SummaryOutcome, message: &str) -> bool {
        DecisionSummary { outcome, message: message.to_string(), ..crate::recent::sample() }.is_ordinary()
    }

    #[test]
    fn only_decisions_without_news_are_ordinary() {
        assert!(
            ordinary(SummaryOutcome::Unchanged, "") && ordinary(SummaryOutcome::NotCached, "cannot read plugs yet")
        );
        assert!(!ordinary(SummaryOutcome::Unchanged, "blocked: set data.name"), "a state with a message is shown");
        for outcome in
            [SummaryOutcome::Failed, SummaryOutcome::WritesFailed, SummaryOutcome::Deferred, SummaryOutcome::Written]
        {
            assert!(!ordinary(outcome, ""), "{outcome:?}");
        }
    }

    #[test]
    fn consecutive_ordinary_rows_are_folded() {
        let folded = fold(vec![1, 2, 9, 3, 9, 9, 4, 5, 6], |row| *row < 9);
        let expected = vec![
            Folded::Many { first: vec![1], last: 2, count: 2 },
            Folded::One(9),
            Folded::One(3),
            Folded::One(9),
            Folded::One(9),
            Folded::Many { first: vec![4, 5], last: 6, count: 3 },
        ];
        assert_eq!(folded, expected);
        let Some(Folded::Many { first, last, count }) = fold((0..200).collect(), |_: &i32| true).pop() else { return };
        assert_eq!((first.len(), last, count), (MAX_FOLDED, 199, 200), "a fold is bounded");
    }
}
