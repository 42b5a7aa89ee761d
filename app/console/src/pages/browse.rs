//! Pages of the kinds of a cluster and the objects of a kind.

use maud::{Markup, html};

use crate::components::{panel, percent_encode};
use crate::load::browse::{KindsPage, ObjectsPage};

/// Renders the kinds of a cluster.
pub fn kinds(view: &KindsPage) -> Markup {
    html! {
        div.head { div { h1 { "Objects" } p.soft { "Kinds that the cluster serves. Kinds in bold are watched by an operator." } } }
        form.row action="/objects" {
            label { "Cluster" select name="cluster" { @for name in &view.clusters { option value=(name) selected[*name == view.cluster] { (name) } } } }
            label { "Kind" input name="kind" list="kinds" placeholder="configmaps" autocomplete="off"; }
            datalist id="kinds" { @for kind in &view.kinds { option value=(kind.name) {} } }
            label { "Namespace" input name="namespace" placeholder="all" autocomplete="off"; }
            button type="submit" { "List" }
        }
        (panel("kinds", "Kinds", &html! { span.faint { (view.kinds.len()) } }, &html! {
            div.scroll { table {
                thead { tr { th scope="col" { "Kind" } th scope="col" { "Served as" } th scope="col" { "Scope" } th.num scope="col" { "Cached" } } }
                tbody { @for kind in &view.kinds { tr {
                    td { a href={ "/objects?cluster=" (percent_encode(&view.cluster)) "&kind=" (percent_encode(&kind.name)) } { @if kind.cached.is_some() { strong { (kind.kind) } } @else { (kind.kind) } } }
                    td.mono { (kind.name) }
                    td.soft { @if kind.namespaced { "namespaced" } @else { "cluster" } }
                    td.num { @match kind.cached { Some(cached) => (cached), None => span.faint { "–" } } }
                } } }
            } }
        }))
    }
}

/// Renders the objects of a kind.
pub fn listing(view: &ObjectsPage) -> Markup {
    let base = format!("/objects?cluster={}&kind={}", percent_encode(&view.cluster), percent_encode(&view.kind));
    html! {
        div.head { div {
            p.crumbs { a href={ "/objects?cluster=" (percent_encode(&view.cluster)) } { (view.cluster) } @if !view.namespace.is_empty() { " / " (view.namespace) } }
            h1 { (view.kind) }
        } }
        form.row action="/objects" {
            input type="hidden" name="cluster" value=(view.cluster);
            input type="hidden" name="kind" value=(view.kind);
            label { "Namespace" input name="namespace" value=(view.namespace) placeholder="all" autocomplete="off"; }
            button type="submit" { "List" }
        }
        (panel("objects", "Objects", &html! { span.faint { (view.rows.len()) @if view.remaining > 0 { " of " (view.rows.len() as u64 + view.remaining) " remaining" } } }, &html! {
            @if view.rows.is_empty() { p.empty { "No objects." } } @else {
                div.scroll { table {
                    thead { tr { th scope="col" { "Namespace" } th scope="col" { "Name" } @for column in &view.columns { th scope="col" { (column) } } } }
                    tbody { @for row in &view.rows { tr {
                        td.soft { @if row.namespace.is_empty() { "–" } @else { a href={ (base) "&namespace=" (percent_encode(&row.namespace)) } { (row.namespace) } } }
                        td { a href=(row.href) { strong { (row.name) } } }
                        @for cell in &row.cells { td.reason { (cell) } }
                    } } }
                } }
            }
            @if !view.next.is_empty() { nav.pager aria-label="Pages" { a rel="next" href={ (base) "&namespace=" (percent_encode(&view.namespace)) "&from=" (percent_encode(&view.next)) } { "Next page →" } } }
        }))
    }
}
