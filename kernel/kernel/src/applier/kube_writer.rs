//! Writes through `kube::Client`, to the embedded cluster and to real clusters.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use serde_json::Value;

use super::{WriteRequest, WriteResponse, Writer, prepare};
use crate::operator::ServiceAccount;
use crate::rate_limiter::RateLimiter;
use crate::resource::ObjectKey;
use crate::topology::ClusterName;

/// Timeout for a response.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a response body.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// Writer for clusters by name.
pub struct KubeWriter {
    clients: BTreeMap<ClusterName, kube::Client>,
    rate_limiter: RateLimiter,
}

impl KubeWriter {
    /// Creates a writer. The clients must be allowed to impersonate the operators' service accounts.
    pub fn new(clients: BTreeMap<ClusterName, kube::Client>) -> Self {
        Self { clients, rate_limiter: RateLimiter::unlimited() }
    }

    /// Limits the rate of all requests, retries included.
    #[must_use]
    pub fn with_rate_limiter(self, rate_limiter: RateLimiter) -> Self {
        Self { rate_limiter, ..self }
    }

    async fn write(&self, request: &WriteRequest) -> WriteResponse {
        let Some(client) = self.clients.get(&request.write.object.table.cluster) else {
            return unknown_cluster(&request.write.object.table.cluster);
        };
        let prepared = prepare(request);
        let mut builder = http::Request::builder()
            .method(prepared.method)
            .uri(&prepared.uri)
            .header("Content-Type", prepared.content_type)
            .header("Accept", "application/json");
        if let Some(user) = &request.user {
            builder = impersonating(builder, user);
        }
        let http = match builder.body(kube::client::Body::from(prepared.body.to_string().into_bytes())) {
            Ok(http) => http,
            Err(error) => return rejection(400, "BadRequest", format!("could not build the request: {error}")),
        };
        self.rate_limiter.acquire().await;
        match tokio::time::timeout(RESPONSE_TIMEOUT, exchange(client, http)).await {
            Ok(Ok((code, retry_after, body))) => {
                self.rate_limiter.record_status(code);
                to_response(request, code, retry_after, body)
            }
            Ok(Err(message)) => WriteResponse::Unknown { message },
            Err(_) => WriteResponse::Unknown { message: format!("no response within {RESPONSE_TIMEOUT:?}") },
        }
    }

    async fn read(&self, key: &ObjectKey) -> Result<Option<Value>, String> {
        let cluster = &key.table.cluster;
        let client = self.clients.get(cluster).ok_or_else(|| format!("unknown cluster {cluster}"))?;
        let request = http::Request::get(key.path())
            .header("Accept", "application/json")
            .body(kube::client::Body::empty())
            .map_err(|error| format!("could not build the request: {error}"))?;
        self.rate_limiter.acquire().await;
        let asked = tokio::time::timeout(RESPONSE_TIMEOUT, exchange(client, request)).await;
        let (code, _, body) = asked.map_err(|_| format!("no response within {RESPONSE_TIMEOUT:?}"))??;
        self.rate_limiter.record_status(code);
        match code {
            200 => Ok(Some(body)),
            404 => Ok(None),
            _ => Err(format!("could not read {key}: {}", message_of(&body, code))),
        }
    }
}

impl Writer for KubeWriter {
    fn send<'a>(&'a self, request: &'a WriteRequest) -> BoxFuture<'a, WriteResponse> {
        self.write(request).boxed()
    }

    fn get<'a>(&'a self, key: &'a ObjectKey) -> BoxFuture<'a, Result<Option<Value>, String>> {
        self.read(key).boxed()
    }

    fn wait(&self, time: Duration) -> BoxFuture<'_, ()> {
        tokio::time::sleep(time).boxed()
    }
}

fn unknown_cluster(name: &ClusterName) -> WriteResponse {
    rejection(400, "BadRequest", format!("unknown cluster {name}"))
}

fn rejection(code: u16, reason: &str, message: String) -> WriteResponse {
    WriteResponse::Refused { code, reason: reason.to_string(), message, retry_after: None }
}

/// Impersonates a service account by user name only: the server then adds the account's groups. Sending groups needs
/// the right to impersonate groups, and a client with that right can act as any group.
fn impersonating(builder: http::request::Builder, user: &ServiceAccount) -> http::request::Builder {
    builder.header("Impersonate-User", user.user())
}

async fn exchange(
    client: &kube::Client,
    request: http::Request<kube::client::Body>,
) -> Result<(u16, Option<Duration>, Value), String> {
    let response = client.send(request).await.map_err(|error| format!("the connection failed: {error}"))?;
    let code = response.status().as_u16();
    let header = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let body = http_body_util::Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
    let bytes = body.map_err(|error| format!("the response was cut off: {error}"))?.to_bytes();
    let value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Ok((code, header.map(Duration::from_secs), value))
}

fn to_response(request: &WriteRequest, code: u16, retry_after: Option<Duration>, body: Value) -> WriteResponse {
    let is_object = body["kind"] == request.write.mutation.resource.kind.as_ref();
    match code {
        200..=299 => {
            let revision = body.pointer("/metadata/resourceVersion").and_then(|r| r.as_str()?.parse().ok());
            WriteResponse::Done { after: is_object.then_some(body), revision: revision.unwrap_or_default() }
        }
        // A server that fails may have written before it failed.
        500.. => WriteResponse::Unknown { message: response_message(request, &body, code) },
        _ => WriteResponse::Refused {
            code,
            reason: body["reason"].as_str().unwrap_or_default().to_string(),
            message: response_message(request, &body, code),
            retry_after,
        },
    }
}

/// Returns the error message without values of a Secret, which the server may quote.
fn response_message(request: &WriteRequest, body: &Value, code: u16) -> String {
    let secret = request.write.mutation.resource.kind == "Secret" && request.write.mutation.resource.group.is_empty();
    if secret && matches!(code, 400 | 422 | 500..) {
        return format!("the server rejected the Secret with {code} {}", body["reason"].as_str().unwrap_or_default());
    }
    message_of(body, code)
}

fn message_of(body: &Value, code: u16) -> String {
    body["message"].as_str().map_or_else(|| format!("the server returned {code}"), str::to_string)
}
