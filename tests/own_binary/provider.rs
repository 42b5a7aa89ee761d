//! Provider of DNS records: an HTTP API in memory.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// Entries by host.
type Entries = Arc<Mutex<BTreeMap<String, Value>>>;

/// Running provider; its thread ends with the test.
pub struct Provider {
    port: u16,
    entries: Entries,
}

impl Provider {
    /// Starts on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, entries) = (listener.local_addr().unwrap().port(), Entries::default());
        let shared = entries.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { port, entries }
    }

    /// Returns the URL of the API.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the published address of a host.
    pub fn address(&self, host: &str) -> Option<String> {
        self.entries.lock().unwrap().get(host).and_then(|entry| entry["address"].as_str().map(String::from))
    }
}

/// Serves one request of a connection.
fn serve(stream: TcpStream, entries: &Entries) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line).unwrap();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        if header.trim_end().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut words = line.split_whitespace();
    let (method, host) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (code, answer) = answer(method, host.trim_start_matches("/records/"), &body, entries);
    let text = answer.to_string();
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {code} -\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
    .unwrap();
}

fn answer(method: &str, host: &str, body: &[u8], entries: &Entries) -> (u16, Value) {
    let mut entries = entries.lock().unwrap();
    match method {
        "GET" => entries.get(host).map_or((404, json!({})), |entry| (200, entry.clone())),
        "PUT" => {
            entries.insert(host.to_string(), serde_json::from_slice(body).unwrap());
            (200, json!({}))
        }
        "DELETE" => {
            entries.remove(host);
            (200, json!({}))
        }
        _ => (405, json!({})),
    }
}
