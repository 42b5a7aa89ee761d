//! Objects of a cluster by kind, as kubectl would list them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::redact::HIDDEN;
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};

use crate::piece::{escaped, object_href};
use crate::problem::Problem;
use crate::source::Source;
use crate::veil::Veil;

/// How many objects a page lists.
const PAGE: usize = 100;
/// How many columns beside the name are shown.
const MAX_COLUMNS: usize = 6;
/// Shorter values are hidden where they are all that a column prints: within a text they would be found by chance.
const MIN_PART: usize = 4;

/// A cluster's kinds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindRow {
    /// As `deployments.apps`.
    pub name: String,
    /// As `Deployment`.
    pub kind: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// How many are cached; absent when nobody watches the kind.
    pub cached: Option<usize>,
}

/// Clusters, and the kinds of one of them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kinds {
    /// All clusters.
    pub clusters: Vec<String>,
    /// The one that is shown.
    pub cluster: String,
    /// Its kinds.
    pub kinds: Vec<KindRow>,
}

/// A page of objects.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// Of which cluster.
    pub cluster: String,
    /// Of which kind.
    pub kind: String,
    /// Of which namespace; of all when empty.
    pub namespace: String,
    /// Titles of the columns behind the name.
    pub columns: Vec<String>,
    /// Its objects.
    pub rows: Vec<ObjectRow>,
    /// Asks for the next page; empty on the last.
    pub next: String,
    /// How many follow, as the cluster says.
    pub remaining: u64,
}

/// An object of a list.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRow {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its page.
    pub href: String,
    /// What stands in the columns.
    pub cells: Vec<String>,
}

/// The kinds of a cluster; of the first one when none is named.
pub async fn kinds(source: &Source, cluster: Option<&str>) -> Result<Kinds, Problem> {
    let clusters: Vec<String> = source.clusters().await?.into_keys().map(|name| name.to_string()).collect();
    let cluster = cluster.map(str::to_string).or_else(|| clusters.first().cloned());
    let cluster = cluster.ok_or_else(|| Problem::Missing("no cluster is worked on".to_string()))?;
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
    Ok(Kinds { kinds: kinds.collect(), clusters, cluster })
}

/// A page of a kind's objects.
pub async fn list(source: &Source, cluster: &str, kind: &str, namespace: &str, from: &str) -> Result<Listing, Problem> {
    let resource = source.kind(cluster, kind).await?;
    let from_query = if from.is_empty() { String::new() } else { format!("&continue={}", escaped(from)) };
    // Whole objects come along: a column may print a field that is hidden, whatever the column is called.
    let query = format!("limit={PAGE}&includeObject=Object{from_query}");
    let table = source.table(cluster, &resource, &query, namespace).await?;
    let veil = source.veil().await?;
    Ok(listing(cluster, &resource, namespace, &table, &veil))
}

fn listing(cluster: &str, resource: &Resource, namespace: &str, table: &Value, veil: &Veil) -> Listing {
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
        let hidden = veil.hides(row.get("object").unwrap_or(row));
        let cells = columns.iter().map(|(at, title)| cell(title, &text(&row["cells"][*at]), &hidden, veil)).collect();
        ObjectRow { href: object_href(&key), namespace, name, cells }
    });
    Listing {
        cluster: cluster.to_string(),
        kind: resource.to_string(),
        namespace: namespace.to_string(),
        rows: rows.collect(),
        columns: columns.into_iter().map(|(_, name)| name).collect(),
        next: table.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default().to_string(),
        remaining: table.pointer("/metadata/remainingItemCount").and_then(Value::as_u64).unwrap_or_default(),
    }
}

/// What a column prints, unless it tells, or its object hides it.
fn cell(title: &str, text: &str, hidden: &[String], veil: &Veil) -> String {
    let printed = |secret: &String| text == secret || (secret.len() >= MIN_PART && text.contains(secret.as_str()));
    if !text.is_empty() && hidden.iter().any(printed) { HIDDEN.to_string() } else { veil.named(title, text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_prints_nothing_that_its_object_hides() {
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
        let listing = listing("c", &kind, "", &table, &Veil::default());
        assert_eq!(listing.rows[0].cells, [HIDDEN, HIDDEN, HIDDEN, HIDDEN, "shown"]);
    }
}
