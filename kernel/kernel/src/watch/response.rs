//! Requests to an API server: responses, list pages, errors.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_object::causes::root_cause;

use super::task::ConnectionEnd;
use super::{LIST_PAGE_OBJECTS, MAX_PAGE_BYTES};
use crate::resource::TableKey;

/// Maximum bytes read of an error response.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// Code and message of a Kubernetes `Status`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct ApiStatus {
    pub code: u16,
    pub message: String,
}

impl ApiStatus {
    /// Parses a `Status`; any other body becomes the message.
    pub fn read(bytes: &[u8], code: u16) -> Self {
        let said: ApiStatus = serde_json::from_slice(bytes).unwrap_or_default();
        let code = if said.code == 0 { code } else { said.code };
        let spoken = if said.message.is_empty() { String::from_utf8_lossy(bytes).into_owned() } else { said.message };
        Self { code, message: spoken }
    }

    /// Converts the error to the end of a connection.
    pub fn connection_end(self) -> ConnectionEnd {
        match self.code {
            404 => ConnectionEnd::NotServed,
            410 => ConnectionEnd::RevisionExpired,
            // The server was recreated or restored, and has not reached the revision yet.
            _ if self.message.contains("Too large resource version") => ConnectionEnd::RevisionExpired,
            code => ConnectionEnd::Failed(format!("the API server returned {code}: {}", self.message)),
        }
    }
}

/// Sends a request, and returns the body of a successful response.
pub async fn get(client: &Client, path: &str, patience: Duration) -> Result<Body, RequestError> {
    let request = Request::get(path).header(http::header::ACCEPT, "application/json").body(Body::empty());
    let request = request.map_err(|error| RequestError::Broken(format!("invalid path: {error}")))?;
    let silent = |_| RequestError::Broken(format!("no response from the API server within {patience:?}"));
    let answer = tokio::time::timeout(patience, client.send(request)).await.map_err(silent)?;
    let answer = answer
        .map_err(|error| RequestError::Broken(format!("could not reach the API server: {}", root_cause(&error))))?;
    let status = answer.status();
    if status == StatusCode::OK {
        return Ok(answer.into_body());
    }
    let body = Limited::new(answer.into_body(), MAX_REFUSAL_BYTES).collect();
    let body = tokio::time::timeout(patience, body).await.map_err(silent)?;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    Err(RequestError::Status(ApiStatus::read(&body, status.as_u16())))
}

/// Error of a request.
pub enum RequestError {
    /// The server returned an error.
    Status(ApiStatus),
    /// There was no response.
    Broken(String),
}

impl From<RequestError> for ConnectionEnd {
    fn from(refused: RequestError) -> Self {
        match refused {
            RequestError::Status(refusal) => refusal.connection_end(),
            RequestError::Broken(message) => ConnectionEnd::Failed(message),
        }
    }
}

/// Page of a list.
pub struct ListPage {
    pub items: Vec<Bytes>,
    pub revision: u64,
    /// Continue token for the next page; empty for the last page.
    pub next: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

#[derive(Deserialize)]
struct ListBody<'a> {
    metadata: ListMetadata,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

/// Reads a page of a kind; the first one if `next` is empty.
pub async fn page(
    client: &Client,
    table: &TableKey,
    next: &str,
    patience: Duration,
) -> Result<ListPage, ConnectionEnd> {
    let mut path = format!("{}?limit={LIST_PAGE_OBJECTS}", table.resource.path(""));
    if !next.is_empty() {
        path.push_str("&continue=");
        path.push_str(&escaped(next));
    }
    let body = get(client, &path, patience).await?;
    let body = tokio::time::timeout(patience, Limited::new(body, MAX_PAGE_BYTES).collect());
    let body =
        body.await.map_err(|_| ConnectionEnd::Failed(format!("a page of the list took longer than {patience:?}")))?;
    let bytes = body.map_err(|error| ConnectionEnd::Failed(format!("the list was cut off: {error}")))?.to_bytes();
    let unreadable = |error: serde_json::Error| ConnectionEnd::Failed(format!("could not parse the list: {error}"));
    let list: ListBody<'_> = serde_json::from_slice(&bytes).map_err(unreadable)?;
    let revision = list.metadata.resource_version.parse();
    let revision = revision.map_err(|_| ConnectionEnd::Failed("the list has no resourceVersion".to_string()))?;
    let items = list.items.unwrap_or_default().into_iter().map(|item| bytes.slice_ref(item.get().as_bytes())).collect();
    Ok(ListPage { items, revision, next: list.metadata.r#continue })
}

/// Percent-encodes a continue token.
fn escaped(token: &str) -> String {
    let mut out = String::with_capacity(token.len());
    for byte in token.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
