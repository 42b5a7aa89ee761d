//! Placements and moves on the fleet page.

use maud::{Markup, html};
use switchboard_kernel::explain;
use switchboard_kernel::state::Health;

use crate::components::{ago, count, panel, state_badge};
use crate::fleet::{FleetPlacement, MoveProgress, PlacementMove};
use crate::load::fleet::FleetPage;
use crate::load::placements::{PlacementsView, progress_text};

/// Renders placements with their actions.
pub fn placements(view: &FleetPage, act: &dyn Fn(&FleetPlacement, &[&str]) -> Markup) -> Markup {
    let all = &view.units;
    let members: Vec<&str> =
        view.instances.iter().filter(|one| one.member.is_some()).map(|one| one.name.as_str()).collect();
    let aside = html! { span.faint { "a tenant with an environment; always on one instance" } };
    let body = html! {
        @if let Some(unread) = &all.unread {
            div.body { p.note.bad { (unread.to_string()) } p { span.faint { "hint: " } (unread.hint) } }
        } @else if all.units.is_empty() {
            p.empty { "No placements. A placement is created with the first deployment to an environment." }
        } @else {
            div.scroll { table.stacked {
                thead { tr { th scope="col" { "Placement" } th scope="col" { "Argo CD" } th scope="col" { "Action" } } }
                tbody { @for unit in &all.units { (row(unit, &members, act)) } }
            } }
            @if all.units_total > all.units.len() { p.empty.small { "And " (all.units_total - all.units.len()) " more; narrow the filter above." } }
            @if members.len() < 2 { p.empty.small { "No other instance to move to: add one with " code { "switchboard gitops fleet add NAMESPACE" } ". " a href="/help/fleet" { "About the fleet" } "." } }
        }
    };
    let title = if all.unread.is_some() { "Placements".to_string() } else { count(all.units_total, "placement") };
    panel("units", &title, &aside, &body)
}

fn row(unit: &FleetPlacement, members: &[&str], act: &dyn Fn(&FleetPlacement, &[&str]) -> Markup) -> Markup {
    let others: Vec<&str> = members.iter().copied().filter(|one| *one != unit.instance).collect();
    html! {
        tr {
            td { (name(&unit.name.tenant, unit.name.environment.as_deref())) }
            td data-label="On" { (unit.instance) @if unit.moving { " " span.tag.hot { "moving" } } }
            td.reason { (act(unit, &others)) }
        }
    }
}

fn name(tenant: &str, environment: Option<&str>) -> Markup {
    html! { strong { (tenant) } br; span.faint.small { @match environment { Some(name) => { "environment " (name) } None => "its own namespace" } } }
}

/// Renders moves: running ones, then ended ones.
pub fn moves(all: &PlacementsView) -> Markup {
    let open = all.moves.iter().filter(|one| one.course.is_open()).count();
    let aside = html! { span.faint { @if open == 0 { "none running" } @else { (open) " running" } } };
    let body = html! {
        @if all.moves.is_empty() {
            p.empty { "No moves. Deployed resources stay untouched during a move: " a href="/help/fleet" { "About the fleet" } "." }
        } @else {
            div.scroll { table.stacked {
                thead { tr { th scope="col" { "Placement" } th scope="col" { "State" } th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Step" } th scope="col" { "Requested" } th scope="col" { "Message" } } }
                tbody { @for one in &all.moves { (move_row(one, all)) } }
            } }
        }
    };
    panel("moves", "Moves", &aside, &body)
}

fn move_row(one: &PlacementMove, all: &PlacementsView) -> Markup {
    let state = match one.course {
        MoveProgress::Going | MoveProgress::Returning => Health::Working,
        MoveProgress::Arrived => Health::Ready,
        MoveProgress::Returned => Health::Failing,
    };
    html! {
        tr {
            td { (name(&one.unit.tenant, one.unit.environment.as_deref())) }
            td { (state_badge(state)) " " span.faint.small { (progress_text(one.course)) } }
            td data-label="From" { (one.from) }
            td data-label="To" { (one.to) }
            td data-label="Step" { (one.step) " " span.faint.small { @if one.course.is_open() { "for " (explain::format_duration(all.now.since(one.since))) } @else { (ago(all.now, one.since)) } } }
            td data-label="Requested" { (ago(all.now, one.began)) }
            td.reason { @if one.message.is_empty() { span.faint { "–" } } @else { (one.message) } }
        }
    }
}
