//! Argo CD instances, what they deploy, and where to.

use maud::{Markup, html};
use switchboard_kernel::state::Word;

use crate::load::fleet::{Application, FleetPage, PAGE};
use crate::piece::{count, escaped, pager, panel, word};

/// The fleet. `act` makes what a reader who signed in may do of a deployment.
pub fn fleet(view: &FleetPage, filter: &str, act: &dyn Fn(&Application) -> Markup) -> Markup {
    let base = format!("/fleet?q={}", escaped(filter));
    html! {
        div.head { div { h1 { "Fleet" } p.soft { "Argo CD instances, what they deploy from where, and the environments it goes to." } } }
        @if !view.served {
            section.panel aria-label="No GitOps" { p.empty { "This cluster knows no Applications and no GitOpsDeployments. " a href="/help/GITOPS" { "What the GitOps Service needs" } "." } }
        } @else {
            dl.figures id="figures" data-live {
                div { dt { "Instances" } dd { (view.instances.len()) } }
                div { dt { "Environments" } dd { (view.environments.len()) } }
                @for state in [Word::Ready, Word::Working, Word::Waiting, Word::Blocked, Word::Failing] {
                    div { dt { (word(state)) } dd { (view.states.get(&state.to_string()).copied().unwrap_or_default()) } }
                }
            }
            form.row action="/fleet" {
                label { "Names that hold" input name="q" value=(filter) placeholder="shop" autocomplete="off"; }
                button type="submit" { "Show" }
            }
            (panel("applications", &count(view.total, "application"), &html! { span.faint { "worst first" } }, &html! { (applications(&view.applications, act)) (pager(&base, view.page, PAGE, view.total)) }))
            div.columns { (instances(view)) (environments(view)) (moves(view)) }
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
                    td.reason { (one.message) }
                    td { (act(one)) }
                } } }
            } }
        }
    }
}

fn instances(view: &FleetPage) -> Markup {
    let most = view.instances.iter().map(|one| one.applications).max().unwrap_or(1).max(1);
    panel(
        "instances",
        "Argo CD instances",
        &html! {},
        &html! {
            @if view.instances.is_empty() { p.empty { "No Application is there yet." } } @else {
                div.scroll tabindex="0" role="group" aria-label="Table" { table {
                    thead { tr { th scope="col" { "Namespace" } th.num scope="col" { "Applications" } th scope="col" { "Load" } th.num scope="col" { "Well" } } }
                    tbody { @for one in &view.instances { tr {
                        td { strong { (one.name) } } td.num { (one.applications) }
                        td { svg.load viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" { rect.of width="100" height="6" rx="3" {} rect.is width=(one.applications * 100 / most) height="6" rx="3" {} } }
                        td.num { (one.well) }
                    } } }
                } }
            }
        },
    )
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

fn moves(view: &FleetPage) -> Markup {
    panel(
        "moves",
        "Under way",
        &html! { span.faint { "operations of the agent" } },
        &html! {
            @if view.moves.is_empty() { p.empty { "Nothing." } } @else { div.body { ul.plain { @for one in &view.moves { li { a href=(one.href) { (one.name) } } } } } }
        },
    )
}
