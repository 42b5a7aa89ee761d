//! The lines of an answer, as bytes, as they come in.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use kube::client::Body;

use super::MAX_EVENT_BYTES;
use super::task::End;

/// Cuts a body into lines.
pub struct Lines {
    body: Body,
    held: BytesMut,
    /// Up to here there is no line end in what is held.
    searched: usize,
    silence: Duration,
}

impl Lines {
    pub fn new(body: Body, silence: Duration) -> Self {
        Self { body, held: BytesMut::new(), searched: 0, silence }
    }

    /// The next line without its end; `None` when the server has ended the answer.
    pub async fn next(&mut self) -> Result<Option<Bytes>, End> {
        loop {
            if let Some(at) = self.held[self.searched..].iter().position(|b| *b == b'\n') {
                let mut line = self.held.split_to(self.searched + at + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
                return Ok(Some(line.freeze()));
            }
            self.searched = self.held.len();
            if self.held.len() > MAX_EVENT_BYTES {
                return Err(End::Lost(format!("an event is longer than {MAX_EVENT_BYTES} bytes")));
            }
            let frame = tokio::time::timeout(self.silence, self.body.frame()).await.map_err(|_| End::Silent)?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(End::Lost(format!("the connection broke: {error}"))),
                Some(Ok(frame)) => self.held.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            }
        }
    }
}
