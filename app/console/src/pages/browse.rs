//! Pages of the kinds of a cluster and the objects of a kind.

use maud::{Markup, html};

use crate::components::{pager, panel, percent_encode};
use crate::load::browse::{KindRow, KindsPage, MAX_ARRANGED, OBJECTS, ObjectRow, ObjectsPage, PAGE};
use crate::table::{Column, SortKey, TableQuery, TableRow, filter_form, table_head};

/// Name of the table of kinds in the parameter `sort`.
const KINDS: &str = "kinds";

/// Renders the kinds of a cluster.
pub fn kinds(view: &KindsPage, query: &TableQuery) -> Markup {
    let mut rows: Vec<&KindRow> = view.kinds.iter().collect();
    query.arrange(KINDS, &mut rows);
    let columns = [
        Column::text("kind", "Kind"),
        Column::text("name", "Resource"),
        Column::text("scope", "Scope"),
        Column::number("cached", "Cached objects"),
    ];
    let cluster = html! {
        label { "Cluster" select name="cluster" { @for name in &view.clusters { option value=(name) selected[*name == view.cluster] { (name) } } } }
    };
    html! {
        div.head { div { h1 { "Objects" } p.soft { "Kinds that the cluster serves. Kinds in bold are watched by an operator." } } }
        (filter_form(query, "deployment", &["cluster"], &cluster))
        (panel("kinds", "Kinds", &html! { span.faint { (rows.len()) } }, &html! {
            @if rows.is_empty() { p.empty { "No kind matches the filter." } } @else {
                div.scroll { table { (table_head(query, KINDS, &columns)) tbody { @for kind in rows { (kind_row(kind, &view.cluster)) } } } }
            }
        }))
    }
}

fn kind_row(kind: &KindRow, cluster: &str) -> Markup {
    html! {
        tr {
            td { a href={ "/objects?cluster=" (percent_encode(cluster)) "&kind=" (percent_encode(&kind.name)) } { @if kind.cached.is_some() { strong { (kind.kind) } } @else { (kind.kind) } } }
            td.mono { (kind.name) }
            td.soft { (kind.scope()) }
            td.num { @match kind.cached { Some(cached) => (cached), None => span.faint { "–" } } }
        }
    }
}

impl KindRow {
    fn scope(&self) -> &'static str {
        if self.namespaced { "namespaced" } else { "cluster" }
    }
}

impl TableRow for &KindRow {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        Some(match column {
            "kind" => SortKey::text(&self.kind),
            "name" => SortKey::text(&self.name),
            "scope" => SortKey::text(self.scope()),
            // Kinds that are not watched come after empty ones.
            "cached" => SortKey::count(self.cached.map_or(0, |cached| cached + 1)),
            _ => return None,
        })
    }

    fn filter_text(&self) -> String {
        format!("{} {} {}", self.kind, self.name, self.scope())
    }
}

/// Renders the objects of a kind.
pub fn listing(view: &ObjectsPage, query: &TableQuery) -> Markup {
    let base = format!("/objects?cluster={}&kind={}", percent_encode(&view.cluster), percent_encode(&view.kind));
    let namespace = html! { label { "Namespace" input name="namespace" value=(view.namespace) placeholder="all" autocomplete="off"; } };
    let columns = view.columns.iter().enumerate().map(|(at, title)| Column::text(format!("column{at}"), title.clone()));
    let columns: Vec<Column> =
        [Column::text("namespace", "Namespace"), Column::text("name", "Name")].into_iter().chain(columns).collect();
    html! {
        div.head { div {
            p.crumbs { a href={ "/objects?cluster=" (percent_encode(&view.cluster)) } { (view.cluster) } @if !view.namespace.is_empty() { " / " (view.namespace) } }
            h1 { (view.kind) }
        } }
        (filter_form(query, "web", &["namespace"], &namespace))
        (panel("objects", "Objects", &html! { span.faint { (object_count(view)) } }, &html! {
            @if view.rows.is_empty() { p.empty { @if query.filter().is_empty() { "No objects." } @else { "No object matches the filter." } } } @else {
                div.scroll { table { (table_head(query, OBJECTS, &columns)) tbody { @for row in &view.rows { (object_row(row, &base)) } } } }
            }
            @if view.incomplete { p.empty.small { "Only the first " (MAX_ARRANGED) " objects are sorted and filtered. Select a namespace to narrow the list." } }
            @if !view.next.is_empty() { nav.pager aria-label="Pages" { a rel="next" href=(query.href(&[("from", &view.next)])) { "Next page →" } } }
            (pager(&query.href(&[]), view.page, PAGE, view.total))
        }))
    }
}

fn object_count(view: &ObjectsPage) -> String {
    let shown = view.rows.len();
    match view.remaining {
        0 if view.total > shown => format!("{shown} of {}", view.total),
        0 => shown.to_string(),
        remaining => format!("{shown} of {} remaining", shown as u64 + remaining),
    }
}

fn object_row(row: &ObjectRow, base: &str) -> Markup {
    html! {
        tr {
            td.soft { @if row.namespace.is_empty() { "–" } @else { a href={ (base) "&namespace=" (percent_encode(&row.namespace)) } { (row.namespace) } } }
            td { a href=(row.href) { strong { (row.name) } } }
            @for cell in &row.cells { td.reason { (cell) } }
        }
    }
}
