//! The body of a request, bounded, and what it says.

use std::pin::pin;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body_util::BodyExt;
use switchboard_object::Value;
use switchboard_object::json;
use switchboard_object::status::Status;
use switchboard_object::yaml;

use super::media::Encoding;
use super::protobuf;

/// The largest body the server reads.
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// How much more of a body that is too large is read and thrown away, so that a client which writes before it reads still gets
/// to see why it was refused.
const MAX_DRAINED_BYTES: usize = 32 * 1024 * 1024;

/// Reads the whole body, or refuses it once it is too large.
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

/// 413 in upstream's words.
pub fn too_large() -> Status {
    Status::too_large(format!("Request entity too large: limit is {MAX_BODY_BYTES}"))
}

/// A decoded body.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// What it says.
    pub value: Value,
    /// What strict reading has against it: `duplicate field "data.a"`.
    pub duplicates: Vec<String>,
}

/// Decodes a body; the refusal carries Go's words.
pub fn decode(encoding: Encoding, body: &[u8]) -> Result<Decoded, Status> {
    if encoding == Encoding::Protobuf {
        let value = protobuf::read(body).map_err(|e| Status::bad_request(e.to_string()))?;
        return Ok(Decoded { value, duplicates: Vec::new() });
    }
    // Every JSON document is YAML, and reading it as JSON is cheaper.
    if encoding == Encoding::Json || body.first() == Some(&b'{') {
        let document = json::read(body).map_err(|e| Status::bad_request(e.to_string()))?;
        let duplicates = document.duplicates.iter().map(|path| format!("duplicate field {path:?}")).collect();
        return Ok(Decoded { value: document.value, duplicates });
    }
    let text = std::str::from_utf8(body).map_err(|_| Status::bad_request("yaml: invalid UTF-8"))?;
    let document = yaml::read(text).map_err(|e| Status::bad_request(e.to_string()))?;
    let duplicates = document.strict_error().into_iter().collect();
    Ok(Decoded { value: document.value, duplicates })
}
