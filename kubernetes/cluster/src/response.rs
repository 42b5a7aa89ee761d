//! Responses to clients: a code, a body of bytes or a stream of them, warnings.

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

/// Largest number of warnings in one response.
const MAX_WARNINGS: usize = 50;
/// Largest size of all warnings in one response.
const MAX_WARNING_BYTES: usize = 4096;

/// Response before its conversion to HTTP.
pub struct ApiResponse {
    /// HTTP code.
    pub code: u16,
    /// Media type.
    pub content_type: &'static str,
    /// Body.
    pub payload: ResponsePayload,
    /// Additional headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// Body of a response.
pub enum ResponsePayload {
    /// Complete body.
    Full(Bytes),
    /// Chunks of a known total length, produced while they are sent: lists.
    Pieces {
        /// Remaining chunks.
        left: Box<dyn Iterator<Item = Bytes> + Send>,
        /// Total length of the remaining chunks.
        bytes: u64,
    },
    /// Stream of unknown length: watches, compressed lists.
    Stream(BoxStream<'static, Bytes>),
}

impl ApiResponse {
    /// Creates a response with encoded JSON.
    pub fn json(code: u16, body: impl Into<Bytes>) -> Self {
        Self::full(code, "application/json", body)
    }

    /// Creates a response with a value as JSON.
    pub fn value(code: u16, value: &Value) -> Self {
        Self::json(code, serde_json::to_vec(value).expect("a value is encodable"))
    }

    /// Creates a response with plain text.
    pub fn text(code: u16, body: impl Into<Bytes>) -> Self {
        Self::full(code, "text/plain; charset=utf-8", body)
    }

    /// Creates a response with a complete body of any media type.
    pub fn full(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { code, content_type, payload: ResponsePayload::Full(body.into()), headers: Vec::new() }
    }

    /// Creates a response with a body of known length that is produced while it is sent.
    pub fn pieces(
        code: u16,
        content_type: &'static str,
        bytes: u64,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Self {
        let payload = ResponsePayload::Pieces { left: Box::new(pieces), bytes };
        Self { code, content_type, payload, headers: Vec::new() }
    }

    /// Creates a response with a stream as its body.
    pub fn stream(code: u16, content_type: &'static str, stream: BoxStream<'static, Bytes>) -> Self {
        Self { code, content_type, payload: ResponsePayload::Stream(stream), headers: Vec::new() }
    }

    /// Adds a header.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Converts to an HTTP response.
    pub fn into_response(self, warnings: &[String]) -> Response<ResponseBody> {
        let mut response = Response::new(ResponseBody { payload: self.payload });
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

impl ApiResponse {
    /// Creates a response with a value in the given encoding.
    pub fn encoded(code: u16, value: &Value, encoding: Encoding) -> Self {
        match encoding {
            Encoding::Json | Encoding::Protobuf => Self::value(code, value),
            Encoding::Yaml => Self::full(code, encoding.content_type(), yaml::to_string(value)),
        }
    }

    /// Creates the response for an error.
    pub fn from_status(status: &Status, encoding: Encoding) -> Self {
        let mut answer = Self::encoded(status.code, &status.to_value(), encoding);
        let retry = status.details.as_ref().and_then(|d| d.get("retryAfterSeconds")).and_then(Value::as_u64);
        if let Some(seconds) = retry {
            answer.headers.push((http::header::RETRY_AFTER, HeaderValue::from(seconds)));
        }
        answer
    }
}

/// Formats a warning header `299 - "text"`, with the text quoted as in RFC 7230.
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

/// Body of an HTTP response.
pub struct ResponseBody {
    payload: ResponsePayload,
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut self.payload {
            ResponsePayload::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            ResponsePayload::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            ResponsePayload::Pieces { left, bytes } => Poll::Ready(left.next().map(|piece| {
                *bytes = bytes.saturating_sub(piece.len() as u64);
                Ok(Frame::data(piece))
            })),
            ResponsePayload::Stream(stream) => {
                stream.as_mut().poll_next(cx).map(|next| next.map(|b| Ok(Frame::data(b))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.payload {
            ResponsePayload::Full(bytes) => bytes.is_empty(),
            ResponsePayload::Pieces { bytes, .. } => *bytes == 0,
            ResponsePayload::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.payload {
            ResponsePayload::Full(bytes) => http_body::SizeHint::with_exact(bytes.len() as u64),
            ResponsePayload::Pieces { bytes, .. } => http_body::SizeHint::with_exact(*bytes),
            ResponsePayload::Stream(_) => http_body::SizeHint::default(),
        }
    }
}
