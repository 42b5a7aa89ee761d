//! Integrations by environment and shard.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use switchboard_integrations::workload_list::{WorkloadList, WorkloadRow};

use crate::problem::ConsoleProblem;
use crate::source::ConsoleSource;
use crate::table::{SortKey, TableQuery, TableRow};

/// Name of the matrix in the parameter `sort`.
pub const TABLE: &str = "shards";
/// Number of integrations on a page.
pub const PAGE: usize = 50;
/// Maximum number of shown shards in a cell.
const MAX_SHARDS: usize = 12;

/// Matrix of integrations and environments.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardsPage {
    /// Whether this process manages integrations.
    pub hosted: bool,
    /// SHA of the data.
    pub bundle: String,
    /// Problems of the data.
    pub problems: Vec<String>,
    /// Environments: the columns of the matrix.
    pub environments: Vec<String>,
    /// Integrations of this page: the rows of the matrix.
    pub integrations: Vec<IntegrationRow>,
    /// Number of the page, from 1.
    pub page: usize,
    /// Total number of integrations.
    pub total: usize,
    /// Number of shards with overrides.
    pub different: usize,
    /// Whether only shards with overrides are shown.
    pub only_different: bool,
}

/// Integration in the matrix.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IntegrationRow {
    /// Name of the integration.
    pub name: String,
    /// Cells of the environments.
    pub cells: Vec<ShardCell>,
}

/// Shards of an integration in an environment.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardCell {
    /// Shown shards.
    pub shards: Vec<ShardEntry>,
    /// Number of omitted shards.
    pub omitted: usize,
}

/// Shard of an integration.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardEntry {
    /// Name of the shard; empty if the integration has only one.
    pub name: String,
    /// Cluster of the shard.
    pub cluster: String,
    /// Image of the shard.
    pub image: String,
    /// Overrides of the shard.
    pub differs: Vec<String>,
    /// Link to the page of the workload.
    pub href: String,
}

/// Loads the matrix of the desired workloads.
pub async fn load(
    source: &ConsoleSource,
    page: usize,
    query: &TableQuery,
    only_different: bool,
) -> Result<ShardsPage, ConsoleProblem> {
    let Some(desired_store) = source.desired_store() else { return Ok(ShardsPage::default()) };
    let desired = desired_store.desired();
    let mut workloads = WorkloadList::from_desired(&desired);
    workloads.rows.retain(|row| query.matches(&row.integration));
    let different = workloads.rows.iter().filter(|row| !row.differs.is_empty()).count();
    if only_different {
        workloads.only_different();
    }
    let mut view = shards_page(&workloads, page, query);
    (view.hosted, view.bundle, view.different, view.only_different) =
        (true, desired.sha.to_string(), different, only_different);
    let redactor = source.redactor().await?;
    view.problems = desired.problems().iter().map(|problem| redactor.text(&problem.to_string())).collect();
    for shard in view.integrations.iter_mut().flat_map(|one| &mut one.cells).flat_map(|cell| &mut cell.shards) {
        shard.differs.iter_mut().for_each(|words| *words = redactor.text(words));
    }
    Ok(view)
}

/// Returns a page of the matrix.
pub fn shards_page(workloads: &WorkloadList, page: usize, query: &TableQuery) -> ShardsPage {
    let environments: BTreeSet<&str> = workloads.rows.iter().map(|row| row.environment.as_str()).collect();
    let mut rows: BTreeMap<&str, BTreeMap<&str, Vec<&WorkloadRow>>> = BTreeMap::new();
    // Only workloads are shards; a Service has no image.
    for row in workloads.rows.iter().filter(|row| !row.image.is_empty()) {
        rows.entry(&row.integration).or_default().entry(&row.environment).or_default().push(row);
    }
    let integrations = rows.into_iter().map(|(name, of)| IntegrationRow {
        name: name.to_string(),
        cells: environments
            .iter()
            .map(|environment| cell(of.get(environment).map(Vec::as_slice).unwrap_or_default()))
            .collect(),
    });
    let mut integrations: Vec<IntegrationRow> = integrations.collect();
    query.arrange(TABLE, &mut integrations);
    let (total, page) = (integrations.len(), page.max(1));
    ShardsPage {
        integrations: integrations.into_iter().skip((page - 1).saturating_mul(PAGE)).take(PAGE).collect(),
        environments: environments.iter().map(ToString::to_string).collect(),
        page,
        total,
        ..ShardsPage::default()
    }
}

impl TableRow for IntegrationRow {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        if column == "name" {
            return Some(SortKey::text(&self.name));
        }
        // An environment sorts by its images, so that equal versions are next to each other.
        let at: usize = column.strip_prefix("environment")?.parse().ok()?;
        let images: Vec<&str> = self.cells.get(at)?.shards.iter().map(|shard| shard.image.as_str()).collect();
        Some(SortKey::text(&images.join(" ")))
    }

    fn filter_text(&self) -> String {
        self.name.clone()
    }
}

fn cell(rows: &[&WorkloadRow]) -> ShardCell {
    let shard = |row: &&WorkloadRow| ShardEntry {
        name: row.shard.clone(),
        cluster: row.cluster.clone(),
        image: row.image.clone(),
        differs: row.differs.clone(),
        href: href(row),
    };
    // Shards with overrides come first, so that they are never omitted.
    let mut rows: Vec<&WorkloadRow> = rows.to_vec();
    rows.sort_by_key(|row| row.differs.is_empty());
    ShardCell {
        shards: rows.iter().take(MAX_SHARDS).map(shard).collect(),
        omitted: rows.len().saturating_sub(MAX_SHARDS),
    }
}

fn href(row: &WorkloadRow) -> String {
    use crate::components::percent_encode;
    let kind =
        switchboard_integrations::desired::resource(&row.kind).map_or_else(|| row.kind.clone(), ToString::to_string);
    format!(
        "/objects/{}/{}/{}/{}",
        percent_encode(&row.cluster),
        percent_encode(&kind),
        percent_encode(&row.namespace),
        percent_encode(&row.name)
    )
}
