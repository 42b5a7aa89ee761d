//! Table of decisions, with the ordinary ones folded.

use maud::{Markup, html};
use switchboard_kernel::explain::micros;
use switchboard_kernel::timestamp::Timestamp;

use crate::components::{ago, operator_href, pager, panel};
use crate::load::timeline::{Folded, FoldedTimeline, PAGE, TABLE};
use crate::recent::{DecisionSummary, SummaryOutcome};
use crate::table::{Column, TableQuery, filter_form, table_head};

/// Renders the page with the decisions of all operators.
pub fn decisions(view: &FoldedTimeline, now: Timestamp, query: &TableQuery) -> Markup {
    html! {
        div.head { div { h1 { "Decisions" } p.soft { "Recorded decisions of all operators." } } }
        (filter_form(query, "greeter default/web", &[], &html! {}))
        (panel("timeline", "All operators", &fold_toggle(view, query), &timeline(view, now, query, true)))
    }
}

/// Renders a link that folds or unfolds the ordinary decisions.
pub fn fold_toggle(view: &FoldedTimeline, query: &TableQuery) -> Markup {
    html! {
        @if view.by_time && view.unfolded { a href=(query.href(&[("unfold", "")])) { "Fold decisions without writes" } }
        @else if view.by_time && view.rows.iter().any(|row| matches!(row, Folded::Many { .. })) { a href=(query.href(&[("unfold", "1")])) { "Unfold all" } }
    }
}

/// Renders a table of decisions.
pub fn timeline(view: &FoldedTimeline, now: Timestamp, query: &TableQuery, with_operator: bool) -> Markup {
    let mut columns = vec![Column::number("id", "Decision"), Column::number("time", "Time")];
    if with_operator {
        columns.push(Column::text("operator", "Operator"));
    }
    columns.extend([
        Column::text("unit", "Unit"),
        Column::text("outcome", "Outcome"),
        Column::number("duration", "Duration"),
        Column::plain("Cause"),
    ]);
    let decisions = Decisions { now, with_operator, columns: columns.len() };
    html! {
        @if view.rows.is_empty() { p.empty { "No decisions." } } @else {
            div.scroll { table.stacked.decisions {
                (table_head(query, TABLE, &columns))
                tbody { @for row in &view.rows { (decisions.row(row)) } }
            } }
        }
        (pager(&query.href(&[]), view.page, PAGE, view.total))
    }
}

/// Properties that all rows of a table share.
struct Decisions {
    now: Timestamp,
    with_operator: bool,
    columns: usize,
}

impl Decisions {
    fn row(&self, row: &Folded<DecisionSummary>) -> Markup {
        match row {
            Folded::One(summary) => self.decision(summary),
            Folded::Many { first, last, count } => html! { tr.fold { td colspan=(self.columns) {
                (fold(first, last, *count, self.now, &|summary| html! {
                    a href={ "/decisions/" (summary.id) } { "#" (summary.id) } " "
                    @if self.with_operator { (summary.operator) " " }
                    strong { (summary.unit) } " " span.soft { "because " (summary.causes) }
                }))
            } } },
        }
    }

    fn decision(&self, summary: &DecisionSummary) -> Markup {
        html! {
            tr {
                td.num { a href={ "/decisions/" (summary.id) } { "#" (summary.id) } }
                td.num.soft { (ago(self.now, summary.at)) }
                @if self.with_operator { td { a href=(operator_href(&summary.operator)) { (summary.operator) } } }
                td.unit { strong { (summary.unit) } }
                td { (outcome(summary)) }
                td.num { (micros(summary.decide_us.saturating_add(summary.write_us))) }
                td.reason { (summary.causes) @if !summary.message.is_empty() { p.small.wrap-any { (summary.message) } } }
            }
        }
    }
}

/// Renders a fold of ordinary decisions, newest or oldest first.
pub fn fold<T>(first: &[T], last: &T, count: usize, now: Timestamp, item: &dyn Fn(&DecisionSummary) -> Markup) -> Markup
where
    T: AsRef<DecisionSummary>,
{
    let (from, to) = (first.first().unwrap_or(last).as_ref(), last.as_ref());
    html! {
        details id={ "fold-" (from.id.0.min(to.id.0)) } {
            summary { (count) " decisions without writes " span.faint.small { (ago(now, from.at)) " to " (ago(now, to.at)) } }
            ul.plain.small {
                @for one in first { li { (item(one.as_ref())) } }
                @if first.len() + 1 < count { li.faint { (count - first.len() - 1) " more" } }
                li { (item(to)) }
            }
        }
    }
}

fn outcome(summary: &DecisionSummary) -> Markup {
    let class = match summary.outcome {
        SummaryOutcome::Written => "badge w-ready",
        SummaryOutcome::Unchanged => "tag",
        SummaryOutcome::WritesFailed | SummaryOutcome::Failed => "badge w-failing",
        SummaryOutcome::Deferred | SummaryOutcome::NotCached => "badge w-waiting",
    };
    html! { span class=(class) { (summary.outcome_text()) } }
}
