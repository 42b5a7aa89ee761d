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

/// Number of objects on a page.
const PAGE: usize = 100;
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

/// Loads a page of objects.
pub async fn list(
    source: &ConsoleSource,
    cluster: &str,
    kind: &str,
    namespace: &str,
    from: &str,
) -> Result<ObjectsPage, ConsoleProblem> {
    let resource = source.kind(cluster, kind).await?;
    let from_query = if from.is_empty() { String::new() } else { format!("&continue={}", percent_encode(from)) };
    // The whole objects are needed for redaction: a column may print a secret field under any title.
    let query = format!("limit={PAGE}&includeObject=Object{from_query}");
    let table = source.table(cluster, &resource, &query, namespace).await?;
    let redactor = source.redactor().await?;
    Ok(listing(cluster, &resource, namespace, &table, &redactor))
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
