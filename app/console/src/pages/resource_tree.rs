//! Resource tree of an object, as a nested list.

use maud::{Markup, html};
use switchboard_kernel::state::Health;

use crate::components::{badge, count};
use crate::load::resource_tree::TreeNode;

/// Renders a tree.
pub fn resource_tree(root: &TreeNode) -> Markup {
    html! {
        div.body {
            ul.tree { (node(root, true)) }
            @if root.children.is_empty() { p.soft.small { "No known object is deployed or owned by it." } }
        }
    }
}

/// Renders a node and, below it, its children. The depth is limited by the loader.
fn node(one: &TreeNode, is_root: bool) -> Markup {
    html! {
        li {
            @if is_root || one.href.is_empty() { span.mono { (one.name) } } @else { a.mono href=(one.href) { (one.name) } }
            @if let Some(health) = one.health { " " (badge(state(health), health)) }
            @if !one.message.is_empty() { " " span.soft.small { (one.message) } }
            @if !one.children.is_empty() || one.omitted > 0 {
                ul {
                    @for child in &one.children { (node(child, false)) }
                    @if one.omitted > 0 { li.faint { "and " (count(one.omitted, "more object")) } }
                }
            }
        }
    }
}

/// Returns the state with the color and icon of a health of Argo CD.
fn state(health: &str) -> Health {
    match health {
        "Healthy" => Health::Ready,
        "Progressing" => Health::Working,
        "Suspended" => Health::Waiting,
        "Unknown" => Health::Blocked,
        _ => Health::Failing,
    }
}
