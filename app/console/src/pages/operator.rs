//! Page of an operator.

use maud::{Markup, html};
use switchboard_kernel::explain::{bytes, micros};
use switchboard_kernel::timestamp::Timestamp;

use super::timeline::{fold_toggle, timeline};
use crate::components::{ago, count, operator_href, panel, paused, percent_encode, state_badge, with_code_spans};
use crate::load::operator::{OperatorPage, UnitRow};
use crate::load::timeline::FoldedTimeline;
use crate::table::{TableQuery, filter_form};

/// Renders an operator with its decisions and actions.
pub fn operator(
    view: &OperatorPage,
    decisions: &FoldedTimeline,
    query: &TableQuery,
    unit: Option<&str>,
    acts: &Markup,
) -> Markup {
    let row = &view.row;
    let href = operator_href(&row.name);
    html! {
        div.head {
            div {
                p.crumbs { a href="/" { "Overview" } " / operator" }
                h1 { (row.name) }
            }
            div id="state" data-live { (state_badge(row.state)) @if let Some(pause) = &row.paused { " " (paused(pause, view.now)) } }
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
        (filter_form(query, "default/web", &[], &html! {}))
        div.aside {
            (panel("timeline", "Decisions", &html! { (filter(unit, &href)) (fold_toggle(decisions, query)) }, &timeline(decisions, view.now, query, false)))
            div.stack {
                (panel("units", "Units not done", &html! { span.faint { (view.waiting.len()) @if row.units_waiting > view.waiting.len() { " of " (row.units_waiting) } } }, &units(&view.waiting, view.now, &href)))
                (panel("reads", "Reads", &html! {}, &html! { div.body { ul.plain { @for kind in &view.reads { li.mono { (kind) } } @if view.reads.is_empty() { li.soft { "Nothing yet" } } } } }))
            }
        }
    }
}

fn filter(unit: Option<&str>, href: &str) -> Markup {
    html! { @if let Some(unit) = unit { span.tag { "unit " (unit) } a href=(href) { "All units" } } }
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
                        p.small.faint { (unit.wait) }
                        p.small { span.faint { "hint: " } (with_code_spans(&unit.hint)) }
                    }
                }
            }
        }
    }
}
