//! Gzip for large answers, to clients that accept it.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::StreamExt;
use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};

use crate::answer::{Answer, Payload};

/// Smaller answers are not worth it; upstream's threshold.
const THRESHOLD: usize = 128 * 1024;

/// The client reads gzip.
pub(super) fn accepted(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT_ENCODING).and_then(|v| v.to_str().ok()).unwrap_or_default();
    accepts.split(',').any(|clause| {
        let mut parts = clause.split(';').map(str::trim);
        parts.next() == Some("gzip") && !parts.any(|p| matches!(p, "q=0" | "q=0.0"))
    })
}

/// Compresses a large answer; watches and small answers stay as they are.
pub(super) fn compress(mut answer: Answer) -> Answer {
    let large = match &answer.payload {
        Payload::Full(body) => body.len() >= THRESHOLD,
        Payload::Pieces { bytes, .. } => *bytes >= THRESHOLD as u64,
        Payload::Stream(_) => false,
    };
    if !large {
        return answer;
    }
    answer.payload = match answer.payload {
        Payload::Full(body) => packed(std::iter::once(body)),
        Payload::Pieces { left, .. } => packed(left),
        streamed => streamed,
    };
    answer = answer.with_header(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    answer.with_header(VARY, HeaderValue::from_static("Accept-Encoding"))
}

/// Packs while it is sent.
fn packed(pieces: impl Iterator<Item = Bytes> + Send + 'static) -> Payload {
    // The fastest level, as upstream: the network is near.
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    let packed = pieces.map(Some).chain(std::iter::once(None)).map(move |piece| {
        let out = match (&mut encoder, piece) {
            (Some(encoder), Some(piece)) => encoder.write_all(&piece).map(|()| std::mem::take(encoder.get_mut())),
            (_, _) => encoder.take().map_or(Ok(Vec::new()), GzEncoder::finish),
        };
        Bytes::from(out.expect("memory takes every write"))
    });
    // An empty frame would be none.
    Payload::Stream(futures::stream::iter(packed.filter(|out| !out.is_empty())).boxed())
}
