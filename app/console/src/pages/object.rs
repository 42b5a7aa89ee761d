//! Page of an object.

use maud::{Markup, html};

use super::resource_tree::resource_tree;
use super::timeline::fold;
use crate::components::{ago, count, panel, percent_encode, why, yaml};
use crate::draw::relations::relations;
use crate::flags::CommandFlags;
use crate::load::object::{EventRow, FieldOwner, HistoryRow, ObjectPage};
use crate::load::timeline::{self, Folded};
use crate::recent::DecisionSummary;

/// Renders an object.
pub fn object(view: &ObjectPage, flags: &CommandFlags) -> Markup {
    let key = &view.key;
    let (cluster, kind) = (key.table.cluster.to_string(), key.table.resource.to_string());
    let place = if key.namespace.is_empty() { "no namespace".to_string() } else { key.namespace.to_string() };
    html! {
        div.head {
            div {
                p.crumbs {
                    a href={ "/objects?cluster=" (percent_encode(&cluster)) } { (cluster) } " / "
                    a href={ "/objects?cluster=" (percent_encode(&cluster)) "&kind=" (percent_encode(&kind)) } { (kind) } " / " (place)
                }
                h1 { (key.name) }
            }
            span.tag { (key.table.resource.kind) }
            @if view.read_error.is_some() { span.tag.hot id="unread" data-live { "unreadable" } } @else if !view.exists { span.tag.hot id="gone" data-live { "missing" } }
        }
        (panel("why", "Explanation", &html! { span.faint.small.mono { "switchboard why " (kind) "/" (key.name) @if !key.namespace.is_empty() { " -n " (key.namespace) } (flags.kernel_flags()) } }, &why(&view.why)))
        (panel("tree", "Resource tree", &html! { span.faint.small { "deployed and owned objects with their health" } }, &resource_tree(&view.resource_tree)))
        (panel("relations", "Relations", &html! {}, &html! { div.canvas tabindex="0" role="group" aria-label="Relations" { (relations(key, &view.relations)) } }))
        div.columns {
            (panel("yaml", "YAML", &html! { span.faint.small { "secrets redacted" } }, &html! { @if view.exists { (yaml(&view.yaml)) } @else if let Some(why) = &view.read_error { p.empty.wrap-any { (why) } } @else { p.empty { "The object does not exist; its history is shown." } } }))
            div.stack {
                (panel("history", "History", &html! { span.faint.small { "decisions that wrote or read it" } }, &history(&view.history, view)))
                (panel("owners", "Field owners", &html! {}, &owners(&view.owners)))
                (panel("events", "Events", &html! {}, &events(&view.events)))
            }
        }
    }
}

fn history(history: &[HistoryRow], view: &ObjectPage) -> Markup {
    let rows = timeline::fold(history.to_vec(), |row| !row.is_write && row.summary.is_ordinary());
    html! {
        @if history.is_empty() { p.empty { "No recorded decision wrote or read the object." } }
        ul.line { @for row in &rows { (history_row(row, view)) } }
    }
}

fn history_row(row: &Folded<HistoryRow>, view: &ObjectPage) -> Markup {
    let title = |summary: &DecisionSummary| html! { a href={ "/decisions/" (summary.id) } { "#" (summary.id) } " " (summary.operator) " " strong { (summary.unit) } };
    match row {
        Folded::One(row) => html! {
            li.wrote[row.is_write] {
                span.when { (ago(view.now, row.summary.at)) br; @if row.is_write { strong { "written" } } @else { "read" } }
                div {
                    div.title { (title(&row.summary)) }
                    p.cause { "because " (row.summary.causes) }
                }
            }
        },
        Folded::Many { first, last, count } => {
            html! { li.fold { div { (fold(first, last, *count, view.now, &title)) } } }
        }
    }
}

fn owners(owners: &[FieldOwner]) -> Markup {
    html! {
        @if owners.is_empty() { p.empty { "No field owners." } }
        div.body {
            @for (at, owner) in owners.iter().enumerate() {
                details id=(format!("owner-{at}")) {
                    summary {
                        strong { (owner.manager) } " " span.faint { (owner.operation) @if !owner.subresource.is_empty() { " of " (owner.subresource) } @if !owner.time.is_empty() { ", " (owner.time) } " · " (count(owner.fields.len() + owner.omitted, "field")) }
                    }
                    ul.reads { @for field in &owner.fields { li.mono { (field) } } @if owner.omitted > 0 { li { "and " (owner.omitted) " more" } } }
                }
            }
        }
    }
}

fn events(events: &[EventRow]) -> Markup {
    html! {
        @if events.is_empty() { p.empty { "No events." } }
        ul.line {
            @for event in events {
                li { span.when { (event.time) } div { div.title { span.tag.hot[event.r#type == "Warning"] { (event.reason) } } p.cause { (event.message) } } }
            }
        }
    }
}
