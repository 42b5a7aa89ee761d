//! Overview of plugs and sockets with their states, for `plugs status` and `plugs graph`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::explain::count;
use switchboard_kernel::state::Health;

/// Plugs and sockets at one point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlugOverview {
    /// Sockets, ordered by namespace and name.
    pub sockets: Vec<SocketRow>,
    /// Plugs, ordered by namespace and name.
    pub plugs: Vec<PlugRow>,
}

/// A socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SocketRow {
    /// `namespace/name`.
    pub name: String,
    /// Name and version of the interface, if it has a name.
    pub interface: String,
    /// Number of plugs whose status names this socket: plugs that wait for a result or fail may be coupled.
    pub coupled: usize,
    /// Number of plugs that name this socket.
    pub plugs: usize,
    /// Maximum number of coupled plugs.
    pub limit: Option<u64>,
    /// Health of the socket.
    pub state: Health,
    /// Message of the condition; the number of coupled plugs if the socket is Ready.
    pub message: String,
    /// Creation time.
    pub created: String,
}

/// A plug, which is also the integration it requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlugRow {
    /// `namespace/name`.
    pub name: String,
    /// Requested socket as `namespace/name`; empty if the plug names none.
    pub socket: String,
    /// Whether the requested socket exists.
    pub socket_exists: bool,
    /// Whether the plug is coupled to a socket.
    pub coupled: bool,
    /// Health of the plug.
    pub state: Health,
    /// Reason of the condition.
    pub reason: String,
    /// Error message, or message of the condition.
    pub message: String,
    /// Creation time.
    pub created: String,
}

impl PlugOverview {
    /// Builds an overview from objects.
    pub fn of(plugs: &[Value], sockets: &[Value]) -> Self {
        let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for coupled in plugs.iter().filter_map(coupled_socket) {
            counts.entry(coupled).or_default().1 += 1;
        }
        let mut plugs: Vec<PlugRow> = plugs.iter().map(PlugRow::of).collect();
        for plug in &plugs {
            counts.entry(plug.socket.clone()).or_default().0 += 1;
        }
        let mut sockets: Vec<SocketRow> = sockets.iter().map(|socket| SocketRow::of(socket, &counts)).collect();
        sockets.sort_by(|a, b| a.name.cmp(&b.name));
        for plug in &mut plugs {
            plug.socket_exists = sockets.binary_search_by(|socket| socket.name.cmp(&plug.socket)).is_ok();
        }
        plugs.sort_by(|a, b| a.name.cmp(&b.name));
        Self { sockets, plugs }
    }

    /// Returns the socket of a plug, if it exists.
    pub fn socket(&self, plug: &PlugRow) -> Option<&SocketRow> {
        self.sockets.iter().find(|socket| socket.name == plug.socket)
    }
}

impl SocketRow {
    fn of(socket: &Value, counts: &BTreeMap<String, (usize, usize)>) -> Self {
        let name = qualified_name(socket);
        let (plugs, coupled) = counts.get(&name).copied().unwrap_or_default();
        let interface = &socket["spec"]["interface"];
        let text = |field: &str| interface[field].as_str().unwrap_or_default();
        let version = if text("version").is_empty() { String::new() } else { format!("/{}", text("version")) };
        let (state, _, message) = health(socket);
        // A socket without plugs is healthy.
        let state = if state == Health::Working && reason(socket) == "SocketEmpty" { Health::Ready } else { state };
        // The socket counts its plugs a moment after they are coupled; a row shows one count.
        let message = if state == Health::Ready { format!("{} coupled", count(coupled, "plug")) } else { message };
        Self {
            interface: format!("{}{version}", text("name")),
            coupled,
            plugs,
            limit: socket["spec"]["limit"].as_u64(),
            state,
            message,
            created: created(socket),
            name,
        }
    }
}

impl PlugRow {
    fn of(plug: &Value) -> Self {
        let own = plug["metadata"]["namespace"].as_str().unwrap_or("default");
        let wanted = &plug["spec"]["socket"];
        let socket = wanted["name"].as_str().map_or_else(String::new, |name| {
            format!("{}/{name}", wanted["namespace"].as_str().filter(|given| !given.is_empty()).unwrap_or(own))
        });
        let (state, reason, message) = health(plug);
        let coupled = coupled_socket(plug).is_some();
        let name = qualified_name(plug);
        Self { name, socket, socket_exists: false, coupled, state, reason, message, created: created(plug) }
    }
}

fn qualified_name(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str();
    format!("{}/{}", text("namespace").unwrap_or("default"), text("name").unwrap_or_default())
}

/// Returns the socket to which a plug is coupled, as `namespace/name`.
fn coupled_socket(plug: &Value) -> Option<String> {
    let socket = &plug["status"]["coupledSocket"];
    Some(format!("{}/{}", socket["namespace"].as_str()?, socket["name"].as_str()?))
}

fn created(object: &Value) -> String {
    object["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_string()
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object.pointer("/status/conditions")?.as_array()?.iter().find(|one| one["type"] == kind)
}

fn reason(object: &Value) -> &str {
    condition(object, "Coupled").and_then(|one| one["reason"].as_str()).unwrap_or_default()
}

/// Returns health, reason and message of a plug or socket from its conditions.
fn health(object: &Value) -> (Health, String, String) {
    let message = |one: &Value| one["message"].as_str().unwrap_or_default().to_string();
    let reason = reason(object).to_string();
    if let Some(failed) = condition(object, "Failed").filter(|one| one["status"] == "True") {
        return (Health::Failing, reason, message(failed));
    }
    if let Some(program) = condition(object, "ApparatusReady").filter(|one| one["status"] == "False") {
        return (Health::Waiting, reason, format!("apparatus: {}", message(program)));
    }
    if let Some(waiting) = condition(object, "Waiting").filter(|one| one["status"] == "True") {
        return (Health::Waiting, waiting["reason"].as_str().unwrap_or_default().to_string(), message(waiting));
    }
    let Some(coupled) = condition(object, "Coupled") else {
        return (Health::Working, reason, "not reconciled yet".to_string());
    };
    let word = match reason.as_str() {
        _ if coupled["status"] == "True" => Health::Ready,
        "SocketNotCreated" | "LimitReached" | "ApparatusNotReady" => Health::Waiting,
        "NotAllowed" | "InterfaceMismatch" => Health::Blocked,
        "Error" => Health::Failing,
        _ => Health::Working,
    };
    (word, reason, message(coupled))
}

#[cfg(test)]
pub(crate) mod tests;
