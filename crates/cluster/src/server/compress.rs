//! Gzip for large answers, to clients that accept it.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
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

/// Compresses a large answer; streams and small answers stay as they are.
pub(super) fn compress(mut answer: Answer) -> Answer {
    let Payload::Full(body) = &answer.payload else { return answer };
    if body.len() < THRESHOLD {
        return answer;
    }
    // The fastest level, as upstream: the network is near.
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    if encoder.write_all(body).is_err() {
        return answer;
    }
    if let Ok(packed) = encoder.finish() {
        answer.payload = Payload::Full(packed.into());
        answer = answer.with_header(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        answer = answer.with_header(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    answer
}
