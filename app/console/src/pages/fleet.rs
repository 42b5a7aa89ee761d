//! Page of Argo CD instances, applications and environments.

use maud::{Markup, html};
use switchboard_gitops::state::root_cause;
use switchboard_kernel::state::Health;

use super::placements::{moves, placements};
use crate::components::{count, pager, panel, state_badge};
use crate::fleet::FleetPlacement;
use crate::load::fleet::{APPLICATION_TABLE, ApplicationRow, FleetPage, InstanceRow, PAGE};
use crate::table::{Column, TableQuery, filter_form, table_head};

/// Actions on the page.
pub struct FleetActions<'a> {
    /// Renders the actions on an application.
    pub application: &'a dyn Fn(&ApplicationRow) -> Markup,
    /// Renders the actions on a placement, given the possible target instances.
    pub placement: &'a dyn Fn(&FleetPlacement, &[&str]) -> Markup,
}

/// Renders the fleet.
pub fn fleet(view: &FleetPage, query: &TableQuery, acts: &FleetActions<'_>) -> Markup {
    html! {
        div.head { div { h1 { "Fleet" } p.soft { "Argo CD instances, their applications and environments." } } }
        @if !view.served && !view.placements.hosted {
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
            (filter_form(query, "shop", &[], &html! {}))
            @if view.placements.hosted { (moves(&view.placements, query)) }
            (panel("applications", &count(view.total, "application"), &html! {}, &html! { (applications(&view.applications, query, acts.application)) (pager(&query.href(&[]), view.page, PAGE, view.total)) }))
            @if view.placements.hosted { (placements(view, query, acts.placement)) }
            div.columns { (environments(view)) (operations(view)) }
        }
    }
}

fn applications(all: &[ApplicationRow], query: &TableQuery, act: &dyn Fn(&ApplicationRow) -> Markup) -> Markup {
    let columns = [
        Column::text("name", "Application"),
        Column::descending("state", "State"),
        Column::text("sync", "Sync"),
        Column::text("health", "Health"),
        Column::text("from", "Source"),
        Column::text("to", "Destination"),
        Column::plain("Message"),
        Column::plain("Action"),
    ];
    html! {
        @if all.is_empty() { p.empty { @if query.filter().is_empty() { "No applications." } @else { "No application matches the filter." } } } @else {
            div.scroll { table.stacked {
                (table_head(query, APPLICATION_TABLE, &columns))
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

/// Renders the number of Applications as part of the instance's limit. Without a limit there is no load.
fn load(one: &InstanceRow) -> Markup {
    let Some((used, max)) =
        one.member.as_ref().and_then(|member| Some((member.applications, member.max_applications?)))
    else {
        return html! { span.faint { "no limit" } };
    };
    let percent = used.saturating_mul(100) / u64::try_from(max).unwrap_or_default().max(1);
    // A used instance never looks empty.
    let width = percent.clamp(u64::from(used > 0), 100);
    html! {
        svg.load viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" { rect.of width="100" height="6" rx="3" {} rect.is width=(width) height="6" rx="3" {} }
        " " span.small { @if percent == 0 && used > 0 { "under 1 %" } @else { (percent) " %" } }
    }
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
    panel(
        "instances",
        "Argo CD instances",
        &html! {},
        &html! {
            @if view.instances.is_empty() { p.empty { "No instances." } } @else {
                div.scroll tabindex="0" role="group" aria-label="Table" { table {
                    thead { tr { th scope="col" { "Namespace" } @if view.placements.hosted { th scope="col" { "State" } th.num scope="col" { "Placements" } } th.num scope="col" { "Applications" } th scope="col" { "Load" } th.num scope="col" { "Healthy" } } }
                    tbody { @for one in &view.instances { tr {
                        td { strong { (one.name) } }
                        @if view.placements.hosted { (member(one)) }
                        td.num { (applications_of(one)) }
                        td { (load(one)) }
                        td.num { (one.ready) }
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
                td.num { (count_of(member.placements, member.max_placements)) @if member.moving > 0 { br; span.faint.small { (member.moving) " moving" } } }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::FleetInstanceSummary;

    /// The bar once showed an instance without a limit as full, because no other had more Applications.
    #[test]
    fn load_is_shown_in_numbers_and_only_with_a_limit() {
        let of = |applications: u64, max_applications: Option<i64>| {
            let member = FleetInstanceSummary { applications, max_applications, ..FleetInstanceSummary::default() };
            load(&InstanceRow { member: Some(member), ..InstanceRow::default() }).into_string()
        };
        assert!(of(500, Some(1000)).contains("width=\"50\"") && of(500, Some(1000)).contains("50 %"));
        assert!(of(5, Some(1000)).contains("width=\"1\"") && of(5, Some(1000)).contains("under 1 %"));
        assert!(of(0, Some(1000)).contains("width=\"0\"") && of(0, Some(1000)).contains(">0 %"));
        assert!(of(1200, Some(1000)).contains("width=\"100\"") && of(1200, Some(1000)).contains("120 %"));
        assert_eq!(of(5, None), "<span class=\"faint\">no limit</span>");
        let outside = load(&InstanceRow { applications: 7, ..InstanceRow::default() }).into_string();
        assert!(!outside.contains("svg"), "{outside}");
    }
}
