//! Page of Argo CD instances, applications and environments.

use maud::{Markup, html};
use switchboard_gitops::state::root_cause;
use switchboard_kernel::state::Health;

use super::placements::{moves, placements};
use crate::components::{count, pager, panel, state_badge};
use crate::fleet::FleetPlacement;
use crate::load::fleet::{APPLICATION_TABLE, ApplicationRow, EnvironmentRow, FleetPage, InstanceRow, PAGE};
use crate::table::{Column, SortKey, TableQuery, TableRow, filter_form, table_head};

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
            (filter_form(query, "shop", &[], &html! {}))
            (instances(view, query))
            @if view.placements.hosted { (moves(&view.placements, query)) }
            (panel("applications", &count(view.total, "application"), &html! {}, &html! { (applications(&view.applications, query, acts.application)) (pager(&query.href(&[]), view.page, PAGE, view.total)) }))
            @if view.placements.hosted { (placements(view, query, acts.placement)) }
            div.columns { (environments(view, query)) (operations(view)) }
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

/// Returns the number of Applications, and their percentage of the instance's limit; `None` without a limit.
fn used_percent(one: &InstanceRow) -> Option<(u64, u64)> {
    let member = one.member.as_ref()?;
    let max = u64::try_from(member.max_applications?).unwrap_or_default().max(1);
    Some((member.applications, member.applications.saturating_mul(100) / max))
}

/// Renders the number of Applications as part of the instance's limit. Without a limit there is no load.
fn load(one: &InstanceRow) -> Markup {
    let Some((used, percent)) = used_percent(one) else {
        return html! { span.faint { "no limit" } };
    };
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

/// Name of the table of Argo CD instances in the parameter `sort`.
const INSTANCES: &str = "instances";

impl TableRow for &InstanceRow {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        let member = self.member.as_ref();
        Some(match column {
            "name" => SortKey::text(&self.name),
            "state" => SortKey::text(member.map_or("", |member| &member.state)),
            "placements" => SortKey::Number(member.map_or(0, |member| member.placements)),
            "applications" => SortKey::Number(member.map_or(self.applications as u64, |member| member.applications)),
            "load" => SortKey::Number(used_percent(self).map_or(0, |(_, percent)| percent)),
            "healthy" => SortKey::count(self.ready),
            _ => return None,
        })
    }

    fn filter_text(&self) -> String {
        format!("{} {}", self.name, self.member.as_ref().map_or("not in the fleet", |member| &member.state))
    }
}

fn instances(view: &FleetPage, query: &TableQuery) -> Markup {
    let mut rows: Vec<&InstanceRow> = view.instances.iter().collect();
    query.arrange(INSTANCES, &mut rows);
    let members = [Column::text("state", "State"), Column::number("placements", "Placements")];
    let figures = [
        Column::number("applications", "Applications"),
        Column::descending("load", "Load"),
        Column::number("healthy", "Healthy"),
    ];
    let members = members.into_iter().filter(|_| view.placements.hosted);
    let columns: Vec<Column> =
        std::iter::once(Column::text("name", "Namespace")).chain(members).chain(figures).collect();
    panel(
        "instances",
        "Argo CD instances",
        &html! {},
        &html! {
            @if rows.is_empty() { p.empty { @if view.instances.is_empty() { "No instances." } @else { "No instance matches the filter." } } } @else {
                div.scroll tabindex="0" role="group" aria-label="Table" { table {
                    (table_head(query, INSTANCES, &columns))
                    tbody { @for one in rows { tr {
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

/// Name of the table of environments in the parameter `sort`.
const ENVIRONMENTS: &str = "environments";

impl TableRow for &EnvironmentRow {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        Some(match column {
            "name" => SortKey::text(&self.name),
            "state" => SortKey::state(self.state),
            "cluster" => SortKey::text(&self.url),
            "message" => SortKey::text(&self.message),
            _ => return None,
        })
    }

    fn filter_text(&self) -> String {
        format!("{} {} {} {}", self.name, self.state, self.url, self.message)
    }
}

fn environments(view: &FleetPage, query: &TableQuery) -> Markup {
    let mut rows: Vec<&EnvironmentRow> = view.environments.iter().collect();
    query.arrange(ENVIRONMENTS, &mut rows);
    let columns = [
        Column::text("name", "Environment"),
        Column::descending("state", "State"),
        Column::text("cluster", "Cluster"),
        Column::text("message", "Message"),
    ];
    panel(
        "environments",
        "Environments",
        &html! {},
        &html! {
            @if rows.is_empty() { p.empty { @if view.environments.is_empty() { "No environments besides the cluster itself." } @else { "No environment matches the filter." } } } @else {
                div.scroll tabindex="0" role="group" aria-label="Table" { table {
                    (table_head(query, ENVIRONMENTS, &columns))
                    tbody { @for one in rows { tr { td { a href=(one.href) { strong { (one.name) } } } td { (state_badge(one.state)) } td.reason { (one.url) } td.reason { (one.message) } } } }
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
