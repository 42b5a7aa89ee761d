//! What a reader may do: buttons for who signed in, the command for everybody.

use maud::{Markup, html};

use crate::access::Visitor;
use crate::action::{Act, move_command};
use crate::entrance;
use crate::flags::Flags;
use crate::fleet::Unit;
use crate::load::overview::OperatorRow;
use crate::load::units::called;

/// What can be done with an operator.
pub fn of_operator(row: &OperatorRow, unit: Option<&str>, flags: &Flags, visitor: Option<&Visitor>) -> Markup {
    let name = row.name.clone();
    let pause = if row.paused { (Act::Resume(name.clone()), "Resume") } else { (Act::Pause(name.clone()), "Pause") };
    let wake = match unit {
        Some(unit) => (Act::Wake(name.clone(), Some(unit.to_string())), "Run this unit now"),
        None => (Act::Wake(name.clone(), None), "Run all units now"),
    };
    html! {
        div.acts id="acts" data-live {
            @for (act, label) in [pause, wake] {
                @let fields = [("operator", Some(name.as_str())), ("unit", unit.filter(|_| act.word() == "wake"))];
                (button(&act, label, &fields, flags, visitor))
            }
        }
    }
}

/// What can be done with a deployment.
pub fn of_deployment(namespace: &str, name: &str, flags: &Flags, visitor: Option<&Visitor>) -> Markup {
    let act = Act::Sync { namespace: namespace.to_string(), name: name.to_string() };
    button(&act, "Sync", &[("namespace", Some(namespace)), ("name", Some(name))], flags, visitor)
}

/// What can be done with a unit: it moves to one of those instances.
pub fn of_unit(unit: &Unit, targets: &[&str], flags: &Flags, visitor: Option<&Visitor>) -> Markup {
    let (command, id) = (move_command(&unit.name, flags), format!("to-{}", called(&unit.name)));
    let Some(first) = targets.first().filter(|_| !unit.moving) else { return html! {} };
    html! {
        form.act method="post" action="/actions/move" {
            @if let Some(visitor) = visitor { input type="hidden" name="seal" value=(visitor.seal); }
            input type="hidden" name="tenant" value=(unit.name.tenant);
            @if let Some(environment) = &unit.name.environment { input type="hidden" name="environment" value=(environment); }
            span.choice {
                select id=(id) name="to" aria-label={ "Where to move " (called(&unit.name)) } data-choice {
                    @for target in targets { option value=(target) { (target) } }
                }
                @if visitor.is_some() { button type="submit" { "Move" } } @else { a.button href=(entrance::href("/fleet")) { "Move" } }
            }
            code { (command) " " span data-chosen { (first) } }
        }
    }
}

fn button(act: &Act, label: &str, fields: &[(&str, Option<&str>)], flags: &Flags, visitor: Option<&Visitor>) -> Markup {
    let command = act.command(flags);
    html! {
        form.act method="post" action={ "/actions/" (act.word()) } {
            @if let Some(visitor) = visitor { input type="hidden" name="seal" value=(visitor.seal); }
            @for (name, value) in fields { @if let Some(value) = value { input type="hidden" name=(name) value=(value); } }
            @if visitor.is_some() { button type="submit" title=(command) { (label) } }
            @else { a.button href=(entrance::href(&act.page())) title=(command) { (label) } }
            code { (command) }
        }
    }
}

/// The page to sign in on; `back` is where to go then.
pub fn sign_in(wrong: Option<&str>, back: &str) -> Markup {
    html! {
        div.head { div { h1 { "Sign in" } p.soft { "Reading needs no token on this machine; whatever changes something does. A token of Kubernetes says who you are, and the rights you have there are the rights you have here." } } }
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
            header { h2 { "How to get one" } }
            pre.code tabindex="0" role="group" aria-label="Commands" { code {
                "kubectl create serviceaccount me\n"
                "kubectl apply -f - <<'EOF'\n"
                "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: act},\n"
                " rules: [{apiGroups: [switchboard.dev], resources: [operators], verbs: [pause, wake]},\n"
                "         {apiGroups: [managed-gitops.redhat.com], resources: [gitopsdeploymentsyncruns], verbs: [create]},\n"
                "         {apiGroups: [managed-gitops.redhat.com], resources: [gitopsengineinstances], verbs: [move]}]}\n"
                "EOF\n"
                "kubectl create clusterrolebinding me --clusterrole=act --serviceaccount=default:me\n"
                "kubectl create token me\n"
            } }
            p.empty.small { "The right for each button, and what is written down of its use: " a href="/help/CONSOLE" { "about this console" } "." }
        }
    }
}
