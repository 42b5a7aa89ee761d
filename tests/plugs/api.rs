//! Requests as the person of a case makes them.

use kube::Client;
use serde_json::Value;

/// The field manager of whoever a case speaks of.
pub const ADMIN: &str = "case-admin";

/// Sends a request; a patch merges unless it is an apply. The error is the server's message.
pub async fn send(client: &Client, method: &str, path: &str, body: Value) -> Result<Value, String> {
    let (method, kind) = match method {
        "APPLY" => ("PATCH", "application/apply-patch+yaml"),
        "PATCH" => ("PATCH", "application/merge-patch+json"),
        other => (other, "application/json"),
    };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", kind);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    match client.request::<Value>(request.body(body).unwrap()).await {
        Ok(answer) => Ok(answer),
        Err(kube::Error::Api(status)) => Err(status.message),
        Err(error) => Err(error.to_string()),
    }
}

/// An object, or a list.
pub async fn get(client: &Client, path: &str) -> Option<Value> {
    send(client, "GET", path, Value::Null).await.ok()
}
