//! Gzip compression of large responses.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::StreamExt;
use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};

use crate::response::{ApiResponse, ResponsePayload};

/// Smaller responses are not compressed, as in kube-apiserver.
const THRESHOLD: usize = 128 * 1024;

/// Whether the client accepts gzip.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT_ENCODING).and_then(|v| v.to_str().ok()).unwrap_or_default();
    accepts.split(',').any(|clause| {
        let mut parts = clause.split(';').map(str::trim);
        parts.next() == Some("gzip") && !parts.any(|p| matches!(p, "q=0" | "q=0.0"))
    })
}

/// Compresses a large response; watches and small responses stay as they are.
pub(super) fn compress(mut answer: ApiResponse) -> ApiResponse {
    let large = match &answer.payload {
        ResponsePayload::Full(body) => body.len() >= THRESHOLD,
        ResponsePayload::Pieces { bytes, .. } => *bytes >= THRESHOLD as u64,
        ResponsePayload::Stream(_) => false,
    };
    if !large {
        return answer;
    }
    answer.payload = match answer.payload {
        ResponsePayload::Full(body) => gzip_chunks(std::iter::once(body)),
        ResponsePayload::Pieces { left, .. } => gzip_chunks(left),
        streamed => streamed,
    };
    answer = answer.with_header(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    answer.with_header(VARY, HeaderValue::from_static("Accept-Encoding"))
}

/// Compresses chunks while they are sent.
fn gzip_chunks(pieces: impl Iterator<Item = Bytes> + Send + 'static) -> ResponsePayload {
    // Fastest level, as in kube-apiserver, because the network is near.
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    let packed = pieces.map(Some).chain(std::iter::once(None)).map(move |piece| {
        let out = match (&mut encoder, piece) {
            (Some(encoder), Some(piece)) => encoder.write_all(&piece).map(|()| std::mem::take(encoder.get_mut())),
            (_, _) => encoder.take().map_or(Ok(Vec::new()), GzEncoder::finish),
        };
        Bytes::from(out.expect("writing to memory cannot fail"))
    });
    // Empty chunks are not sent.
    ResponsePayload::Stream(futures::stream::iter(packed.filter(|out| !out.is_empty())).boxed())
}
