//! Page of search results.

use maud::{Markup, html};

use crate::components::{count, panel};
use crate::load::search::SearchResults;

/// Renders search results.
pub fn search(found: &SearchResults) -> Markup {
    html! {
        div.head { div { h1 { "Search" } p.soft { @if found.text.is_empty() { "Enter a part of a name, kind or namespace, or the number of a decision." } @else { "For “" (found.text) "”" } } } }
        @if !found.text.is_empty() {
            (panel("found", &count(found.hits.len(), "result"), &html! { @if found.more { span.faint { "more results exist: narrow the search" } } }, &html! {
                @if found.hits.is_empty() { p.empty { "No watched object matches. " a href="/objects" { "Browse by kind" } " to see other objects." } }
                @else { div.scroll { table {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "Type" } th scope="col" { "Cluster" } } }
                    tbody { @for hit in &found.hits { tr { td { a href=(hit.href) { strong { (hit.name) } } } td.mono { (hit.kind) } td.soft { (hit.cluster) } } } }
                } } }
            }))
        }
    }
}
