//! Body of a request: reading within bounds, and decoding.

use std::pin::pin;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body_util::BodyExt;
use switchboard_object::Value;
use switchboard_object::json;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;
use switchboard_object::yaml;

use super::media::Encoding;
use super::protobuf;

/// Largest body that the server accepts.
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// Number of further bytes of a too large body that are read and dropped. A client that writes before it reads then
/// still receives the error.
const MAX_DRAINED_BYTES: usize = 32 * 1024 * 1024;

/// Reads the whole body, or returns an error once it is too large.
pub async fn read<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = pin!(body);
    let mut whole = BytesMut::with_capacity(body.size_hint().lower().min(MAX_BODY_BYTES as u64) as usize);
    let mut drained = 0;
    while let Some(frame) = body.as_mut().frame().await {
        let frame = frame.map_err(|error| {
            let error: Box<dyn std::error::Error + Send + Sync> = error.into();
            Status::bad_request(format!("could not read the request body: {error}"))
        })?;
        let Ok(mut data) = frame.into_data() else { continue };
        if drained == 0 && whole.len() + data.remaining() <= MAX_BODY_BYTES {
            whole.put(data);
            continue;
        }
        whole = BytesMut::new();
        drained += data.remaining().max(1);
        data.advance(data.remaining());
        if drained > MAX_DRAINED_BYTES {
            break;
        }
    }
    if drained > 0 { Err(too_large()) } else { Ok(whole.freeze()) }
}

/// Returns the 413 in kube-apiserver's words.
pub fn too_large() -> Status {
    Status::too_large(format!("Request entity too large: limit is {MAX_BODY_BYTES}"))
}

/// Decoded body.
#[derive(Clone, Debug)]
pub struct DecodedBody {
    /// Value.
    pub value: Value,
    /// Errors of strict reading: `duplicate field "data.a"`.
    pub duplicates: Vec<String>,
}

/// Decodes a body. The error has Go's text.
pub fn decode(encoding: Encoding, body: &[u8]) -> Result<DecodedBody, Status> {
    if encoding == Encoding::Protobuf {
        let value = protobuf::read(body).map_err(|e| Status::bad_request(e.to_string()))?;
        return Ok(DecodedBody { value, duplicates: Vec::new() });
    }
    // Every JSON document is YAML, and parsing it as JSON is cheaper.
    if encoding == Encoding::Json || body.first() == Some(&b'{') {
        let document = json::read(body).map_err(|e| Status::bad_request(e.to_string()))?;
        let duplicates = document.duplicates.iter().map(|path| format!("duplicate field {}", quote(path))).collect();
        return Ok(DecodedBody { value: document.value, duplicates });
    }
    let text = std::str::from_utf8(body).map_err(|_| Status::bad_request("yaml: invalid UTF-8"))?;
    let document = yaml::read(text).map_err(|e| Status::bad_request(e.to_string()))?;
    let duplicates = document.strict_error().into_iter().collect();
    Ok(DecodedBody { value: document.value, duplicates })
}
