//! Objects of a cluster by kind, as kubectl lists them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::redact::REDACTED;
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::topology::ClusterName;

use crate::components::{object_href, percent_encode};
use crate::problem::ConsoleProblem;
use crate::redact::PageRedactor;
use crate::source::ConsoleSource;
use crate::table::{SortKey, TableQuery, TableRow};

/// Number of objects on a page.
pub const PAGE: usize = 100;
/// Maximum number of objects that are sorted and filtered.
pub const MAX_ARRANGED: usize = 2_000;
/// Name of the table of objects in the parameter `sort`.
pub const OBJECTS: &str = "objects";
/// Maximum number of columns besides the name.
const MAX_COLUMNS: usize = 6;
/// Minimum length of a redacted value that is searched within a cell; a shorter value is redacted only if it is the
/// whole cell.
const MIN_PART: usize = 4;

/// Kind of a cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindRow {
    /// Resource name, such as `deployments.apps`.
    pub name: String,
    /// Kind, such as `Deployment`.
    pub kind: String,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// Number of cached objects; `None` if no operator watches the kind.
    pub cached: Option<usize>,
}

/// Clusters, and the kinds of one cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindsPage {
    /// Names of all clusters.
    pub clusters: Vec<String>,
    /// Selected cluster.
    pub cluster: String,
    /// Kinds of the selected cluster.
    pub kinds: Vec<KindRow>,
}

/// Page of objects.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectsPage {
    /// Cluster of the objects.
    pub cluster: String,
    /// Kind of the objects.
    pub kind: String,
    /// Namespace of the objects; empty for all namespaces.
    pub namespace: String,
    /// Titles of the columns after the name.
    pub columns: Vec<String>,
    /// Objects of the page.
    pub rows: Vec<ObjectRow>,
    /// Continue token of the next page; empty on the last page.
    pub next: String,
    /// Number of further objects, as reported by the cluster.
    pub remaining: u64,
    /// Number of the page of a sorted or filtered list, from 1.
    #[serde(skip)]
    pub page: usize,
    /// Number of objects of a sorted or filtered list; 0 for other lists.
    #[serde(skip)]
    pub total: usize,
    /// Whether the cluster has more objects than are sorted and filtered.
    #[serde(skip)]
    pub incomplete: bool,
}

/// Object in a list.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRow {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Link to the object's page.
    pub href: String,
    /// Cells of the columns.
    pub cells: Vec<String>,
}

/// Loads the kinds of a cluster; the first cluster is the default.
pub async fn kinds(source: &ConsoleSource, cluster: Option<&str>) -> Result<KindsPage, ConsoleProblem> {
    let clusters: Vec<String> = source.clusters().await?.into_keys().map(|name| name.to_string()).collect();
    let cluster = cluster.map(str::to_string).or_else(|| clusters.first().cloned());
    let cluster = cluster.ok_or_else(|| ConsoleProblem::NotFound("no cluster is configured".to_string()))?;
    let state = source.state().await?;
    let served = source.kinds(&cluster).await?;
    let cached = |kind: &Resource| {
        let of = |table: &&switchboard_kernel::state::TableState| {
            *table.table.cluster.0 == *cluster && *table.table.resource == *kind
        };
        state.tables.iter().find(of).map(|table| table.objects)
    };
    let kinds = served.iter().map(|kind| KindRow {
        name: kind.to_string(),
        kind: kind.kind.to_string(),
        namespaced: kind.namespaced,
        cached: cached(kind),
    });
    Ok(KindsPage { kinds: kinds.collect(), clusters, cluster })
}

impl TableRow for ObjectRow {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        match column {
            "namespace" => Some(SortKey::text(&self.namespace)),
            "name" => Some(SortKey::text(&self.name)),
            _ => {
                let at: usize = column.strip_prefix("column")?.parse().ok()?;
                self.cells.get(at).map(|cell| SortKey::printed(cell))
            }
        }
    }

    fn filter_text(&self) -> String {
        format!("{} {} {}", self.namespace, self.name, self.cells.join(" "))
    }
}

/// Kind and namespace of a list.
#[derive(Clone, Copy, Debug)]
pub struct ListScope<'a> {
    /// Cluster of the objects.
    pub cluster: &'a str,
    /// Kind as resource name, such as `deployments.apps`.
    pub kind: &'a str,
    /// Namespace; empty for all.
    pub namespace: &'a str,
}

/// Loads a page of objects. A sorted or filtered list is read as a whole, within a bound; other lists are read page by
/// page, with the continue token `from`.
pub async fn list(
    source: &ConsoleSource,
    scope: ListScope<'_>,
    query: &TableQuery,
    from: &str,
    page: usize,
) -> Result<ObjectsPage, ConsoleProblem> {
    let resource = source.kind(scope.cluster, scope.kind).await?;
    if !query.changes(OBJECTS) {
        return chunk(source, scope, &resource, from).await;
    }
    let mut view = chunk(source, scope, &resource, "").await?;
    while !view.next.is_empty() && view.rows.len() < MAX_ARRANGED {
        let more = chunk(source, scope, &resource, &view.next).await?;
        view.rows.extend(more.rows);
        view.next = more.next;
    }
    view.incomplete = !view.next.is_empty();
    query.arrange(OBJECTS, &mut view.rows);
    let (total, page) = (view.rows.len(), page.max(1));
    let rows = view.rows.into_iter().skip((page - 1).saturating_mul(PAGE)).take(PAGE).collect();
    Ok(ObjectsPage { rows, next: String::new(), remaining: 0, page, total, ..view })
}

/// Reads one page of a list.
async fn chunk(
    source: &ConsoleSource,
    scope: ListScope<'_>,
    resource: &Resource,
    from: &str,
) -> Result<ObjectsPage, ConsoleProblem> {
    let from_query = if from.is_empty() { String::new() } else { format!("&continue={}", percent_encode(from)) };
    // The whole objects are needed for redaction: a column may print a secret field under any title.
    let query = format!("limit={PAGE}&includeObject=Object{from_query}");
    let table = source.table(scope.cluster, resource, &query, scope.namespace).await?;
    let redactor = source.redactor().await?;
    Ok(listing(scope.cluster, resource, scope.namespace, &table, &redactor))
}

fn listing(cluster: &str, resource: &Resource, namespace: &str, table: &Value, redactor: &PageRedactor) -> ObjectsPage {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let columns: Vec<(usize, String)> = table["columnDefinitions"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, column)| column["priority"].as_i64().unwrap_or(0) == 0 && column["name"] != "Name")
        .map(|(at, column)| (at, text(&column["name"])))
        .take(MAX_COLUMNS)
        .collect();
    let of = TableKey { cluster: ClusterName::new(cluster), resource: Arc::new(resource.clone()) };
    let rows = table["rows"].as_array().or(table["items"].as_array()).into_iter().flatten().map(|row| {
        let metadata = row.pointer("/object/metadata").unwrap_or(&row["metadata"]);
        let named = |field: &str| metadata[field].as_str().unwrap_or_default().to_string();
        let (namespace, name) = (named("namespace"), named("name"));
        let key = ObjectKey { table: of.clone(), namespace: namespace.as_str().into(), name: name.as_str().into() };
        let hidden = redactor.redacted_texts(row.get("object").unwrap_or(row));
        let cells =
            columns.iter().map(|(at, title)| cell(title, &text(&row["cells"][*at]), &hidden, redactor)).collect();
        ObjectRow { href: object_href(&key), namespace, name, cells }
    });
    ObjectsPage {
        cluster: cluster.to_string(),
        kind: resource.to_string(),
        namespace: namespace.to_string(),
        rows: rows.collect(),
        columns: columns.into_iter().map(|(_, name)| name).collect(),
        next: table.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default().to_string(),
        remaining: table.pointer("/metadata/remainingItemCount").and_then(Value::as_u64).unwrap_or_default(),
        page: 1,
        total: 0,
        incomplete: false,
    }
}

/// Returns a cell, redacted by its title or by the secrets of its object.
fn cell(title: &str, text: &str, hidden: &[String], redactor: &PageRedactor) -> String {
    let printed = |secret: &String| text == secret || (secret.len() >= MIN_PART && text.contains(secret.as_str()));
    if !text.is_empty() && hidden.iter().any(printed) { REDACTED.to_string() } else { redactor.named(title, text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_redacts_like_its_object() {
        let row = |spec: Value, cells: Value| {
            let object = serde_json::json!({"kind": "Box", "metadata": {"name": "a", "namespace": "n"}, "spec": spec});
            serde_json::json!({"cells": cells, "object": object})
        };
        let spec = serde_json::json!({"password": "canary-1", "pin": {"token": 7}, "tokens": ["canary-2"]});
        let table = serde_json::json!({
            "columnDefinitions": [{"name": "Name"}, {"name": "Login"}, {"name": "Pin"}, {"name": "All"}, {"name": "Secret"}, {"name": "Plain"}],
            "rows": [row(spec, serde_json::json!(["a", "canary-1", 7, "[canary-2]", "unseen", "shown"]))],
        });
        let kind = Resource::namespaced("example.com", "v1", "Box", "boxes");
        let listing = listing("c", &kind, "", &table, &PageRedactor::default());
        assert_eq!(listing.rows[0].cells, [REDACTED, REDACTED, REDACTED, REDACTED, "shown"]);
    }
}
