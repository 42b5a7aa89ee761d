//! Argo CD instances, what they deploy, and where to.

use maud::{Markup, html};
use switchboard_kernel::state::Word;

use super::units::{moves, units};
use crate::fleet::Unit;
use crate::load::fleet::{Application, FleetPage, Instance, PAGE};
use crate::piece::{cause, count, escaped, pager, panel, word};

/// What a reader who signed in may do.
pub struct Acts<'a> {
    /// With an application.
    pub application: &'a dyn Fn(&Application) -> Markup,
    /// With a unit, given the instances it may go to.
    pub unit: &'a dyn Fn(&Unit, &[&str]) -> Markup,
}

/// The fleet.
pub fn fleet(view: &FleetPage, filter: &str, acts: &Acts<'_>) -> Markup {
    let base = format!("/fleet?q={}", escaped(filter));
    html! {
        div.head { div { h1 { "Fleet" } p.soft { "Argo CD instances, what they deploy from where, and the environments it goes to." } } }
        @if !view.served && !view.units.hosted {
            section.panel id="none" data-live aria-label="No GitOps" { p.empty { "This cluster knows no Applications and no GitOpsDeployments. " a href="/help/GITOPS" { "What the GitOps Service needs" } "." } }
        } @else {
            dl.figures id="figures" data-live {
                div { dt { "Instances" } dd { (view.instances.len()) } }
                div { dt { "Environments" } dd { (view.environments.len()) } }
                @for state in [Word::Ready, Word::Working, Word::Waiting, Word::Blocked, Word::Failing] {
                    div { dt { (word(state)) } dd { (view.states.get(&state.to_string()).copied().unwrap_or_default()) } }
                }
            }
            (instances(view))
            @if view.units.hosted { (moves(&view.units)) }
            form.row action="/fleet" {
                label { "Names that hold" input name="q" value=(filter) placeholder="shop" autocomplete="off"; }
                button type="submit" { "Show" }
            }
            (panel("applications", &count(view.total, "application"), &html! { span.faint { "worst first" } }, &html! { (applications(&view.applications, acts.application)) (pager(&base, view.page, PAGE, view.total)) }))
            @if view.units.hosted { (units(view, acts.unit)) }
            div.columns { (environments(view)) (operations(view)) }
        }
    }
}

fn applications(all: &[Application], act: &dyn Fn(&Application) -> Markup) -> Markup {
    html! {
        @if all.is_empty() { p.empty { "There is none." } } @else {
            div.scroll { table.stacked {
                thead { tr { th scope="col" { "Application" } th scope="col" { "State" } th scope="col" { "Sync" } th scope="col" { "Health" } th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Says" } th scope="col" { "Do" } } }
                tbody { @for one in all { tr {
                    td { a href=(one.href) { strong { (one.name) } } br; span.faint.small { (one.namespace) " · " (one.kind) } }
                    td { (word(one.state)) }
                    td data-label="Sync" { @if one.sync.is_empty() { span.faint { "–" } } @else { (one.sync) } }
                    td data-label="Health" { @if one.health.is_empty() { span.faint { "–" } } @else { (one.health) } }
                    td.reason { (one.repository) br; span.faint.small.mono { (one.revision) } }
                    td.reason { (one.destination) }
                    td.reason title=(one.message) { div.clamp { (cause(&one.message)) } }
                    td { (act(one)) }
                } } }
            } }
        }
    }
}

/// How much of what an instance takes it has, in a hundred; of the most loaded one when nobody said how much it takes.
fn load(one: &Instance, most: usize) -> u64 {
    let (has, takes) = match one.member.as_ref().and_then(|member| Some((member, member.max_applications?))) {
        Some((member, max)) => (member.applications, u64::try_from(max).unwrap_or_default()),
        None => (one.applications as u64, most as u64),
    };
    (has.saturating_mul(100) / takes.max(1)).min(100)
}

/// What there is, and of how many.
fn of(has: u64, max: Option<i64>) -> String {
    max.map_or(has.to_string(), |max| format!("{has} of {max}"))
}

/// How many it has; those that were not placed by the service stand apart from what it takes.
fn applications_of(one: &Instance) -> Markup {
    let Some(member) = &one.member else { return html! { (one.applications) } };
    let beside = (one.applications as u64).saturating_sub(member.applications);
    html! {
        (of(member.applications, member.max_applications))
        @if beside > 0 { br; span.faint.small { (beside) " beside the service" } }
    }
}

fn instances(view: &FleetPage) -> Markup {
    let most = view.instances.iter().map(|one| one.applications).max().unwrap_or(1);
    panel(
        "instances",
        "Argo CD instances",
        &html! {},
        &html! {
            @if view.instances.is_empty() { p.empty { "None is there yet." } } @else {
                div.scroll tabindex="0" role="group" aria-label="Table" { table {
                    thead { tr { th scope="col" { "Namespace" } @if view.units.hosted { th scope="col" { "State" } th.num scope="col" { "Units" } } th.num scope="col" { "Applications" } th scope="col" { "Load" } th.num scope="col" { "Well" } } }
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

/// State and units, in two cells.
fn member(one: &Instance) -> Markup {
    html! {
        @match &one.member {
            Some(member) => {
                td { span.tag.hot[member.state != "active"] { (member.state) } }
                td.num { (of(member.units, member.max_units)) @if member.moving > 0 { br; span.faint.small { (member.moving) " moving" } } }
            }
            None => { td { span.tag { "not of the fleet" } } td {} }
        }
    }
}

fn environments(view: &FleetPage) -> Markup {
    panel(
        "environments",
        "Environments",
        &html! {},
        &html! {
            @if view.environments.is_empty() { p.empty { "None beside the cluster itself." } } @else {
                div.scroll tabindex="0" role="group" aria-label="Table" { table {
                    thead { tr { th scope="col" { "Environment" } th scope="col" { "State" } th scope="col" { "Cluster" } th scope="col" { "Says" } } }
                    tbody { @for one in &view.environments { tr { td { a href=(one.href) { strong { (one.name) } } } td { (word(one.state)) } td.reason { (one.url) } td.reason { (one.message) } } } }
                } }
            }
        },
    )
}

fn operations(view: &FleetPage) -> Markup {
    panel(
        "operations",
        "Operations",
        &html! { span.faint { "what the agent is asked to do" } },
        &html! {
            @if view.operations.is_empty() { p.empty { "Nothing." } } @else { div.body { ul.plain { @for one in &view.operations { li { a href=(one.href) { (one.name) } } } } } }
        },
    )
}
