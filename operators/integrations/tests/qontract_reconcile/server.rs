//! Fake qontract-server: serves bundles, with the part of GraphQL that the queries of a run use.

#[path = "server/execute.rs"]
mod execute;
#[path = "server/parse.rs"]
mod parse;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_integrations::source::graphql::{ServerRequest, Transport};
use switchboard_integrations::source::sha256;

/// Recorded request: method and path, and the `Authorization` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    pub line: String,
    pub authorization: Option<String>,
}

/// Server that is called directly; [`listen`] serves it on a port.
#[derive(Default)]
pub struct FakeQontractServer {
    inner: Mutex<ServerState>,
}

#[derive(Default)]
struct ServerState {
    /// Bundles by SHA; the last one is current.
    bundles: Vec<(String, Arc<Value>)>,
    /// Prepared error responses: status and text.
    faults: Vec<(u16, String)>,
    /// Bundle to load after the next query.
    next: Option<String>,
    requests: Vec<RecordedRequest>,
    paused: Vec<Duration>,
}

impl FakeQontractServer {
    pub fn new(bundle: &str) -> Self {
        let server = Self::default();
        server.load(bundle);
        server
    }

    /// Loads another bundle as the current one and keeps the others.
    pub fn load(&self, bundle: &str) -> String {
        let sha = sha256(bundle.as_bytes());
        let parsed = serde_json::from_str(bundle).unwrap();
        self.inner.lock().unwrap().bundles.push((sha.clone(), Arc::new(parsed)));
        sha
    }

    /// Loads another bundle during the next run.
    pub fn load_after_next_query(&self, bundle: String) {
        self.inner.lock().unwrap().next = Some(bundle);
    }

    /// Adds responses that precede the real ones.
    pub fn add_faults(&self, faults: impl IntoIterator<Item = (u16, &'static str)>) {
        let faults = faults.into_iter().map(|(status, text)| (status, text.to_string()));
        self.inner.lock().unwrap().faults.extend(faults);
    }

    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.inner.lock().unwrap().requests.clone()
    }

    pub fn paused(&self) -> Vec<Duration> {
        self.inner.lock().unwrap().paused.clone()
    }

    fn answer(&self, method: &str, path: &str, authorization: Option<&str>, body: &str) -> (u16, Vec<u8>) {
        let (bundles, latest) = {
            let mut inner = self.inner.lock().unwrap();
            let authorization = authorization.map(str::to_string);
            inner.requests.push(RecordedRequest { line: format!("{method} {path}"), authorization });
            if !inner.faults.is_empty() {
                let (status, text) = inner.faults.remove(0);
                return (status, text.into_bytes());
            }
            (inner.bundles.clone(), inner.bundles.last().map(|(sha, _)| sha.clone()).unwrap_or_default())
        };
        let bundle = |sha: &str| bundles.iter().find(|(one, _)| one == sha).map(|(_, bundle)| bundle.clone());
        match (method, path.split('/').skip(1).collect::<Vec<_>>().as_slice()) {
            ("GET", ["sha256"]) => (200, latest.into_bytes()),
            ("GET", ["git-commit-info", sha]) => match bundle(sha) {
                Some(found) => {
                    let said = json!({"commit": found["git_commit"], "timestamp": found["git_commit_timestamp"]});
                    (200, said.to_string().into_bytes())
                }
                None => (404, format!("Bundle {sha} not found").into_bytes()),
            },
            ("POST", ["graphqlsha", sha]) => {
                let Some(found) = bundle(sha) else { return (404, b"Cannot POST".to_vec()) };
                let answer = query(&found, body);
                let next = self.inner.lock().unwrap().next.take();
                if let Some(next) = next {
                    self.load(&next);
                }
                answer
            }
            _ => (404, b"no such page".to_vec()),
        }
    }
}

fn query(bundle: &Value, body: &str) -> (u16, Vec<u8>) {
    let asked: Value = serde_json::from_str(body).unwrap_or_default();
    let said = match parse::document(asked["query"].as_str().unwrap_or_default()) {
        Ok(document) => match execute::execute(bundle, &document) {
            Ok(answer) => return (200, answer.to_string().into_bytes()),
            Err(error) => error,
        },
        Err(error) => format!("Syntax Error: {error}"),
    };
    // A query that does not match the schema is rejected before execution.
    (400, json!({"errors": [{"message": said}]}).to_string().into_bytes())
}

/// Calls the server without a network, and records delays instead of waiting.
impl Transport for FakeQontractServer {
    fn call(&self, ask: &ServerRequest) -> Result<(u16, Vec<u8>), String> {
        let path = ask.url.splitn(4, '/').nth(3).unwrap_or_default();
        let method = if ask.body.is_some() { "POST" } else { "GET" };
        let authorization = ask.authorization.as_ref().map(|secret| secret.reveal());
        Ok(self.answer(method, &format!("/{path}"), authorization, ask.body.as_deref().unwrap_or_default()))
    }

    fn pause(&self, duration: Duration) {
        self.inner.lock().unwrap().paused.push(duration);
    }
}

/// Serves on a loopback port until the process exits, and returns the address.
pub fn listen(server: Arc<FakeQontractServer>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/graphql", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = server.clone();
            std::thread::spawn(move || serve(&server, stream));
        }
    });
    address
}

fn serve(server: &FakeQontractServer, stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let (method, path) = (line.split(' ').next()?.to_string(), line.split(' ').nth(1)?.to_string());
    let (mut length, mut authorization) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => authorization = Some(value.to_string()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (status, answer) = server.answer(&method, &path, authorization.as_deref(), &String::from_utf8_lossy(&body));
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len()).ok()?;
    stream.write_all(&answer).ok()
}
