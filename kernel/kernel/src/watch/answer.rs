//! Asking an API server: requests, pages, refusals.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::task::End;
use super::{LIST_PAGE_OBJECTS, MAX_PAGE_BYTES};
use crate::resource::TableKey;

/// How much of a refusal is read.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// A `Status` as far as it matters here.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Refusal {
    pub code: u16,
    pub message: String,
}

impl Refusal {
    /// Reads a `Status`; what is none becomes the message.
    pub fn read(bytes: &[u8], code: u16) -> Self {
        let said: Refusal = serde_json::from_slice(bytes).unwrap_or_default();
        let code = if said.code == 0 { code } else { said.code };
        let spoken = if said.message.is_empty() { String::from_utf8_lossy(bytes).into_owned() } else { said.message };
        Self { code, message: spoken }
    }

    /// What follows from it.
    pub fn end(self) -> End {
        match self.code {
            404 => End::NotServed,
            410 => End::Gone,
            // The server was set up anew, or restored: it does not have the revision yet.
            _ if self.message.contains("Too large resource version") => End::Gone,
            code => End::Lost(format!("the API server answered {code}: {}", self.message)),
        }
    }
}

/// Sends a request; the answer's body when it was accepted.
pub async fn get(client: &Client, path: &str, patience: Duration) -> Result<Body, Refused> {
    let request = Request::get(path).header(http::header::ACCEPT, "application/json").body(Body::empty());
    let request = request.map_err(|error| Refused::Broken(format!("the path cannot be asked for: {error}")))?;
    let silent = |_| Refused::Broken(format!("the API server has not answered for {patience:?}"));
    let answer = tokio::time::timeout(patience, client.send(request)).await.map_err(silent)?;
    let answer = answer.map_err(|error| Refused::Broken(format!("the API server cannot be reached: {error}")))?;
    let status = answer.status();
    if status == StatusCode::OK {
        return Ok(answer.into_body());
    }
    let body = Limited::new(answer.into_body(), MAX_REFUSAL_BYTES).collect();
    let body = tokio::time::timeout(patience, body).await.map_err(silent)?;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    Err(Refused::Status(Refusal::read(&body, status.as_u16())))
}

/// Why a request was not answered with what it asked for.
pub enum Refused {
    /// The server said no.
    Status(Refusal),
    /// It said nothing.
    Broken(String),
}

impl From<Refused> for End {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Status(refusal) => refusal.end(),
            Refused::Broken(message) => End::Lost(message),
        }
    }
}

/// One page of a list.
pub struct Page {
    pub items: Vec<Bytes>,
    pub revision: u64,
    /// How to ask for the next page; empty when this is the last.
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
struct List<'a> {
    metadata: ListMetadata,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

/// Reads a page of a kind; the first one when `next` is empty.
pub async fn page(client: &Client, table: &TableKey, next: &str, patience: Duration) -> Result<Page, End> {
    let mut path = format!("{}?limit={LIST_PAGE_OBJECTS}", table.resource.path(""));
    if !next.is_empty() {
        path.push_str("&continue=");
        path.push_str(&escaped(next));
    }
    let body = get(client, &path, patience).await?;
    let body = tokio::time::timeout(patience, Limited::new(body, MAX_PAGE_BYTES).collect());
    let body = body.await.map_err(|_| End::Lost(format!("a page of the list took longer than {patience:?}")))?;
    let bytes = body.map_err(|error| End::Lost(format!("the list broke off: {error}")))?.to_bytes();
    let unreadable = |error: serde_json::Error| End::Lost(format!("the list cannot be read: {error}"));
    let list: List<'_> = serde_json::from_slice(&bytes).map_err(unreadable)?;
    let revision = list.metadata.resource_version.parse();
    let revision = revision.map_err(|_| End::Lost("the list has no revision".to_string()))?;
    let items = list.items.unwrap_or_default().into_iter().map(|item| bytes.slice_ref(item.get().as_bytes())).collect();
    Ok(Page { items, revision, next: list.metadata.r#continue })
}

/// A token of the server's as part of a query.
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
