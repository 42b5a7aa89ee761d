//! What goes back to the client: a code, a body of bytes or a stream of them, warnings.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::BoxStream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WARNING};
use http::{Response, StatusCode};
use http_body::Frame;
use switchboard_object::Value;
use switchboard_object::status::Status;
use switchboard_object::yaml;

use crate::request::media::Encoding;

/// The most warnings one answer carries.
const MAX_WARNINGS: usize = 50;
/// The most bytes of warnings one answer carries.
const MAX_WARNING_BYTES: usize = 4096;

/// An answer, before it is an HTTP response.
pub struct Answer {
    /// The HTTP code.
    pub code: u16,
    /// The media type.
    pub content_type: &'static str,
    /// The body.
    pub payload: Payload,
    /// Headers beyond the usual.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// The body of an answer.
pub enum Payload {
    /// All of it.
    Full(Bytes),
    /// Piece by piece, made while it is sent, and together as long as stated: lists.
    Pieces {
        /// What is left.
        left: Box<dyn Iterator<Item = Bytes> + Send>,
        /// How long that is.
        bytes: u64,
    },
    /// Piece by piece, as it comes: watches, compressed lists.
    Stream(BoxStream<'static, Bytes>),
}

impl Answer {
    /// Encoded JSON.
    pub fn json(code: u16, body: impl Into<Bytes>) -> Self {
        Self::full(code, "application/json", body)
    }

    /// A value as JSON.
    pub fn value(code: u16, value: &Value) -> Self {
        Self::json(code, serde_json::to_vec(value).expect("a value is encodable"))
    }

    /// Plain text.
    pub fn text(code: u16, body: impl Into<Bytes>) -> Self {
        Self::full(code, "text/plain; charset=utf-8", body)
    }

    /// A body of any type.
    pub fn full(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { code, content_type, payload: Payload::Full(body.into()), headers: Vec::new() }
    }

    /// A body of that length, made while it is sent.
    pub fn pieces(
        code: u16,
        content_type: &'static str,
        bytes: u64,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Self {
        let payload = Payload::Pieces { left: Box::new(pieces), bytes };
        Self { code, content_type, payload, headers: Vec::new() }
    }

    /// A body that comes as a stream.
    pub fn stream(code: u16, content_type: &'static str, stream: BoxStream<'static, Bytes>) -> Self {
        Self { code, content_type, payload: Payload::Stream(stream), headers: Vec::new() }
    }

    /// The same answer with one more header.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The HTTP response.
    pub fn into_response(self, warnings: &[String]) -> Response<Body> {
        let mut response = Response::new(Body { payload: self.payload });
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if !self.content_type.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        headers.extend(self.headers);
        let mut room = MAX_WARNING_BYTES;
        for text in warnings.iter().take(MAX_WARNINGS) {
            let Some(value) = warning(text) else { continue };
            let Some(left) = room.checked_sub(value.len()) else { break };
            room = left;
            headers.append(WARNING, value);
        }
        response
    }
}

impl Answer {
    /// A value in an encoding.
    pub fn encoded(code: u16, value: &Value, encoding: Encoding) -> Self {
        match encoding {
            Encoding::Json | Encoding::Protobuf => Self::value(code, value),
            Encoding::Yaml => Self::full(code, encoding.content_type(), yaml::to_string(value)),
        }
    }

    /// A refusal.
    pub fn refusal(status: &Status, encoding: Encoding) -> Self {
        let mut answer = Self::encoded(status.code, &status.to_value(), encoding);
        let retry = status.details.as_ref().and_then(|d| d.get("retryAfterSeconds")).and_then(Value::as_u64);
        if let Some(seconds) = retry {
            answer.headers.push((http::header::RETRY_AFTER, HeaderValue::from(seconds)));
        }
        answer
    }
}

/// `299 - "text"`, the text quoted as RFC 7230 wants it.
fn warning(text: &str) -> Option<HeaderValue> {
    let mut quoted = String::with_capacity(text.len() + 10);
    quoted.push_str("299 - \"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    HeaderValue::from_bytes(quoted.as_bytes()).ok()
}

/// The body of a response.
pub struct Body {
    payload: Payload,
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut self.payload {
            Payload::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Payload::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Payload::Pieces { left, bytes } => Poll::Ready(left.next().map(|piece| {
                *bytes = bytes.saturating_sub(piece.len() as u64);
                Ok(Frame::data(piece))
            })),
            Payload::Stream(stream) => stream.as_mut().poll_next(cx).map(|next| next.map(|b| Ok(Frame::data(b)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.payload {
            Payload::Full(bytes) => bytes.is_empty(),
            Payload::Pieces { bytes, .. } => *bytes == 0,
            Payload::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.payload {
            Payload::Full(bytes) => http_body::SizeHint::with_exact(bytes.len() as u64),
            Payload::Pieces { bytes, .. } => http_body::SizeHint::with_exact(*bytes),
            Payload::Stream(_) => http_body::SizeHint::default(),
        }
    }
}
