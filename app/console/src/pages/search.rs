//! Page of search results.

use maud::{Markup, html};

use crate::components::{count, panel};
use crate::load::search::{SearchHit, SearchResults};
use crate::table::{Column, SortKey, TableQuery, TableRow, table_head};

/// Name of the table of results in the parameter `sort`.
const RESULTS: &str = "results";

impl TableRow for &SearchHit {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        Some(match column {
            "name" => SortKey::text(&self.name),
            "type" => SortKey::text(&self.kind),
            "cluster" => SortKey::text(&self.cluster),
            _ => return None,
        })
    }

    /// Results match the text of the search already.
    fn filter_text(&self) -> String {
        String::new()
    }
}

/// Renders search results. The text of the search is the filter, so `query` has none of its own.
pub fn search(found: &SearchResults, query: &TableQuery) -> Markup {
    let mut hits: Vec<&SearchHit> = found.hits.iter().collect();
    query.arrange(RESULTS, &mut hits);
    let columns = [Column::text("name", "Name"), Column::text("type", "Type"), Column::text("cluster", "Cluster")];
    html! {
        div.head { div { h1 { "Search" } p.soft { @if found.text.is_empty() { "Enter a part of a name, kind or namespace, or the number of a decision." } @else { "For “" (found.text) "”" } } } }
        @if !found.text.is_empty() {
            (panel("found", &count(found.hits.len(), "result"), &html! { @if found.more { span.faint { "more results exist: narrow the search" } } }, &html! {
                @if found.hits.is_empty() { p.empty { "No watched object matches. " a href="/objects" { "Browse by kind" } " to see other objects." } }
                @else { div.scroll { table {
                    (table_head(query, RESULTS, &columns))
                    tbody { @for hit in hits { tr { td { a href=(hit.href) { strong { (hit.name) } } } td.mono { (hit.kind) } td.soft { (hit.cluster) } } } }
                } } }
            }))
        }
    }
}
