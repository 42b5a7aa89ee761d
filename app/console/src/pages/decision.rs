//! Page of a decision: cause, reads, plan and results.

use maud::{Markup, html};
use switchboard_kernel::explain::micros;

use crate::components::{ago, count, diff, object, operator_href, panel, percent_encode, state_badge};
use crate::flags::CommandFlags;
use crate::load::decision::{DecisionPage, WriteRow};

/// Renders a decision.
pub fn decision(view: &DecisionPage, flags: &CommandFlags) -> Markup {
    let unit = format!("{}?unit={}", operator_href(&view.operator), percent_encode(&view.unit));
    html! {
        div.head {
            div {
                p.crumbs { a href="/decisions" { "Decisions" } " / " a href=(operator_href(&view.operator)) { (view.operator) } " / " a href=(unit) { (view.unit) } }
                h1 { "Decision " (view.id) }
                p.soft { (ago(view.now, view.at)) " · waited " (view.waited_ms) " ms · decided in " (micros(view.decide_us)) @if view.write_us > 0 { " · wrote in " (micros(view.write_us)) } }
            }
            (state_badge(view.state))
        }
        @if !view.message.is_empty() { p.note.bad[view.state == switchboard_kernel::state::Health::Failing] { (view.message) } }
        div.aside {
            (panel("plan", "Plan and results", &html! { span.faint { (count(view.writes.len(), "write")) } }, &writes(&view.writes)))
            div.stack {
                (panel("causes", "Cause", &html! {}, &html! { div.body { ul.plain { @for cause in &view.causes { li { (cause) } } @if view.causes.is_empty() { li.soft { "Not recorded" } } } } }))
                (panel("reads", "Reads", &html! {}, &reads(view)))
                (panel("replay", "Replay", &html! {}, &html! { div.body { p.soft { "Repeat the decision with the recorded inputs and compare the result:" } pre.code tabindex="0" role="group" aria-label="Command" { code { "switchboard replay " (view.id) (flags.kernel_flags()) } } } }))
            }
        }
    }
}

fn writes(writes: &[WriteRow]) -> Markup {
    html! {
        div.body {
            @if writes.is_empty() { p.soft { "No writes." } }
            @for write in writes {
                section.write aria-label=(write.write) {
                    header {
                        strong { (write.verb) } (object(&write.object)) @if !write.part.is_empty() { strong { (write.part) } }
                        span.soft.wrap-any { @if !write.succeeded { span.tag.hot { "not written" } " " } (write.result) }
                    }
                    @if write.diff.is_empty() { p.empty.small { "No change to the object that was read." } } @else { (diff(&write.diff)) }
                    @if write.omitted_lines > 0 { p.empty.small { "and " (count(write.omitted_lines, "line")) " more" } }
                }
            }
        }
    }
}

fn reads(view: &DecisionPage) -> Markup {
    // The text lists objects first; lists and external checks follow.
    let rest = view.reads.get(view.gets.len()..).unwrap_or_default();
    html! {
        div.body {
            ul.plain.small {
                @for (key, revision) in view.gets.iter().take(view.reads.len()) {
                    li { (object(key)) " " span.faint { @match revision { Some(revision) => { "at " (revision) }, None => "missing" } } }
                }
                @for line in rest { li { (line) } }
                @if view.reads.is_empty() { li.soft { "Nothing" } }
            }
        }
    }
}
