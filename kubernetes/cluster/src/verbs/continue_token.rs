//! Continue tokens: the position and revision at which a list continues.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use switchboard_object::json;
use switchboard_object::status::Status;

const VERSION: &str = "meta.k8s.io/v1";

/// Position at which a list continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContinueToken {
    /// Revision of the first page; `None` continues at the newest revision.
    pub revision: Option<u64>,
    /// Last key that was sent, without the list's prefix.
    pub after: String,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct ContinueTokenWire {
    v: String,
    rv: i64,
    start: String,
}

impl ContinueToken {
    /// Encodes the token for the client.
    pub fn encode(&self) -> String {
        let rv = self.revision.map_or(-1, |r| r as i64);
        // kube-apiserver's start is the first key not sent: the last one and a zero byte.
        let wire = ContinueTokenWire { v: VERSION.into(), rv, start: format!("{}\0", self.after) };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).expect("a token is encodable"))
    }

    /// Decodes a token from a client.
    pub fn decode(text: &str) -> Result<Self, Status> {
        let invalid =
            |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid{why}"));
        let data = URL_SAFE_NO_PAD.decode(text).map_err(|e| invalid(&format!(": {}", base64_error(&e))))?;
        let document = json::read(&data).map_err(|e| invalid(&format!(": {e}")))?;
        let wire: ContinueTokenWire = serde_json::from_value(document.value).map_err(|e| invalid(&format!(": {e}")))?;
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

/// Returns Go's text for the error.
fn base64_error(error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => *at,
        base64::DecodeError::InvalidLength(at) => *at,
        base64::DecodeError::InvalidPadding => 0,
    };
    format!("illegal base64 data at input byte {at}")
}
