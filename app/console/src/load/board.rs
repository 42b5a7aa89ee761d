//! Plugs and sockets of a cluster, and one of them from near.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::state::Word;
use switchboard_plugs::board::{Board, PlugRow, SocketRow};
use switchboard_plugs::model::{PLUGS, SOCKETS};

use super::object::{Told, events};
use crate::piece::object_href;
use crate::problem::Problem;
use crate::pulse;
use crate::source::Source;

/// How many sockets a page of the map shows.
pub const SOCKETS_A_PAGE: usize = 25;
/// More plugs of one socket than this are drawn as one for each state.
pub const MAX_DRAWN: usize = 10;

/// The map.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MapPage {
    /// Changes with what is shown.
    #[serde(skip)]
    pub version: String,
    /// Whether the cluster knows plugs at all.
    pub served: bool,
    /// How many plugs stand how.
    pub plugs: BTreeMap<String, usize>,
    /// All sockets.
    pub sockets: usize,
    /// Those of this page, the worst first, with their plugs.
    pub groups: Vec<Group>,
    /// Which page, from 1.
    pub page: usize,
    /// How many groups there are in all.
    pub total: usize,
    /// What was clicked.
    pub near: Option<Near>,
}

/// A socket with its plugs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// `namespace/name`; empty for plugs that want none.
    pub name: String,
    /// Whether it is there.
    pub exists: bool,
    /// One of the five states.
    pub state: Word,
    /// What is said of it.
    pub message: String,
    /// Coupled plugs.
    pub coupled: usize,
    /// Plugs that want it.
    pub wanted: usize,
    /// Its plugs, or sums of them.
    pub plugs: Vec<Drawn>,
}

/// A plug, or many of one state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drawn {
    /// Its name, or how many there are.
    pub name: String,
    /// Whether it stands for many.
    pub many: bool,
    /// One of the five states.
    pub state: Word,
    /// Whether it is coupled.
    pub coupled: bool,
    /// What is said of it.
    pub message: String,
}

/// A plug or socket from near.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Near {
    /// `Plug` or `Socket`.
    pub kind: String,
    /// `namespace/name`.
    pub name: String,
    /// Its page.
    pub href: String,
    /// How it stands.
    pub state: Word,
    /// What is said of it.
    pub message: String,
    /// The keys of its config; values are nobody's matter here.
    pub config: Vec<String>,
    /// What it wants made, as `Secret web-database`.
    pub resources: Vec<String>,
    /// What was told of it.
    pub events: Vec<Told>,
}

/// The map of a cluster. `near` is what was clicked, as `plug/shop/web`.
pub async fn load(source: &Source, page: usize, near: Option<&str>, filter: &str) -> Result<MapPage, Problem> {
    let (state, cluster) = (source.state().await?, source.home.clone());
    let plugs = source.all(&cluster, &PLUGS).await?;
    let sockets = source.all(&cluster, &SOCKETS).await?;
    let served = plugs.is_some() && sockets.is_some();
    let (plugs, sockets) = (plugs.unwrap_or_default(), sockets.unwrap_or_default());
    let mut view = of(&Board::of(&plugs, &sockets), page, filter);
    let veil = source.veil().await?;
    for group in &mut view.groups {
        group.message = veil.text(&group.message);
        group.plugs.iter_mut().for_each(|plug| plug.message = veil.text(&plug.message));
    }
    (view.version, view.served) = (pulse::version(&state), served);
    if let Some((kind, name)) = near.and_then(|near| near.split_once('/')) {
        let (of, rows) = if kind == "socket" { (&SOCKETS, &sockets) } else { (&PLUGS, &plugs) };
        view.near = close(source, &cluster, of, rows, name).await?;
    }
    Ok(view)
}

/// A page of a board.
pub fn of(board: &Board, page: usize, filter: &str) -> MapPage {
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
        filter.is_empty() || name.contains(filter) || of.into_iter().flatten().any(|plug| plug.name.contains(filter))
    };
    let mut groups: Vec<(Word, &str, Option<&SocketRow>)> = all
        .into_iter()
        .filter(|(name, _)| fits(name, plugs.get(name)))
        .map(|(name, socket)| {
            let worst = plugs.get(name).into_iter().flatten().map(|plug| plug.state).max().unwrap_or_default();
            (socket.map_or(Word::Waiting, |socket| socket.state).max(worst), name, socket)
        })
        .collect();
    groups.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let (total, page) = (groups.len(), page.max(1));
    let shown = groups.into_iter().skip((page - 1).saturating_mul(SOCKETS_A_PAGE)).take(SOCKETS_A_PAGE);
    let shown =
        shown.map(|(_, name, socket)| group(name, socket, plugs.get(name).map(Vec::as_slice).unwrap_or_default()));
    MapPage {
        plugs: counts,
        sockets: board.sockets.len(),
        groups: shown.collect(),
        page,
        total,
        served: true,
        ..MapPage::default()
    }
}

fn group(name: &str, socket: Option<&SocketRow>, plugs: &[&PlugRow]) -> Group {
    Group {
        name: name.to_string(),
        exists: socket.is_some(),
        state: socket.map_or(Word::Waiting, |socket| socket.state),
        message: socket.map(|socket| socket.message.clone()).unwrap_or_default(),
        coupled: plugs.iter().filter(|plug| plug.coupled).count(),
        wanted: plugs.len(),
        plugs: drawn(plugs),
    }
}

/// Each plug, or one for each state where there are too many to see.
fn drawn(plugs: &[&PlugRow]) -> Vec<Drawn> {
    let one = |plug: &&PlugRow| Drawn {
        name: plug.name.clone(),
        many: false,
        state: plug.state,
        coupled: plug.coupled,
        message: plug.message.clone(),
    };
    if plugs.len() <= MAX_DRAWN {
        return plugs.iter().map(one).collect();
    }
    let mut sums: BTreeMap<(std::cmp::Reverse<Word>, bool), Vec<&&PlugRow>> = BTreeMap::new();
    for plug in plugs {
        sums.entry((std::cmp::Reverse(plug.state), plug.coupled)).or_default().push(plug);
    }
    let sum = |((state, coupled), of): ((std::cmp::Reverse<Word>, bool), Vec<&&PlugRow>)| match of.as_slice() {
        [single] => one(single),
        many => Drawn {
            name: crate::piece::count(many.len(), "plug"),
            many: true,
            state: state.0,
            coupled,
            message: many.first().map(|plug| format!("the first: {}", plug.name)).unwrap_or_default(),
        },
    };
    sums.into_iter().map(sum).collect()
}

async fn close(
    source: &Source,
    cluster: &ClusterName,
    kind: &Resource,
    rows: &[Value],
    name: &str,
) -> Result<Option<Near>, Problem> {
    let Some((namespace, own)) = name.split_once('/') else { return Ok(None) };
    let is = |row: &&Value| row["metadata"]["name"] == own && row["metadata"]["namespace"] == namespace;
    let Some(row) = rows.iter().find(is) else { return Ok(None) };
    let veil = source.veil().await?;
    let table = TableKey { cluster: cluster.clone(), resource: kind.clone().into() };
    let key = ObjectKey { table, namespace: namespace.into(), name: own.into() };
    let board = if *kind == PLUGS {
        Board::of(std::slice::from_ref(row), &[])
    } else {
        Board::of(&[], std::slice::from_ref(row))
    };
    let standing = board.plugs.first().map(|plug| (plug.state, plug.message.clone()));
    let standing = standing.or_else(|| board.sockets.first().map(|socket| (socket.state, socket.message.clone())));
    let (state, message) = standing.unwrap_or_default();
    let resources = row.pointer("/spec/resources").and_then(Value::as_array).into_iter().flatten();
    let made = resources.map(|one| {
        let template = one.get("template").unwrap_or(one);
        let text = |pointer: &str| template.pointer(pointer).and_then(Value::as_str).unwrap_or("?").to_string();
        veil.text(&format!("{} {}", text("/kind"), text("/metadata/name")))
    });
    Ok(Some(Near {
        kind: kind.kind.to_string(),
        name: name.to_string(),
        href: object_href(&key),
        state,
        message: veil.text(&message),
        config: keys(row),
        resources: made.collect(),
        events: events(source, &key, &veil).await,
    }))
}

/// The keys of a config, and where its other values come from.
fn keys(row: &Value) -> Vec<String> {
    let spec = &row["spec"];
    let own = spec["config"].as_object().into_iter().flatten().map(|(key, _)| key.clone());
    let from = ["configSecretName", "configMapName", "configConfigMapName", "configTemplate"];
    let from = from.iter().filter_map(|field| match &spec[*field] {
        Value::String(name) => Some(format!("all of {field} {name}")),
        Value::Object(fields) => Some(format!("{} of {field}", fields.keys().cloned().collect::<Vec<_>>().join(", "))),
        _ => None,
    });
    own.chain(from).collect()
}
