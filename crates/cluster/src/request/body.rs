//! The body of a request, bounded, and what it says.

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use switchboard_object::Value;
use switchboard_object::json;
use switchboard_object::status::Status;
use switchboard_object::yaml;

use super::media::Encoding;
use super::protobuf;

/// The largest body the server reads.
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// Reads the whole body, or refuses it once it is too large.
pub async fn read<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Err(error) => Err(Status::bad_request(format!("could not read the request body: {error}"))),
    }
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
