//! Page of search results.

use maud::{Markup, html};

use crate::components::{count, panel};
use crate::load::search::SearchResults;

/// Renders search results.
pub fn search(found: &SearchResults) -> Markup {
    html! {
        div.head { div { h1 { "Search" } p.soft { @if found.text.is_empty() { "Type a part of a name, a kind, a namespace, or the number of a decision." } @else { "For “" (found.text) "”" } } } }
        @if !found.text.is_empty() {
            (panel("found", &count(found.hits.len(), "result"), &html! { @if found.more { span.faint { "there are more: say more of the name" } } }, &html! {
                @if found.hits.is_empty() { p.empty { "Nothing that is watched has such a name. " a href="/objects" { "Browse by kind" } " to see the rest of a cluster." } }
                @else { div.scroll { table {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "What" } th scope="col" { "Cluster" } } }
                    tbody { @for hit in &found.hits { tr { td { a href=(hit.href) { strong { (hit.name) } } } td.mono { (hit.what) } td.soft { (hit.cluster) } } } }
                } } }
            }))
        }
    }
}
