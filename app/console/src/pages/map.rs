//! Page with the map of plugs and sockets.

use maud::{Markup, html};
use switchboard_kernel::state::Health;

use crate::components::{pager, panel, percent_encode, state_badge};
use crate::draw;
use crate::load::map::{MapDetail, MapPage, SOCKETS_A_PAGE};

/// Renders the map.
pub fn map(view: &MapPage, filter: &str, near: Option<&str>) -> Markup {
    let base = if filter.is_empty() { "/map".to_string() } else { format!("/map?q={}", percent_encode(filter)) };
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
            form.row action="/map" {
                label { "Filter by name" input name="q" value=(filter) placeholder="shop" autocomplete="off"; }
                button type="submit" { "Show" }
                @if !filter.is_empty() { a.button href="/map" { "All" } }
            }
            div class=(if view.near.is_some() { "aside" } else { "stack" }) {
                (panel("board", "Sockets and their plugs", &html! { span.faint { "worst first" } }, &html! {
                    @if view.groups.is_empty() { p.empty { "No sockets" @if !filter.is_empty() { " match the filter" } "." } }
                    @else { div.canvas tabindex="0" role="group" aria-label="Map of plugs and sockets" { (draw::map::map(&view.groups, &base, near)) } }
                    (pager(&base, view.page, SOCKETS_A_PAGE, view.total))
                }))
                @if let Some(near) = &view.near { (map_detail(near)) }
            }
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
