//! Page of all operators, clusters and findings.

use maud::{Markup, html};
use switchboard_gitops::state::root_cause;
use switchboard_kernel::explain::{bytes, format_duration, micros};
use switchboard_kernel::state::Health;
use switchboard_kernel::timestamp::Timestamp;

use crate::components::{ago, count, operator_href, panel, paused, state_badge, with_code_spans};
use crate::draw::spark::spark;
use crate::load::overview::{ClusterRow, FindingKind, OperatorRow, Overview, SPAN_MS};
use crate::table::{Column, SortKey, TableQuery, TableRow, filter_form, table_head};

/// Renders the overview.
pub fn overview(view: &Overview, query: &TableQuery) -> Markup {
    html! {
        div.head { div { h1 { "Overview" } } }
        (figures(view))
        @if !view.findings.is_empty() { (findings(view)) }
        @if !view.operators.is_empty() { (filter_form(query, "greeter", &[], &html! {})) }
        (operators(view, query))
        (clusters(view, query))
    }
}

fn figures(view: &Overview) -> Markup {
    let total = |of: fn(&crate::load::overview::OperatorRow) -> u64| view.operators.iter().map(of).sum::<u64>();
    let worst = view.operators.iter().map(|row| row.state).max().unwrap_or_default();
    let troubled = view.operators.iter().filter(|row| row.state >= Health::Blocked).count();
    let objects: usize = view.clusters.iter().map(|cluster| cluster.objects).sum();
    let cached: u64 = view.clusters.iter().map(|cluster| cluster.bytes).sum();
    let decided: u32 = view.decisions.iter().map(|(all, _)| all).sum();
    let minutes = view.decisions.len() as u64 * SPAN_MS / 60_000;
    html! {
        dl.figures id="figures" data-live {
            div { dt { "Overall" } dd { (state_badge(worst)) } dd { small { @if troubled == 0 { "No action needed" } @else { (count(troubled, "operator")) " blocked or failing" } } } }
            div { dt { "Operators" } dd { (view.operators.len()) } dd { small { (count(view.operators.iter().map(|row| row.units).sum(), "unit")) } } }
            div { dt { "Runs" } dd { (total(|row| row.runs)) } dd { small { (total(|row| row.failures)) " failed" } } }
            div { dt { "Writes" } dd { (total(|row| row.writes)) } dd { small { "in " (format_duration(view.now.since(view.started_at))) } } }
            div { dt { "Cache" } dd { (bytes(cached)) } dd { small { (count(objects, "object")) } } }
            div.wide {
                dt { "Decisions, last " (minutes) " minutes" }
                dd { (spark(&view.decisions, &format!("{decided} decisions in the last {minutes} minutes"))) }
            }
        }
        @if view.unrecorded > 0 {
            p.note.bad id="unrecorded" data-live { (view.unrecorded) " decisions could not be recorded: histories are incomplete." }
        }
    }
}

fn findings(view: &Overview) -> Markup {
    let body = html! {
        ul.line {
            @for finding in &view.findings {
                li {
                    span.when { (ago(view.now, finding.at)) }
                    div {
                        div.title { span.tag.hot { @match finding.kind { FindingKind::FieldConflict => "field conflict", FindingKind::HotLoop => "hot loop" } } a href=(finding.href) { "Object" } }
                        p.cause { (finding.message) }
                    }
                }
            }
        }
    };
    panel("findings", "Conflicts and hot loops", &html! { span.faint { (view.findings.len()) } }, &body)
}

/// Shortens a reason to its unit and root cause.
fn brief(reason: &str) -> String {
    let (root, unit_part) = (root_cause(reason), reason.split_once(": ").map_or("", |(unit, _)| unit));
    if root.len() < reason.len() && !unit_part.contains(' ') {
        format!("{unit_part}: {root}")
    } else {
        root.to_string()
    }
}

/// Name of the table of operators in the parameter `sort`.
const OPERATORS: &str = "operators";

fn operators(view: &Overview, query: &TableQuery) -> Markup {
    let mut rows: Vec<&OperatorRow> = view.operators.iter().collect();
    query.arrange(OPERATORS, &mut rows);
    let columns = [
        Column::text("name", "Operator"),
        Column::descending("state", "State"),
        Column::text("reason", "Reason"),
        Column::number("units", "Units"),
        Column::number("runs", "Runs"),
        Column::number("failed", "Failed"),
        Column::number("p50", "p50"),
        Column::number("p99", "p99"),
        Column::number("writes", "Writes"),
        Column::number("cache", "Cache"),
    ];
    let body = html! {
        @if view.operators.is_empty() {
            p.empty { "No operators. Add some under " code { "operators" } " in switchboard.yaml: see " a href="/help/configuration" { "Configuration" } "." }
        } @else if rows.is_empty() {
            p.empty { "No operator matches the filter." }
        } @else {
            div.scroll { table.stacked { (table_head(query, OPERATORS, &columns)) tbody { @for row in rows { (operator(row, view.now)) } } } }
        }
    };
    panel("operators", "Operators", &html! { a href="/decisions" { "All decisions" } }, &body)
}

fn operator(row: &OperatorRow, now: Timestamp) -> Markup {
    html! {
        tr {
            td { a href=(operator_href(&row.name)) { strong { (row.name) } } @if let Some(pause) = &row.paused { br; (paused(pause, now)) } }
            td { (state_badge(row.state)) }
            td.reason { @if row.reason.is_empty() { span.faint { "–" } } @else { div.clamp title=(row.reason) { (with_code_spans(&brief(&row.reason))) } } }
            td.num data-label="Units" { @if row.units_waiting > 0 { span.faint { (row.units_waiting) " of " } } (row.units) }
            td.num data-label="Runs" { (row.runs) }
            td.num data-label="Failed" { (row.failures) }
            td.num data-label="p50" { (micros(row.decide_p50_us)) }
            td.num data-label="p99" { (micros(row.decide_p99_us)) }
            td.num data-label="Writes" { (row.writes) }
            td.num data-label="Cache" { (bytes(row.cache_share_bytes)) }
        }
    }
}

impl TableRow for &OperatorRow {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        Some(match column {
            "name" => SortKey::text(&self.name),
            "state" => SortKey::state(self.state),
            "reason" => SortKey::text(&self.reason),
            "units" => SortKey::count(self.units),
            "runs" => SortKey::Number(self.runs),
            "failed" => SortKey::Number(self.failures),
            "p50" => SortKey::Number(self.decide_p50_us),
            "p99" => SortKey::Number(self.decide_p99_us),
            "writes" => SortKey::Number(self.writes),
            "cache" => SortKey::Number(self.cache_share_bytes),
            _ => return None,
        })
    }

    fn filter_text(&self) -> String {
        let paused = if self.paused.is_some() { "paused" } else { "" };
        format!("{} {} {} {paused}", self.name, self.state, self.reason)
    }
}

/// Name of the table of clusters in the parameter `sort`.
const CLUSTERS: &str = "clusters";

impl TableRow for &ClusterRow {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        Some(match column {
            "name" => SortKey::text(&self.name),
            "state" => SortKey::state(state(self)),
            "kinds" => SortKey::count(self.kinds),
            "objects" => SortKey::count(self.objects),
            "bytes" => SortKey::Number(self.bytes),
            "unavailable" => SortKey::count(self.lost.len() + self.pending.len()),
            _ => return None,
        })
    }

    fn filter_text(&self) -> String {
        format!("{} {} {} {}", self.name, state(self), self.lost.join(" "), self.pending.join(" "))
    }
}

fn clusters(view: &Overview, query: &TableQuery) -> Markup {
    let mut rows: Vec<&ClusterRow> = view.clusters.iter().collect();
    query.arrange(CLUSTERS, &mut rows);
    let columns = [
        Column::text("name", "Cluster"),
        Column::descending("state", "State"),
        Column::number("kinds", "Kinds"),
        Column::number("objects", "Objects"),
        Column::number("bytes", "Bytes"),
        Column::descending("unavailable", "Unavailable kinds"),
    ];
    let body = html! {
        @if rows.is_empty() { p.empty { @if view.clusters.is_empty() { "No clusters." } @else { "No cluster matches the filter." } } }
        @else { div.scroll {
            table.stacked {
                (table_head(query, CLUSTERS, &columns))
                tbody {
                    @for cluster in rows {
                        tr {
                            td { a href={ "/objects?cluster=" (crate::components::percent_encode(&cluster.name)) } { strong { (cluster.name) } } }
                            td { (state_badge(state(cluster))) }
                            td.num data-label="Kinds" { (cluster.kinds) }
                            td.num data-label="Objects" { (cluster.objects) }
                            td.num data-label="Bytes" { (bytes(cluster.bytes)) }
                            td.reason {
                                @if cluster.lost.is_empty() && cluster.pending.is_empty() { span.faint { "–" } }
                                @for line in cluster.lost.iter().chain(&cluster.pending) { div.clamp title=(line) { (line) } }
                            }
                        }
                    }
                }
            }
        } }
    };
    panel("clusters", "Clusters", &html! {}, &body)
}

fn state(cluster: &ClusterRow) -> Health {
    match cluster {
        ClusterRow { lost, .. } if !lost.is_empty() => Health::Failing,
        ClusterRow { pending, .. } if !pending.is_empty() => Health::Working,
        _ => Health::Ready,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_keeps_its_unit_and_its_cause() {
        assert_eq!(brief("argocd/mail: rpc error: code = Unknown desc = no answer"), "argocd/mail: no answer");
        assert_eq!(brief("rpc error: code = Unknown desc = no answer"), "no answer");
        assert_eq!(brief("shop/web: it waits"), "shop/web: it waits");
    }
}
