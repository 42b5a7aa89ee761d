//! Actions on pages: buttons for signed-in users, and commands for all.

use maud::{Markup, html};

use crate::access::SessionUser;
use crate::action::{ConsoleAction, move_command};
use crate::flags::CommandFlags;
use crate::fleet::FleetPlacement;
use crate::load::overview::OperatorRow;
use crate::load::placements::display_name;
use crate::login;

/// Renders the actions on an operator.
pub fn operator_actions(
    row: &OperatorRow,
    unit: Option<&str>,
    flags: &CommandFlags,
    user: Option<&SessionUser>,
) -> Markup {
    let name = row.name.clone();
    let pause = if row.paused.is_some() {
        (ConsoleAction::Resume(name.clone()), "Resume")
    } else {
        (ConsoleAction::Pause(name.clone()), "Pause")
    };
    let reconcile = match unit {
        Some(unit) => (ConsoleAction::Reconcile(name.clone(), Some(unit.to_string())), "Reconcile this unit"),
        None => (ConsoleAction::Reconcile(name.clone(), None), "Reconcile all units"),
    };
    html! {
        div.actions id="actions" data-live {
            @for (act, label) in [pause, reconcile] {
                @let fields = [("operator", Some(name.as_str())), ("unit", unit.filter(|_| act.name() == "reconcile"))];
                (button(&act, label, &fields, flags, user))
            }
        }
    }
}

/// Renders the action on a deployment.
pub fn deployment_action(namespace: &str, name: &str, flags: &CommandFlags, user: Option<&SessionUser>) -> Markup {
    let act = ConsoleAction::Sync { namespace: namespace.to_string(), name: name.to_string() };
    button(&act, "Sync", &[("namespace", Some(namespace)), ("name", Some(name))], flags, user)
}

/// Renders the move of a placement to one of the target instances.
pub fn move_action(
    unit: &FleetPlacement,
    targets: &[&str],
    flags: &CommandFlags,
    user: Option<&SessionUser>,
) -> Markup {
    let (command, id) = (move_command(&unit.name, flags), format!("to-{}", display_name(&unit.name)));
    let Some(first) = targets.first().filter(|_| !unit.moving) else { return html! {} };
    html! {
        form.act method="post" action="/actions/move" {
            @if let Some(user) = user { input type="hidden" name="csrf_token" value=(user.csrf_token); }
            input type="hidden" name="tenant" value=(unit.name.tenant);
            @if let Some(environment) = &unit.name.environment { input type="hidden" name="environment" value=(environment); }
            span.choice {
                select id=(id) name="to" aria-label={ "Target instance for " (display_name(&unit.name)) } data-choice {
                    @for target in targets { option value=(target) { (target) } }
                }
                @if user.is_some() { button type="submit" { "Move" } } @else { a.button href=(login::href("/fleet")) { "Move" } }
            }
            code { (command) " " span data-chosen { (first) } }
        }
    }
}

fn button(
    act: &ConsoleAction,
    label: &str,
    fields: &[(&str, Option<&str>)],
    flags: &CommandFlags,
    user: Option<&SessionUser>,
) -> Markup {
    let command = act.command(flags);
    html! {
        form.act method="post" action={ "/actions/" (act.name()) } {
            @if let Some(user) = user { input type="hidden" name="csrf_token" value=(user.csrf_token); }
            @for (name, value) in fields { @if let Some(value) = value { input type="hidden" name=(name) value=(value); } }
            @if user.is_some() { button type="submit" title=(command) { (label) } }
            @else { a.button href=(login::href(&act.page())) title=(command) { (label) } }
            code { (command) }
        }
    }
}

/// Commands that create a user who may act, and its token. The manifest begins with a key: kubectl before 1.33 reads a
/// document that begins with a brace as JSON. They are those of the page `sign-in`, whose test runs them.
const TOKEN_COMMANDS: &str = "\
kubectl create serviceaccount me
kubectl apply -f - <<'EOF'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: act}
rules:
- {apiGroups: [switchboard.dev], resources: [operators], verbs: [pause, reconcile]}
- {apiGroups: [switchboard.dev], resources: [console], verbs: [get]}
- {apiGroups: [managed-gitops.redhat.com], resources: [gitopsdeploymentsyncruns], verbs: [create]}
- {apiGroups: [managed-gitops.redhat.com], resources: [gitopsengineinstances], verbs: [move]}
EOF
kubectl create clusterrolebinding me --clusterrole=act --serviceaccount=default:me
kubectl create token me
";

/// Renders the sign-in page; `back` is the path to return to.
pub fn sign_in(wrong: Option<&str>, back: &str) -> Markup {
    html! {
        div.head { div { h1 { "Sign in" } p.soft { "On this machine, reading needs no token; actions do. Sign in with a Kubernetes token; your permissions are those of its user in the cluster." } } }
        @if let Some(wrong) = wrong { p.said.wrong role="alert" { (wrong) } }
        section.panel aria-label="Token" {
            div.body {
                form.row method="post" action="/signin" autocomplete="off" {
                    input type="hidden" name="back" value=(back);
                    label.grow { "Token" input type="password" name="token" required autocomplete="off" spellcheck="false"; }
                    button.main-act type="submit" { "Sign in" }
                }
            }
        }
        section.panel aria-label="How to get a token" {
            header { h2 { "How to get a token" } }
            pre.code tabindex="0" role="group" aria-label="Commands" { code { (TOKEN_COMMANDS) } }
            p.empty.small { "For the permission of each action and the audit log, see " a href="/help/console" { "About this console" } "." }
        }
    }
}
