//! An apparatus based on the standard library only: answers /config with the request, and accepts every event.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

fn main() {
    let port = std::env::var("PORT").expect("a local process has PORT in its environment");
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).expect("the port is free");
    for stream in listener.incoming().flatten() {
        serve(stream);
    }
}

fn serve(mut stream: TcpStream) -> Option<()> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let mut more = [0; 4096];
        let count = stream.read(&mut more).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&more[..count]);
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
    while bytes.len() < head + length {
        let mut more = [0; 4096];
        let count = stream.read(&mut more).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&more[..count]);
    }
    let path = text.split_whitespace().nth(1)?;
    let level = std::env::var("LEVEL").unwrap_or_default();
    let body = if path.ends_with("/config") { format!("{{\"level\": \"{level}\"}}") } else { "{}".to_string() };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes()).ok()
}
