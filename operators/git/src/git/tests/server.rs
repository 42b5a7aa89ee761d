//! HTTP file server with an optional password, for git's dumb protocol.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Server that runs until it is dropped.
pub(super) struct HttpFileServer {
    address: SocketAddr,
    received: Arc<Mutex<Vec<String>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

enum ServedContent {
    Files { folder: PathBuf, password: Option<String> },
    Redirect(String),
}

impl HttpFileServer {
    /// Serves a folder. `password` has the form `name:password`.
    pub(super) fn start(folder: &Path, password: Option<&str>) -> Self {
        // Git's dumb protocol needs the files that this command writes.
        let made = Command::new("git").args(["update-server-info"]).current_dir(folder).status().unwrap();
        assert!(made.success());
        Self::spawn(ServedContent::Files { folder: folder.to_path_buf(), password: password.map(ToString::to_string) })
    }

    /// Redirects every request.
    pub(super) fn redirecting(to: &str) -> Self {
        Self::spawn(ServedContent::Redirect(to.to_string()))
    }

    fn spawn(answer: ServedContent) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::new(AtomicBool::new(false));
        let thread = {
            let (heard, ended) = (heard.clone(), ended.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if ended.load(Ordering::SeqCst) {
                        return;
                    }
                    // Clients may close the connection early.
                    let _ = serve(stream.unwrap(), &answer, &heard);
                }
            })
        };
        Self { address, received: heard, ended, thread: Some(thread) }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns every line of every request.
    pub(super) fn received_lines(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }
}

impl Drop for HttpFileServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().unwrap().join();
    }
}

fn serve(mut stream: TcpStream, answer: &ServedContent, heard: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut lines = Vec::new();
    for line in BufReader::new(stream.try_clone()?).lines() {
        let line = line?;
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    heard.lock().unwrap().extend(lines.clone());
    let target = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or("/").to_string();
    let path = target.split('?').next().unwrap_or("/").trim_start_matches('/');
    let say = |stream: &mut TcpStream, status: &str, more: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\n{more}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body))
    };
    let (folder, password) = match answer {
        ServedContent::Redirect(to) => {
            return say(&mut stream, "302 Found", &format!("Location: {to}{target}\r\n"), b"");
        }
        ServedContent::Files { folder, password } => (folder, password),
    };
    if let Some(password) = password {
        let wanted = format!("authorization: basic {}", base64(password.as_bytes()).to_ascii_lowercase());
        if !lines.iter().any(|line| line.to_ascii_lowercase() == wanted) {
            return say(&mut stream, "401 Unauthorized", "WWW-Authenticate: Basic realm=\"git\"\r\n", b"");
        }
    }
    match std::fs::read(folder.join(path)) {
        Ok(body) => say(&mut stream, "200 OK", "", &body),
        Err(_) => say(&mut stream, "404 Not Found", "", b""),
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().enumerate().fold(0_u32, |word, (at, byte)| word | u32::from(*byte) << (16 - 8 * at));
        for at in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { letter as char } else { '=' });
        }
    }
    text
}
