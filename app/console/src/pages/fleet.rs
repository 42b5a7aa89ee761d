//! Page of Argo CD instances, applications and environments.

use maud::{Markup, html};
use switchboard_kernel::state::Health;

use super::placements::{moves, placements};
use crate::components::{count, pager, panel, percent_encode, root_cause, state_badge};
use crate::fleet::FleetPlacement;
use crate::load::fleet::{ApplicationRow, FleetPage, InstanceRow, PAGE};

/// Actions on the page.
pub struct FleetActions<'a> {
    /// Renders the actions on an application.
    pub application: &'a dyn Fn(&ApplicationRow) -> Markup,
    /// Renders the actions on a placement, given the possible target instances.
    pub unit: &'a dyn Fn(&FleetPlacement, &[&str]) -> Markup,
}

/// Renders the fleet.
pub fn fleet(view: &FleetPage, filter: &str, acts: &FleetActions<'_>) -> Markup {
    let base = format!("/fleet?q={}", percent_encode(filter));
    html! {
        div.head { div { h1 { "Fleet" } p.soft { "Argo CD instances, their applications and environments." } } }
        @if !view.served && !view.units.hosted {
            section.panel id="none" data-live aria-label="No GitOps" { p.empty { "The cluster serves neither Applications nor GitOpsDeployments. " a href="/help/gitops" { "Requirements of the GitOps Service" } "." } }
        } @else {
            dl.figures id="figures" data-live {
                div { dt { "Instances" } dd { (view.instances.len()) } }
                div { dt { "Environments" } dd { (view.environments.len()) } }
                @for state in [Health::Ready, Health::Working, Health::Waiting, Health::Blocked, Health::Failing] {
                    div { dt { (state_badge(state)) } dd { (view.states.get(&state.to_string()).copied().unwrap_or_default()) } }
                }
            }
            (instances(view))
            @if view.units.hosted { (moves(&view.units)) }
            form.row action="/fleet" {
                label { "Filter by name" input name="q" value=(filter) placeholder="shop" autocomplete="off"; }
                button type="submit" { "Show" }
            }
            (panel("applications", &count(view.total, "application"), &html! { span.faint { "worst first" } }, &html! { (applications(&view.applications, acts.application)) (pager(&base, view.page, PAGE, view.total)) }))
            @if view.units.hosted { (placements(view, acts.unit)) }
            div.columns { (environments(view)) (operations(view)) }
        }
    }
}

fn applications(all: &[ApplicationRow], act: &dyn Fn(&ApplicationRow) -> Markup) -> Markup {
    html! {
        @if all.is_empty() { p.empty { "No applications." } } @else {
            div.scroll { table.stacked {
                thead { tr { th scope="col" { "Application" } th scope="col" { "State" } th scope="col" { "Sync" } th scope="col" { "Health" } th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Message" } th scope="col" { "Action" } } }
                tbody { @for one in all { tr {
                    td { a href=(one.href) { strong { (one.name) } } br; span.faint.small { (one.namespace) " · " (one.kind) } }
                    td { (state_badge(one.state)) }
                    td data-label="Sync" { @if one.sync.is_empty() { span.faint { "–" } } @else { (one.sync) } }
                    td data-label="Health" { @if one.health.is_empty() { span.faint { "–" } } @else { (one.health) } }
                    td.reason { (one.repository) br; span.faint.small.mono { (one.revision) } }
                    td.reason { (one.destination) }
                    td.reason title=(one.message) { div.clamp { (root_cause(&one.message)) } }
                    td { (act(one)) }
                } } }
            } }
        }
    }
}

/// Returns the load of an instance in percent of its limit; without a limit, in percent of the most loaded instance.
fn load(one: &InstanceRow, most: usize) -> u64 {
    let (has, takes) = match one.member.as_ref().and_then(|member| Some((member, member.max_applications?))) {
        Some((member, max)) => (member.applications, u64::try_from(max).unwrap_or_default()),
        None => (one.applications as u64, most as u64),
    };
    (has.saturating_mul(100) / takes.max(1)).min(100)
}

/// Formats a count with its maximum.
fn count_of(has: u64, max: Option<i64>) -> String {
    max.map_or(has.to_string(), |max| format!("{has} of {max}"))
}

/// Renders the number of Applications; those not placed by the service are listed separately.
fn applications_of(one: &InstanceRow) -> Markup {
    let Some(member) = &one.member else { return html! { (one.applications) } };
    let beside = (one.applications as u64).saturating_sub(member.applications);
    html! {
        (count_of(member.applications, member.max_applications))
        @if beside > 0 { br; span.faint.small { (beside) " not placed by the service" } }
    }
}

fn instances(view: &FleetPage) -> Markup {
    let most = view.instances.iter().map(|one| one.applications).max().unwrap_or(1);
    panel(
        "instances",
        "Argo CD instances",
        &html! {},
        &html! {
            @if view.instances.is_empty() { p.empty { "No instances." } } @else {
                div.scroll tabindex="0" role="group" aria-label="Table" { table {
                    thead { tr { th scope="col" { "Namespace" } @if view.units.hosted { th scope="col" { "State" } th.num scope="col" { "Placements" } } th.num scope="col" { "Applications" } th scope="col" { "Load" } th.num scope="col" { "Healthy" } } }
                    tbody { @for one in &view.instances { tr {
                        td { strong { (one.name) } }
                        @if view.units.hosted { (member(one)) }
                        td.num { (applications_of(one)) }
                        td { svg.load viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" { rect.of width="100" height="6" rx="3" {} rect.is width=(load(one, most)) height="6" rx="3" {} } }
                        td.num { (one.well) }
                    } } }
                } }
            }
        },
    )
}

/// Renders the cells for state and placements.
fn member(one: &InstanceRow) -> Markup {
    html! {
        @match &one.member {
            Some(member) => {
                td { span.tag.hot[member.state != "active"] { (member.state) } }
                td.num { (count_of(member.units, member.max_units)) @if member.moving > 0 { br; span.faint.small { (member.moving) " moving" } } }
            }
            None => { td { span.tag { "not in the fleet" } } td {} }
        }
    }
}

fn environments(view: &FleetPage) -> Markup {
    panel(
        "environments",
        "Environments",
        &html! {},
        &html! {
            @if view.environments.is_empty() { p.empty { "No environments besides the cluster itself." } } @else {
                div.scroll tabindex="0" role="group" aria-label="Table" { table {
                    thead { tr { th scope="col" { "Environment" } th scope="col" { "State" } th scope="col" { "Cluster" } th scope="col" { "Message" } } }
                    tbody { @for one in &view.environments { tr { td { a href=(one.href) { strong { (one.name) } } } td { (state_badge(one.state)) } td.reason { (one.url) } td.reason { (one.message) } } } }
                } }
            }
        },
    )
}

fn operations(view: &FleetPage) -> Markup {
    panel(
        "operations",
        "Operations",
        &html! { span.faint { "open requests to the agent" } },
        &html! {
            @if view.operations.is_empty() { p.empty { "No operations." } } @else { div.body { ul.plain { @for one in &view.operations { li { a href=(one.href) { (one.name) } } } } } }
        },
    )
}
