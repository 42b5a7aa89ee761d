//! Integrations by environment and shard.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use switchboard_integrations::who::{Row, Who};

use crate::problem::Problem;
use crate::source::Source;

/// How many integrations a page shows.
pub const PAGE: usize = 50;
/// How many shards of one cell are shown.
const MAX_SHARDS: usize = 12;

/// The matrix.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardsPage {
    /// Whether integrations are managed here.
    pub hosted: bool,
    /// The version of the data.
    pub bundle: String,
    /// What is wrong with the data.
    pub problems: Vec<String>,
    /// The columns.
    pub environments: Vec<String>,
    /// The rows of this page.
    pub integrations: Vec<Integration>,
    /// Which page, from 1.
    pub page: usize,
    /// How many integrations there are in all.
    pub total: usize,
    /// How many shards have something of their own.
    pub different: usize,
    /// Only those are shown.
    pub only_different: bool,
}

/// An integration.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Integration {
    /// Its name.
    pub name: String,
    /// Its shards in each environment.
    pub cells: Vec<Cell>,
}

/// An integration in an environment.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// Its shards.
    pub shards: Vec<Shard>,
    /// Those that were left off.
    pub left_off: usize,
}

/// A shard.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shard {
    /// Its name; empty where there is one alone.
    pub name: String,
    /// The cluster it runs on.
    pub cluster: String,
    /// The image it runs.
    pub image: String,
    /// What is special about it.
    pub differs: Vec<String>,
    /// The page of its object.
    pub href: String,
}

/// The matrix of what is wanted now.
pub async fn load(source: &Source, page: usize, filter: &str, only_different: bool) -> Result<ShardsPage, Problem> {
    let Some(shelf) = source.shelf() else { return Ok(ShardsPage::default()) };
    let desired = shelf.desired();
    let mut who = Who::of(&desired);
    if !filter.is_empty() {
        who.only(filter);
    }
    let different = who.rows.iter().filter(|row| !row.differs.is_empty()).count();
    if only_different {
        who.only_different();
    }
    let mut view = of(&who, page);
    (view.hosted, view.bundle, view.different, view.only_different) =
        (true, desired.sha.to_string(), different, only_different);
    let veil = source.veil().await?;
    view.problems = desired.problems().iter().map(|problem| veil.text(&problem.to_string())).collect();
    for shard in view.integrations.iter_mut().flat_map(|one| &mut one.cells).flat_map(|cell| &mut cell.shards) {
        shard.differs.iter_mut().for_each(|words| *words = veil.text(words));
    }
    Ok(view)
}

/// A page of the matrix.
pub fn of(who: &Who, page: usize) -> ShardsPage {
    let environments: BTreeSet<&str> = who.rows.iter().map(|row| row.environment.as_str()).collect();
    let mut rows: BTreeMap<&str, BTreeMap<&str, Vec<&Row>>> = BTreeMap::new();
    // A Service is no shard: what runs is shown.
    for row in who.rows.iter().filter(|row| !row.image.is_empty()) {
        rows.entry(&row.integration).or_default().entry(&row.environment).or_default().push(row);
    }
    let (total, page) = (rows.len(), page.max(1));
    let shown = rows.into_iter().skip((page - 1).saturating_mul(PAGE)).take(PAGE);
    let integrations = shown.map(|(name, of)| Integration {
        name: name.to_string(),
        cells: environments
            .iter()
            .map(|environment| cell(of.get(environment).map(Vec::as_slice).unwrap_or_default()))
            .collect(),
    });
    ShardsPage {
        integrations: integrations.collect(),
        environments: environments.iter().map(ToString::to_string).collect(),
        page,
        total,
        ..ShardsPage::default()
    }
}

fn cell(rows: &[&Row]) -> Cell {
    let shard = |row: &&Row| Shard {
        name: row.shard.clone(),
        cluster: row.cluster.clone(),
        image: row.image.clone(),
        differs: row.differs.clone(),
        href: href(row),
    };
    // What is special comes first, so that it is never what is left off.
    let mut rows: Vec<&Row> = rows.to_vec();
    rows.sort_by_key(|row| row.differs.is_empty());
    Cell { shards: rows.iter().take(MAX_SHARDS).map(shard).collect(), left_off: rows.len().saturating_sub(MAX_SHARDS) }
}

fn href(row: &Row) -> String {
    use crate::piece::escaped;
    let kind =
        switchboard_integrations::desired::resource(&row.kind).map_or_else(|| row.kind.clone(), ToString::to_string);
    format!("/objects/{}/{}/{}/{}", escaped(&row.cluster), escaped(&kind), escaped(&row.namespace), escaped(&row.name))
}
