//! Plugs and sockets of a cluster, and details of one of them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::state::Health;
use switchboard_kernel::topology::ClusterName;
use switchboard_plugs::model::{PLUGS, SOCKETS};
use switchboard_plugs::overview::{PlugOverview, PlugRow, SocketRow};

use super::object::{EventRow, events};
use crate::components::object_href;
use crate::problem::ConsoleProblem;
use crate::source::ConsoleSource;
use crate::state_cache;
use crate::table::{SortKey, TableQuery, TableRow};

/// Number of sockets on a page of the map.
pub const SOCKETS_A_PAGE: usize = 25;
/// Maximum number of rows in the table of couplings.
pub const MAX_COUPLINGS: usize = 50;
/// Name of the table of couplings in the parameter `sort`.
pub const COUPLINGS: &str = "couplings";
/// Maximum number of plugs of a socket that are drawn one by one; more are grouped by state.
pub const MAX_DRAWN: usize = 10;

/// Data of the map.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MapPage {
    /// Version of the data.
    #[serde(skip)]
    pub version: String,
    /// Whether the cluster serves plugs and sockets.
    pub served: bool,
    /// Number of plugs by state.
    pub plugs: BTreeMap<String, usize>,
    /// Number of sockets.
    pub sockets: usize,
    /// Sockets of this page with their plugs, worst first.
    pub groups: Vec<SocketGroup>,
    /// Number of the page, from 1.
    pub page: usize,
    /// Total number of groups.
    pub total: usize,
    /// Plugs that match the filter, worst first; limited in number.
    #[serde(skip)]
    pub couplings: Vec<PlugRow>,
    /// Total number of plugs that match the filter.
    #[serde(skip)]
    pub couplings_total: usize,
    /// Selected plug or socket.
    pub near: Option<MapDetail>,
}

/// Socket with its plugs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SocketGroup {
    /// `namespace/name`; empty for plugs without a socket.
    pub name: String,
    /// Whether the socket exists.
    pub exists: bool,
    /// State of the socket.
    pub state: Health,
    /// Message of the socket.
    pub message: String,
    /// Number of coupled plugs.
    pub coupled: usize,
    /// Number of plugs that request the socket.
    pub requested: usize,
    /// Plugs of the socket, possibly grouped.
    pub plugs: Vec<PlugNode>,
}

/// Plug, or group of plugs with the same state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlugNode {
    /// Name of the plug, or size of the group.
    pub name: String,
    /// Whether the node is a group.
    pub is_group: bool,
    /// State of the plugs.
    pub state: Health,
    /// Whether the plugs are coupled.
    pub coupled: bool,
    /// Message of the plug.
    pub message: String,
}

/// Details of a plug or socket.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MapDetail {
    /// `Plug` or `Socket`.
    pub kind: String,
    /// `namespace/name`.
    pub name: String,
    /// Link to the object's page.
    pub href: String,
    /// State of the object.
    pub state: Health,
    /// Message of the object.
    pub message: String,
    /// Keys of the config, without values.
    pub config: Vec<String>,
    /// Objects that the plug or socket creates, such as `Secret web-database`.
    pub resources: Vec<String>,
    /// Events of the object.
    pub events: Vec<EventRow>,
}

/// Loads the map of a cluster. `near` is the selected element, such as `plug/shop/web`.
pub async fn load(
    source: &ConsoleSource,
    page: usize,
    near: Option<&str>,
    query: &TableQuery,
) -> Result<MapPage, ConsoleProblem> {
    let (state, cluster) = (source.state().await?, source.home.clone());
    let plugs = source.all(&cluster, &PLUGS).await?;
    let sockets = source.all(&cluster, &SOCKETS).await?;
    let served = plugs.is_some() && sockets.is_some();
    let (plugs, sockets) = (plugs.unwrap_or_default(), sockets.unwrap_or_default());
    let mut view = map_page(&PlugOverview::of(&plugs, &sockets), page, query);
    let redactor = source.redactor().await?;
    for group in &mut view.groups {
        group.message = redactor.text(&group.message);
        group.plugs.iter_mut().for_each(|plug| plug.message = redactor.text(&plug.message));
    }
    view.couplings.iter_mut().for_each(|plug| plug.message = redactor.text(&plug.message));
    (view.version, view.served) = (state_cache::version(&state), served);
    if let Some((kind, name)) = near.and_then(|near| near.split_once('/')) {
        let (of, rows) = if kind == "socket" { (&SOCKETS, &sockets) } else { (&PLUGS, &plugs) };
        view.near = detail(source, &cluster, of, rows, name).await?;
    }
    Ok(view)
}

/// Returns a page of the map.
pub fn map_page(board: &PlugOverview, page: usize, query: &TableQuery) -> MapPage {
    let mut plugs: BTreeMap<&str, Vec<&PlugRow>> = BTreeMap::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for plug in &board.plugs {
        plugs.entry(&plug.socket).or_default().push(plug);
        *counts.entry(plug.state.to_string()).or_default() += 1;
    }
    let known = board.sockets.iter().map(|socket| (socket.name.as_str(), Some(socket)));
    let mut all: BTreeMap<&str, Option<&SocketRow>> = known.collect();
    plugs.keys().for_each(|name| _ = all.entry(name).or_insert(None));
    let fits = |name: &str, of: Option<&Vec<&PlugRow>>| {
        query.matches(name) || of.into_iter().flatten().any(|plug| query.matches(&plug.filter_text()))
    };
    let mut groups: Vec<(Health, &str, Option<&SocketRow>)> = all
        .into_iter()
        .filter(|(name, _)| fits(name, plugs.get(name)))
        .map(|(name, socket)| {
            let worst = plugs.get(name).into_iter().flatten().map(|plug| plug.state).max().unwrap_or_default();
            (socket.map_or(Health::Waiting, |socket| socket.state).max(worst), name, socket)
        })
        .collect();
    groups.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let (total, page) = (groups.len(), page.max(1));
    let shown = groups.into_iter().skip((page - 1).saturating_mul(SOCKETS_A_PAGE)).take(SOCKETS_A_PAGE);
    let shown =
        shown.map(|(_, name, socket)| group(name, socket, plugs.get(name).map(Vec::as_slice).unwrap_or_default()));
    let mut couplings = board.plugs.clone();
    couplings.sort_by(|a, b| b.state.cmp(&a.state).then_with(|| a.name.cmp(&b.name)));
    query.arrange(COUPLINGS, &mut couplings);
    let couplings_total = couplings.len();
    couplings.truncate(MAX_COUPLINGS);
    MapPage {
        couplings,
        couplings_total,
        plugs: counts,
        sockets: board.sockets.len(),
        groups: shown.collect(),
        page,
        total,
        served: true,
        ..MapPage::default()
    }
}

impl TableRow for PlugRow {
    fn sort_key(&self, column: &str) -> Option<SortKey> {
        Some(match column {
            "plug" => SortKey::text(&self.name),
            "state" => SortKey::state(self.state),
            "socket" => SortKey::text(&self.socket),
            "reason" => SortKey::text(&self.reason),
            "created" => SortKey::text(&self.created),
            _ => return None,
        })
    }

    fn filter_text(&self) -> String {
        format!("{} {} {} {}", self.name, self.socket, self.state, self.reason)
    }
}

fn group(name: &str, socket: Option<&SocketRow>, plugs: &[&PlugRow]) -> SocketGroup {
    SocketGroup {
        name: name.to_string(),
        exists: socket.is_some(),
        state: socket.map_or(Health::Waiting, |socket| socket.state),
        message: socket.map(|socket| socket.message.clone()).unwrap_or_default(),
        coupled: socket.map_or(0, |socket| socket.coupled),
        requested: plugs.len(),
        plugs: plug_nodes(plugs),
    }
}

/// Returns a node for each plug, or for each state if there are too many.
fn plug_nodes(plugs: &[&PlugRow]) -> Vec<PlugNode> {
    let one = |plug: &&PlugRow| PlugNode {
        name: plug.name.clone(),
        is_group: false,
        state: plug.state,
        coupled: plug.coupled,
        message: plug.message.clone(),
    };
    if plugs.len() <= MAX_DRAWN {
        return plugs.iter().map(one).collect();
    }
    let mut sums: BTreeMap<(std::cmp::Reverse<Health>, bool), Vec<&&PlugRow>> = BTreeMap::new();
    for plug in plugs {
        sums.entry((std::cmp::Reverse(plug.state), plug.coupled)).or_default().push(plug);
    }
    let sum = |((state, coupled), of): ((std::cmp::Reverse<Health>, bool), Vec<&&PlugRow>)| match of.as_slice() {
        [single] => one(single),
        many => PlugNode {
            name: crate::components::count(many.len(), "plug"),
            is_group: true,
            state: state.0,
            coupled,
            message: many.first().map(|plug| format!("first: {}", plug.name)).unwrap_or_default(),
        },
    };
    sums.into_iter().map(sum).collect()
}

async fn detail(
    source: &ConsoleSource,
    cluster: &ClusterName,
    kind: &Resource,
    rows: &[Value],
    name: &str,
) -> Result<Option<MapDetail>, ConsoleProblem> {
    let Some((namespace, own)) = name.split_once('/') else { return Ok(None) };
    let is = |row: &&Value| row["metadata"]["name"] == own && row["metadata"]["namespace"] == namespace;
    let Some(row) = rows.iter().find(is) else { return Ok(None) };
    let redactor = source.redactor().await?;
    let table = TableKey { cluster: cluster.clone(), resource: kind.clone().into() };
    let key = ObjectKey { table, namespace: namespace.into(), name: own.into() };
    let board = if *kind == PLUGS {
        PlugOverview::of(std::slice::from_ref(row), &[])
    } else {
        PlugOverview::of(&[], std::slice::from_ref(row))
    };
    let standing = board.plugs.first().map(|plug| (plug.state, plug.message.clone()));
    let standing = standing.or_else(|| board.sockets.first().map(|socket| (socket.state, socket.message.clone())));
    let (state, message) = standing.unwrap_or_default();
    let resources = row.pointer("/spec/resources").and_then(Value::as_array).into_iter().flatten();
    let nodes = resources.map(|one| {
        let template = one.get("template").unwrap_or(one);
        let text = |pointer: &str| template.pointer(pointer).and_then(Value::as_str).unwrap_or("?").to_string();
        redactor.text(&format!("{} {}", text("/kind"), text("/metadata/name")))
    });
    Ok(Some(MapDetail {
        kind: kind.kind.to_string(),
        name: name.to_string(),
        href: object_href(&key),
        state,
        message: redactor.text(&message),
        config: keys(row),
        resources: nodes.collect(),
        events: events(source, &key, &redactor).await,
    }))
}

/// Returns the keys of a config, and the sources of its other values.
fn keys(row: &Value) -> Vec<String> {
    let spec = &row["spec"];
    let own = spec["config"].as_object().into_iter().flatten().map(|(key, _)| key.clone());
    let from = ["configSecretName", "configMapName", "configConfigMapName", "configTemplate"];
    let from = from.iter().filter_map(|field| match &spec[*field] {
        Value::String(name) => Some(format!("all keys of {field} {name}")),
        Value::Object(fields) => Some(format!("{} of {field}", fields.keys().cloned().collect::<Vec<_>>().join(", "))),
        _ => None,
    });
    own.chain(from).collect()
}
