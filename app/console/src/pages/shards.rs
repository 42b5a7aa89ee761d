//! Page of integrations by environment and shard.

use maud::{Markup, html};

use crate::components::{count, pager, panel};
use crate::load::shards::{PAGE, ShardCell, ShardsPage, TABLE};
use crate::table::{Column, TableQuery, filter_form, table_head};

/// Renders the matrix.
pub fn shards(view: &ShardsPage, query: &TableQuery) -> Markup {
    let different = html! {
        label { "Shards" select name="different" { option value="" { "all" } option value="1" selected[view.only_different] { "with overrides" } } }
    };
    html! {
        div.head { div { h1 { "Shards" } p.soft { "Integrations by environment, with the cluster, image and overrides of each shard." } } }
        @if !view.hosted {
            section.panel id="none" data-live aria-label="No integrations" { p.empty { "No integrations are managed here. Set a source under " code { "integrations" } " in switchboard.yaml: see " a href="/help/integrations" { "Integrations" } "." } }
        } @else {
            (filter_form(query, "terraform", &["different"], &different))
            p.soft.small { (count(view.different, "shard")) " with overrides · bundle " code { (format!("{:.12}", view.bundle)) } }
            @if !view.problems.is_empty() { div.stack id="problems" data-live { @for problem in view.problems.iter().take(5) { p.note.bad { (problem) } } } }
            (panel("matrix", &count(view.total, "integration"), &html! {}, &matrix(view, query)))
            (pager(&query.href(&[]), view.page, PAGE, view.total))
        }
    }
}

fn matrix(view: &ShardsPage, query: &TableQuery) -> Markup {
    let environments = view.environments.iter().enumerate();
    let environments = environments.map(|(at, name)| Column::text(format!("environment{at}"), name.clone()));
    let columns: Vec<Column> = std::iter::once(Column::text("name", "Integration")).chain(environments).collect();
    html! {
        @if view.integrations.is_empty() { p.empty { "No integrations." } } @else {
            div.scroll tabindex="0" role="group" aria-label="Matrix of shards" {
                table.matrix {
                    (table_head(query, TABLE, &columns))
                    tbody { @for one in &view.integrations { tr { th scope="row" { (one.name) } @for cell in &one.cells { td { (shard_cell(cell)) } } } } }
                }
            }
        }
    }
}

fn shard_cell(cell: &ShardCell) -> Markup {
    html! {
        div.cell {
            @if cell.shards.is_empty() { span.faint { "–" } }
            @for shard in &cell.shards {
                div.shard {
                    a href=(shard.href) { @if shard.name.is_empty() { (shard.cluster) } @else if shard.name.bytes().all(|byte| byte.is_ascii_digit()) { "shard " (shard.name) } @else { (shard.name) } }
                    span.image title=(shard.image) { (tail(&shard.image)) }
                    @if !shard.differs.is_empty() { span.differs { @for one in &shard.differs { span.tag.hot { (one) } " " } } }
                }
            }
            @if cell.omitted > 0 { span.faint { "and " (cell.omitted) " more" } }
        }
    }
}

/// Returns the last part of an image's name with a short digest.
fn tail(image: &str) -> String {
    let name = image.rsplit('/').next().unwrap_or(image);
    match name.split_once("@sha256:") {
        Some((name, digest)) => format!("{name}@{digest:.12}"),
        None => name.to_string(),
    }
}
