//! One operator, and timelines of decisions.

use maud::{Markup, html};
use switchboard_kernel::explain::{bytes, micros};
use switchboard_kernel::moment::Moment;

use crate::load::operator::{OperatorPage, PAGE, Timeline, UnitRow};
use crate::piece::{ago, coded, count, escaped, operator_href, pager, panel, word};
use crate::recent::{Brief, Came};

/// An operator. `acts` are what a reader who signed in may do.
pub fn operator(view: &OperatorPage, unit: Option<&str>, acts: &Markup) -> Markup {
    let row = &view.row;
    let href = operator_href(&row.name);
    let base = unit.map_or_else(|| href.clone(), |unit| format!("{href}?unit={}", escaped(unit)));
    html! {
        div.head {
            div {
                p.crumbs { a href="/" { "Overview" } " / operator" }
                h1 { (row.name) }
            }
            div id="standing" data-live { (word(row.state)) @if row.paused { " " span.tag.hot { "paused" } } }
        }
        @if !row.reason.is_empty() { p.note id="reason" data-live { (coded(&row.reason)) } }
        (acts)
        dl.figures id="figures" data-live {
            div { dt { "Units" } dd { (row.units) } dd { small { (row.units_waiting) " not done" } } }
            div { dt { "Runs" } dd { (row.runs) } dd { small { (row.failures) " failed" } } }
            div { dt { "Time to decide" } dd { (micros(row.decide_p50_us)) } dd { small { "p99 " (micros(row.decide_p99_us)) } } }
            div { dt { "Writes" } dd { (row.writes) } }
            div { dt { "Share of the cache" } dd { (bytes(row.cache_share_bytes)) } dd { small { (count(view.reads.len(), "kind")) } } }
        }
        div.aside {
            (panel("timeline", "Decisions", &filter(unit, &href), &timeline(&view.timeline, view.now, &base, false)))
            div.stack {
                (panel("units", "Units that are not done", &html! { span.faint { (view.waiting.len()) @if row.units_waiting > view.waiting.len() { " of " (row.units_waiting) } } }, &units(&view.waiting, view.now, &href)))
                (panel("reads", "What it reads", &html! {}, &html! { div.body { ul.plain { @for kind in &view.reads { li.mono { (kind) } } @if view.reads.is_empty() { li.soft { "Nothing yet" } } } } }))
            }
        }
    }
}

fn filter(unit: Option<&str>, href: &str) -> Markup {
    html! { @if let Some(unit) = unit { span.tag { "unit " (unit) } a href=(href) { "all units" } } @else { span.faint { "newest first" } } }
}

fn units(units: &[UnitRow], now: Moment, href: &str) -> Markup {
    html! {
        @if units.is_empty() { p.empty { "All are done: nothing they read has changed." } }
        ul.line {
            @for unit in units {
                li {
                    div { (word(unit.state)) }
                    div {
                        div.title { a href={ (href) "?unit=" (escaped(&unit.unit)) } { strong { (unit.unit) } } span.when { (ago(now, unit.since)) } }
                        @if !unit.reason.is_empty() { p.cause { (coded(&unit.reason)) } }
                        p.small.faint { (unit.holds) }
                        p.small { span.faint { "helps: " } (coded(&unit.help)) }
                    }
                }
            }
        }
    }
}

/// The page of all decisions.
pub fn decisions(timeline_of: &Timeline, now: Moment) -> Markup {
    html! {
        div.head { div { h1 { "Decisions" } p.soft { "What all operators decided, newest first, as far as the journal is looked back." } } }
        (panel("timeline", "All operators", &html! {}, &timeline(timeline_of, now, "/decisions", true)))
    }
}

/// A timeline.
pub fn timeline(timeline: &Timeline, now: Moment, base: &str, with_operator: bool) -> Markup {
    html! {
        @if timeline.briefs.is_empty() { p.empty { "Nothing was decided yet." } }
        ul.line { @for one in &timeline.briefs { (brief(one, now, with_operator)) } }
        (pager(base, timeline.page, PAGE, timeline.total))
    }
}

/// A decision of a timeline.
pub fn brief(brief: &Brief, now: Moment, with_operator: bool) -> Markup {
    html! {
        li {
            span.when { (ago(now, brief.at)) }
            div {
                div.title {
                    a href={ "/decisions/" (brief.id) } { "#" (brief.id) }
                    @if with_operator { a href=(operator_href(&brief.operator)) { (brief.operator) } }
                    strong { (brief.unit) }
                    (came(brief))
                    span.faint.small { (micros(brief.decide_us)) @if brief.write_us > 0 { " + " (micros(brief.write_us)) " writing" } }
                }
                p.cause { "because " (brief.because) }
                @if !brief.said.is_empty() { p.small.soft.wrap-any { (brief.said) } }
            }
        }
    }
}

fn came(brief: &Brief) -> Markup {
    let (class, text) = match brief.outcome {
        Came::Wrote => ("word w-ready", count(brief.written, "write")),
        Came::Nothing => ("tag", "wrote nothing".to_string()),
        Came::Refused => ("word w-failing", format!("{} not made", count(brief.undone, "write"))),
        Came::PutOff => ("word w-waiting", format!("{} put off", count(brief.undone, "write"))),
        Came::Parked => ("word w-waiting", "parked".to_string()),
        Came::Failed => ("word w-failing", "failed".to_string()),
    };
    html! { span class=(class) { (text) } }
}
