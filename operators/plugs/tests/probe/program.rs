//! A program that takes part: records its calls, and fails on demand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// Failure of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// Answers with status 500 without any effect.
    ServerError,
    /// Closes the connection without any effect.
    ClosedBefore,
    /// Performs the call, then closes the connection without an answer.
    ClosedAfter,
    /// Sends an invalid answer.
    InvalidAnswer,
}

impl CallFailure {
    pub const ALL: [CallFailure; 4] =
        [CallFailure::ServerError, CallFailure::ClosedBefore, CallFailure::ClosedAfter, CallFailure::InvalidAnswer];
}

/// A recorded call: its path, such as `/socket/coupled`, the plug, and the mark of the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCall {
    pub path: String,
    pub mark: String,
}

#[derive(Default)]
struct ProgramState {
    recorded: Vec<RecordedCall>,
    calls: usize,
    failure: Option<(usize, CallFailure)>,
}

/// Listens until the test ends.
#[derive(Clone)]
pub struct TestProgram {
    pub address: SocketAddr,
    state: Arc<Mutex<ProgramState>>,
}

impl TestProgram {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let program = Self { address: listener.local_addr().unwrap(), state: Arc::default() };
        let serving = program.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // Ignore clients that close the connection early.
                let _ = serving.serve(stream);
            }
        });
        program
    }

    /// Returns the calls since the last query and their number. Afterwards, the given call fails.
    pub fn next(&self, failure: Option<(usize, CallFailure)>) -> (Vec<RecordedCall>, usize) {
        let before = std::mem::replace(&mut *self.state(), ProgramState { failure, ..ProgramState::default() });
        (before.recorded, before.calls)
    }

    fn state(&self) -> MutexGuard<'_, ProgramState> {
        self.state.lock().unwrap()
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let (line, mark) = read(&stream)?;
        let path = line.split(' ').nth(1).unwrap_or_default().to_string();
        let manner = {
            let mut state = self.state();
            let manner = state.failure.filter(|(at, _)| *at == state.calls).map(|(_, manner)| manner);
            state.calls += 1;
            if !matches!(manner, Some(CallFailure::ServerError | CallFailure::ClosedBefore)) {
                state.recorded.push(RecordedCall { path: path.clone(), mark });
            }
            manner
        };
        let (status, body) = match manner {
            Some(CallFailure::ClosedBefore | CallFailure::ClosedAfter) => return Ok(()),
            Some(CallFailure::ServerError) => (500, "{}"),
            Some(CallFailure::InvalidAnswer) => (200, "<html>"),
            None if path.ends_with("/config") => (200, r#"{"realm":"example"}"#),
            None => (200, "{}"),
        };
        write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
    }
}

/// Reads a request, and returns its first line and the mark of the event.
fn read(stream: &TcpStream) -> std::io::Result<(String, String)> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length, mut mark) = (String::new(), 0, String::new());
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "idempotency-key" => mark = value.trim().to_string(),
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    Ok((first, mark))
}
