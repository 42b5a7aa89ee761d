//! Placements and moves on the fleet page.

use maud::{Markup, html};
use switchboard_kernel::explain;
use switchboard_kernel::state::Health;

use crate::components::{ago, count, panel, state_badge};
use crate::fleet::{FleetPlacement, MoveProgress, PlacementMove};
use crate::load::fleet::FleetPage;
use crate::load::placements::{MOVE_TABLE, PLACEMENT_TABLE, PlacementsView, progress_text};
use crate::table::{Column, TableQuery, table_head};

/// Renders placements with their actions.
pub fn placements(view: &FleetPage, query: &TableQuery, act: &dyn Fn(&FleetPlacement, &[&str]) -> Markup) -> Markup {
    let columns = [Column::text("name", "Placement"), Column::text("instance", "Argo CD"), Column::plain("Action")];
    let all = &view.placements;
    let members: Vec<&str> =
        view.instances.iter().filter(|one| one.member.is_some()).map(|one| one.name.as_str()).collect();
    let aside = html! { span.faint { "a tenant with an environment; always on one instance" } };
    let body = html! {
        @if let Some(read_error) = &all.read_error {
            div.body { p.note.bad { (read_error.to_string()) } p { span.faint { "hint: " } (read_error.hint) } }
        } @else if all.placements.is_empty() && !query.filter().is_empty() {
            p.empty { "No placement matches the filter." }
        } @else if all.placements.is_empty() {
            p.empty { "No placements. A placement is created with the first deployment to an environment." }
        } @else {
            div.scroll { table.stacked {
                (table_head(query, PLACEMENT_TABLE, &columns))
                tbody { @for one in &all.placements { (row(one, &members, act)) } }
            } }
            @if all.placements_total > all.placements.len() { p.empty.small { "And " (all.placements_total - all.placements.len()) " more; narrow the filter above." } }
            @if members.len() < 2 { p.empty.small { "No other instance to move to: add one with " code { "switchboard gitops fleet add NAMESPACE" } ". " a href="/help/fleet" { "About the fleet" } "." } }
        }
    };
    let title =
        if all.read_error.is_some() { "Placements".to_string() } else { count(all.placements_total, "placement") };
    panel("placements", &title, &aside, &body)
}

fn row(one: &FleetPlacement, members: &[&str], act: &dyn Fn(&FleetPlacement, &[&str]) -> Markup) -> Markup {
    let others: Vec<&str> = members.iter().copied().filter(|name| *name != one.instance).collect();
    html! {
        tr {
            td { (name(&one.name.tenant, one.name.environment.as_deref())) }
            td data-label="On" { (one.instance) @if one.moving { " " span.tag.hot { "moving" } } }
            td.reason { (act(one, &others)) }
        }
    }
}

fn name(tenant: &str, environment: Option<&str>) -> Markup {
    html! { strong { (tenant) } br; span.faint.small { @match environment { Some(name) => { "environment " (name) } None => "its own namespace" } } }
}

/// Renders moves: running ones, then ended ones.
pub fn moves(all: &PlacementsView, query: &TableQuery) -> Markup {
    let columns = [
        Column::text("name", "Placement"),
        Column::text("state", "State"),
        Column::text("from", "From"),
        Column::text("to", "To"),
        Column::text("step", "Step"),
        Column::descending("requested", "Requested"),
        Column::plain("Message"),
    ];
    let open = all.moves.iter().filter(|one| one.progress.is_open()).count();
    let aside = html! { span.faint { @if open == 0 { "none running" } @else { (open) " running" } } };
    let body = html! {
        @if all.moves.is_empty() {
            p.empty { "No moves. Deployed resources stay untouched during a move: " a href="/help/fleet" { "About the fleet" } "." }
        } @else {
            div.scroll { table.stacked {
                (table_head(query, MOVE_TABLE, &columns))
                tbody { @for one in &all.moves { (move_row(one, all)) } }
            } }
        }
    };
    panel("moves", "Moves", &aside, &body)
}

fn move_row(one: &PlacementMove, all: &PlacementsView) -> Markup {
    let state = match one.progress {
        MoveProgress::Running | MoveProgress::RollingBack => Health::Working,
        MoveProgress::Finished => Health::Ready,
        MoveProgress::RolledBack => Health::Failing,
    };
    html! {
        tr {
            td { (name(&one.name.tenant, one.name.environment.as_deref())) }
            td { (state_badge(state)) " " span.faint.small { (progress_text(one.progress)) } }
            td data-label="From" { (one.from) }
            td data-label="To" { (one.to) }
            td data-label="Step" { (one.step) " " span.faint.small { @if one.progress.is_open() { "for " (explain::format_duration(all.now.since(one.since))) } @else { (ago(all.now, one.since)) } } }
            td data-label="Requested" { (ago(all.now, one.began)) }
            td.reason { @if one.message.is_empty() { span.faint { "–" } } @else { (one.message) } }
        }
    }
}
