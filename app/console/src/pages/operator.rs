//! Pages of an operator and of decisions.

use maud::{Markup, html};
use switchboard_kernel::explain::{bytes, micros};
use switchboard_kernel::timestamp::Timestamp;

use crate::components::{ago, count, operator_href, pager, panel, percent_encode, state_badge, with_code_spans};
use crate::load::operator::{OperatorPage, PAGE, Timeline, UnitRow};
use crate::recent::{DecisionSummary, SummaryOutcome};

/// Renders an operator with its actions.
pub fn operator(view: &OperatorPage, unit: Option<&str>, acts: &Markup) -> Markup {
    let row = &view.row;
    let href = operator_href(&row.name);
    let base = unit.map_or_else(|| href.clone(), |unit| format!("{href}?unit={}", percent_encode(unit)));
    html! {
        div.head {
            div {
                p.crumbs { a href="/" { "Overview" } " / operator" }
                h1 { (row.name) }
            }
            div id="standing" data-live { (state_badge(row.state)) @if row.paused { " " span.tag.hot { "paused" } } }
        }
        @if !row.reason.is_empty() { p.note id="reason" data-live { (with_code_spans(&row.reason)) } }
        (acts)
        dl.figures id="figures" data-live {
            div { dt { "Units" } dd { (row.units) } dd { small { (row.units_waiting) " not done" } } }
            div { dt { "Runs" } dd { (row.runs) } dd { small { (row.failures) " failed" } } }
            div { dt { "Decision time" } dd { (micros(row.decide_p50_us)) } dd { small { "p99 " (micros(row.decide_p99_us)) } } }
            div { dt { "Writes" } dd { (row.writes) } }
            div { dt { "Cache share" } dd { (bytes(row.cache_share_bytes)) } dd { small { (count(view.reads.len(), "kind")) } } }
        }
        div.aside {
            (panel("timeline", "Decisions", &filter(unit, &href), &timeline(&view.timeline, view.now, &base, false)))
            div.stack {
                (panel("units", "Units not done", &html! { span.faint { (view.waiting.len()) @if row.units_waiting > view.waiting.len() { " of " (row.units_waiting) } } }, &units(&view.waiting, view.now, &href)))
                (panel("reads", "Reads", &html! {}, &html! { div.body { ul.plain { @for kind in &view.reads { li.mono { (kind) } } @if view.reads.is_empty() { li.soft { "Nothing yet" } } } } }))
            }
        }
    }
}

fn filter(unit: Option<&str>, href: &str) -> Markup {
    html! { @if let Some(unit) = unit { span.tag { "unit " (unit) } a href=(href) { "all units" } } @else { span.faint { "newest first" } } }
}

fn units(units: &[UnitRow], now: Timestamp, href: &str) -> Markup {
    html! {
        @if units.is_empty() { p.empty { "All units are done." } }
        ul.line {
            @for unit in units {
                li {
                    div { (state_badge(unit.state)) }
                    div {
                        div.title { a href={ (href) "?unit=" (percent_encode(&unit.unit)) } { strong { (unit.unit) } } span.when { (ago(now, unit.since)) } }
                        @if !unit.reason.is_empty() { p.cause { (with_code_spans(&unit.reason)) } }
                        p.small.faint { (unit.holds) }
                        p.small { span.faint { "hint: " } (with_code_spans(&unit.help)) }
                    }
                }
            }
        }
    }
}

/// Renders the decisions of all operators.
pub fn decisions(timeline_of: &Timeline, now: Timestamp) -> Markup {
    html! {
        div.head { div { h1 { "Decisions" } p.soft { "Recorded decisions of all operators, newest first." } } }
        (panel("timeline", "All operators", &html! {}, &timeline(timeline_of, now, "/decisions", true)))
    }
}

/// Renders a timeline.
pub fn timeline(timeline: &Timeline, now: Timestamp, base: &str, with_operator: bool) -> Markup {
    html! {
        @if timeline.briefs.is_empty() { p.empty { "No decisions yet." } }
        ul.line { @for one in &timeline.briefs { (brief(one, now, with_operator)) } }
        (pager(base, timeline.page, PAGE, timeline.total))
    }
}

/// Renders a decision in a timeline.
pub fn brief(brief: &DecisionSummary, now: Timestamp, with_operator: bool) -> Markup {
    html! {
        li {
            span.when { (ago(now, brief.at)) }
            div {
                div.title {
                    a href={ "/decisions/" (brief.id) } { "#" (brief.id) }
                    @if with_operator { a href=(operator_href(&brief.operator)) { (brief.operator) } }
                    strong { (brief.unit) }
                    (outcome(brief))
                    span.faint.small { (micros(brief.decide_us)) @if brief.write_us > 0 { " + " (micros(brief.write_us)) " writing" } }
                }
                p.cause { "because " (brief.because) }
                @if !brief.said.is_empty() { p.small.soft.wrap-any { (brief.said) } }
            }
        }
    }
}

fn outcome(brief: &DecisionSummary) -> Markup {
    let (class, text) = match brief.outcome {
        SummaryOutcome::Wrote => ("word w-ready", count(brief.written, "write")),
        SummaryOutcome::Nothing => ("tag", "wrote nothing".to_string()),
        SummaryOutcome::Refused => ("word w-failing", format!("{} failed", count(brief.undone, "write"))),
        SummaryOutcome::PutOff => ("word w-waiting", format!("{} deferred", count(brief.undone, "write"))),
        SummaryOutcome::Parked => ("word w-waiting", "parked".to_string()),
        SummaryOutcome::Failed => ("word w-failing", "failed".to_string()),
    };
    html! { span class=(class) { (text) } }
}
