//! Continue tokens: where a list goes on, and at which revision.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use switchboard_object::json;
use switchboard_object::status::Status;

const VERSION: &str = "meta.k8s.io/v1";

/// Where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// The revision of the first page; `None` goes on at the newest one.
    pub revision: Option<u64>,
    /// The last key that was sent, without the list's prefix.
    pub after: String,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Wire {
    v: String,
    rv: i64,
    start: String,
}

impl Token {
    /// The text a client sends back.
    pub fn encode(&self) -> String {
        let rv = self.revision.map_or(-1, |r| r as i64);
        // Upstream's start is the first key not sent: the last one and a zero byte.
        let wire = Wire { v: VERSION.into(), rv, start: format!("{}\0", self.after) };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).expect("a token is encodable"))
    }

    /// Reads what a client sent back.
    pub fn decode(text: &str) -> Result<Self, Status> {
        let invalid =
            |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid{why}"));
        let data = URL_SAFE_NO_PAD.decode(text).map_err(|e| invalid(&format!(": {}", base64_error(&e))))?;
        let document = json::read(&data).map_err(|e| invalid(&format!(": {e}")))?;
        let wire: Wire = serde_json::from_value(document.value).map_err(|e| invalid(&format!(": {e}")))?;
        if wire.v != VERSION {
            return Err(invalid(&format!(": server does not recognize this encoded version {}", wire.v)));
        }
        if wire.rv == 0 {
            return Err(invalid(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        if wire.start.is_empty() {
            return Err(invalid(": encoded start key empty (version meta.k8s.io/v1)"));
        }
        if wire.start.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(invalid(&format!(": {}", wire.start)));
        }
        let after = wire.start.strip_suffix('\0').unwrap_or(&wire.start).to_string();
        Ok(Self { revision: u64::try_from(wire.rv).ok(), after })
    }
}

/// Go's words for the same fault.
fn base64_error(error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => *at,
        base64::DecodeError::InvalidLength(at) => *at,
        base64::DecodeError::InvalidPadding => 0,
    };
    format!("illegal base64 data at input byte {at}")
}
