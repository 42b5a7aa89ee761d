//! Page with the map of plugs and sockets.

use maud::{Markup, html};
use switchboard_kernel::state::Health;
use switchboard_plugs::overview::PlugRow;

use crate::components::{pager, panel, state_badge};
use crate::draw;
use crate::load::map::{COUPLINGS, MapDetail, MapPage, SOCKETS_A_PAGE};
use crate::table::{Column, TableQuery, filter_form, table_head};

/// Renders the map.
pub fn map(view: &MapPage, query: &TableQuery, near: Option<&str>) -> Markup {
    let base = query.href(&[("near", "")]);
    html! {
        div.head { div { h1 { "Map" } p.soft { "Plugs are on the left, the sockets they request on the right. A dashed line is not coupled." } } }
        @if !view.served {
            section.panel id="none" data-live aria-label="No plugs" { p.empty { "The cluster does not serve plugs. Run the operator " code { "plugs" } ", which installs its kinds: see " a href="/help/plugs" { "Plugs" } "." } }
        } @else {
            dl.figures id="figures" data-live {
                div { dt { "Sockets" } dd { (view.sockets) } }
                div { dt { "Plugs" } dd { (view.plugs.values().sum::<usize>()) } }
                @for state in [Health::Ready, Health::Working, Health::Waiting, Health::Blocked, Health::Failing] {
                    div { dt { (state_badge(state)) } dd { (view.plugs.get(&state.to_string()).copied().unwrap_or_default()) } }
                }
            }
            (filter_form(query, "shop", &[], &html! {}))
            div class=(if view.near.is_some() { "aside" } else { "stack" }) {
                (panel("board", "Sockets and their plugs", &html! { span.faint { "worst first" } }, &html! {
                    @if view.groups.is_empty() { p.empty { "No sockets" @if !query.filter().is_empty() { " match the filter" } "." } }
                    @else { div.canvas tabindex="0" role="group" aria-label="Map of plugs and sockets" { (draw::map::map(&view.groups, &base, near)) } }
                    (pager(&base, view.page, SOCKETS_A_PAGE, view.total))
                }))
                @if let Some(near) = &view.near { (map_detail(near)) }
            }
            (couplings(view, query))
        }
    }
}

fn couplings(view: &MapPage, query: &TableQuery) -> Markup {
    let columns = [
        Column::text("plug", "Plug"),
        Column::descending("state", "State"),
        Column::text("socket", "Socket"),
        Column::text("reason", "Reason"),
        Column::plain("Message"),
        Column::text("created", "Created"),
    ];
    panel(
        "couplings",
        "Couplings",
        &html! { span.faint { (view.couplings_total) } },
        &html! {
            @if view.couplings.is_empty() { p.empty { "No plugs" @if !query.filter().is_empty() { " match the filter" } "." } } @else {
                div.scroll { table.stacked { (table_head(query, COUPLINGS, &columns)) tbody { @for plug in &view.couplings { (coupling(plug, query)) } } } }
                @if view.couplings_total > view.couplings.len() { p.empty.small { (view.couplings_total - view.couplings.len()) " more; narrow the filter above." } }
            }
        },
    )
}

fn coupling(plug: &PlugRow, query: &TableQuery) -> Markup {
    html! {
        tr {
            td { a href=(query.href(&[("near", &format!("plug/{}", plug.name))])) { strong { (plug.name) } } }
            td { (state_badge(plug.state)) }
            td data-label="Socket" { @if plug.socket.is_empty() { span.faint { "–" } } @else { (plug.socket) @if !plug.socket_exists { " " span.tag.hot { "missing" } } } }
            td data-label="Reason" { @if plug.reason.is_empty() { span.faint { "–" } } @else { (plug.reason) } }
            td.reason { @if plug.message.is_empty() { span.faint { "–" } } @else { div.clamp { (plug.message) } } }
            td.soft.nowrap data-label="Created" { (plug.created) }
        }
    }
}

fn map_detail(near: &MapDetail) -> Markup {
    panel(
        "near",
        &near.name,
        &state_badge(near.state),
        &html! {
            div.body.stack {
                dl.facts {
                    dt { "Kind" } dd { (near.kind) }
                    dt { "Message" } dd { @if near.message.is_empty() { "–" } @else { (near.message) } }
                    dt { "Object" } dd { a href=(near.href) { "YAML, history, why" } }
                }
                div { h3 { "Config" } p.small.faint { "keys only; values are redacted" }
                    ul.plain { @for key in &near.config { li.mono { (key) } } @if near.config.is_empty() { li.soft { "none" } } } }
                div { h3 { "Creates" } ul.plain { @for made in &near.resources { li.mono { (made) } } @if near.resources.is_empty() { li.soft { "nothing" } } } }
                div { h3 { "Events" } ul.plain { @for event in &near.events { li { span.tag.hot[event.r#type == "Warning"] { (event.reason) } " " (event.message) } } @if near.events.is_empty() { li.soft { "none" } } } }
            }
        },
    )
}
