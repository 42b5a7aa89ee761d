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
    let aside = html! { span.faint { "a tenant and an environment; never split over instances" } };
    let body = html! {
        @if let Some(unread) = &all.unread {
            div.body { p.note.bad { (unread.to_string()) } p { span.faint { "hint: " } (unread.hint) } }
        } @else if all.units.is_empty() {
            p.empty { "None is placed. A unit is placed when its first deployment is created." }
        } @else {
            div.scroll { table.stacked {
                thead { tr { th scope="col" { "Unit" } th scope="col" { "Argo CD" } th scope="col" { "Do" } } }
                tbody { @for unit in &all.units { (row(unit, &members, act)) } }
            } }
            @if all.units_total > all.units.len() { p.empty.small { "And " (all.units_total - all.units.len()) " more; the names above narrow it down." } }
            @if members.len() < 2 { p.empty.small { "There is no other instance to move to; " code { "switchboard gitops fleet add NAMESPACE" } " adds one. " a href="/help/FLEET" { "About the fleet" } "." } }
        }
    };
    let title = if all.unread.is_some() { "Units".to_string() } else { count(all.units_total, "unit") };
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
    let aside = html! { span.faint { @if open == 0 { "none is under way" } @else { (open) " under way" } } };
    let body = html! {
        @if all.moves.is_empty() {
            p.empty { "None. What was deployed stays as it is while a unit moves: " a href="/help/FLEET" { "how" } "." }
        } @else {
            div.scroll { table.stacked {
                thead { tr { th scope="col" { "Unit" } th scope="col" { "State" } th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Step" } th scope="col" { "Asked for" } th scope="col" { "Says" } } }
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
            td data-label="Asked for" { (ago(all.now, one.began)) }
            td.reason { @if one.message.is_empty() { span.faint { "–" } } @else { (one.message) } }
        }
    }
}
