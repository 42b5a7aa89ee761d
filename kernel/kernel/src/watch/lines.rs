//! Splits a response body into lines while it is received.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use kube::client::Body;

use super::MAX_EVENT_BYTES;
use super::task::ConnectionEnd;

/// Splits a body into lines.
pub struct BodyLines {
    body: Body,
    buffer: BytesMut,
    /// Number of buffered bytes known to contain no line end.
    searched: usize,
    silence: Duration,
}

impl BodyLines {
    pub fn new(body: Body, silence: Duration) -> Self {
        Self { body, buffer: BytesMut::new(), searched: 0, silence }
    }

    /// Returns the next line without its line end; `None` at the end of the response.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ConnectionEnd> {
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|b| *b == b'\n') {
                let mut line = self.buffer.split_to(self.searched + at + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
                return Ok(Some(line.freeze()));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > MAX_EVENT_BYTES {
                return Err(ConnectionEnd::Failed(format!("an event is longer than {MAX_EVENT_BYTES} bytes")));
            }
            let frame =
                tokio::time::timeout(self.silence, self.body.frame()).await.map_err(|_| ConnectionEnd::Silent)?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(ConnectionEnd::Failed(format!("the connection failed: {error}"))),
                Some(Ok(frame)) => self.buffer.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            }
        }
    }
}
