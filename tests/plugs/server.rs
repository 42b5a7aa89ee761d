//! Test server with the routes and the behavior of the Keycloak apparatus: `/{anything}/ping`, `config` and the five
//! events.
//!
//! Like its framework, the server answers a POST with 201 and accepts only JSON bodies. It acts on `coupled` and
//! `decoupled` only, and records all calls.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Changes of the behavior; absent fields stay unchanged.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerBehavior {
    /// Response of `/config`.
    pub config: Option<Value>,
    /// Status of `/ping`.
    pub ping: Option<u16>,
    /// Paths without a response.
    pub hang: Option<BTreeSet<String>>,
    /// Statuses by path.
    pub status: Option<BTreeMap<String, u16>>,
    /// Whether the server does not listen.
    pub down: Option<bool>,
}

/// A received request.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedCall {
    /// Method and path: `POST /socket/coupled`.
    pub line: String,
    pub body: Value,
}

/// State shared by all servers of a case: the external one, and those of pods.
#[derive(Clone, Default)]
pub struct TestApparatus(Arc<Mutex<ApparatusState>>);

#[derive(Default)]
struct ApparatusState {
    behaviour: ServerBehavior,
    calls: Vec<ReceivedCall>,
    checked_calls: usize,
    clients: BTreeSet<String>,
}

impl TestApparatus {
    pub fn set_behavior(&self, new: &ServerBehavior) {
        let mut state = self.0.lock().unwrap();
        let old = state.behaviour.clone();
        state.behaviour = ServerBehavior {
            config: new.config.clone().or(old.config),
            ping: new.ping.or(old.ping),
            hang: new.hang.clone().or(old.hang),
            status: new.status.clone().or(old.status),
            down: new.down.or(old.down),
        };
    }

    /// Returns all calls.
    pub fn calls(&self) -> Vec<ReceivedCall> {
        self.0.lock().unwrap().calls.clone()
    }

    /// Returns the calls since the last counting check.
    pub fn new_calls(&self, counts: bool) -> Vec<ReceivedCall> {
        let mut state = self.0.lock().unwrap();
        let (from, all) = (state.checked_calls, state.calls.len());
        if counts {
            state.checked_calls = all;
        }
        state.calls[from..].to_vec()
    }

    /// Returns the existing clients.
    pub fn clients(&self) -> BTreeSet<String> {
        self.0.lock().unwrap().clients.clone()
    }

    /// Returns status and body of a response, or `None` for no response.
    fn answer(&self, method: &str, path: &str, json_given: bool, body: &[u8]) -> Option<(u16, Value)> {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let mut state = self.0.lock().unwrap();
        state.calls.push(ReceivedCall { line: format!("{method} {path}"), body: body.clone() });
        if state.behaviour.hang.as_ref().is_some_and(|paths| paths.contains(path)) {
            return None;
        }
        if let Some(status) = state.behaviour.status.as_ref().and_then(|statuses| statuses.get(path)) {
            return Some((*status, json!({"statusCode": status})));
        }
        let route = path.rsplit('/').next().unwrap_or_default();
        let client = body.pointer("/plugConfig/clientId").and_then(Value::as_str).unwrap_or_default().to_string();
        Some(match (method, route) {
            ("GET", "ping") => (state.behaviour.ping.unwrap_or(200), json!({"status": "ok"})),
            ("POST", _) if !json_given => (400, json!({"statusCode": 400, "message": "Bad Request"})),
            ("POST", "config") => (201, state.behaviour.config.clone().unwrap_or_else(|| json!({}))),
            ("POST", "coupled") => {
                state.clients.insert(client);
                (201, Value::Null)
            }
            ("POST", "decoupled") => {
                if body.pointer("/plugConfig/cleanup").is_some_and(|cleanup| cleanup == "true") {
                    state.clients.remove(&client);
                }
                (201, Value::Null)
            }
            ("POST", "created" | "updated" | "deleted") => (201, Value::Null),
            _ => (404, json!({"statusCode": 404, "message": format!("Cannot {method} {path}")})),
        })
    }
}

/// A listening server, stopped when dropped.
pub struct ApparatusServer {
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl ApparatusServer {
    /// Starts a server on a free port, or on a given address.
    pub async fn start(apparatus: TestApparatus, address: Option<SocketAddr>) -> Self {
        let address = address.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, apparatus.clone()));
            }
        });
        Self { address, task }
    }
}

impl Drop for ApparatusServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, apparatus: TestApparatus) -> Option<()> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        stream.read_buf(&mut bytes).await.ok().filter(|count| *count > 0)?;
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let header = |name: &str| {
        let line = text.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let length: usize = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < head + length {
        stream.read_buf(&mut bytes).await.ok().filter(|count| *count > 0)?;
    }
    let mut line = text.split_whitespace();
    let (method, path) = (line.next()?, line.next()?);
    let json_given = header("content-type").is_some_and(|given| given.starts_with("application/json"));
    let Some((status, body)) = apparatus.answer(method, path, json_given, &bytes[head..]) else {
        return std::future::pending().await;
    };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}
