//! Requests of the user in a case.

use kube::Client;
use serde_json::Value;

/// Field manager of the user in a case.
pub const ADMIN: &str = "case-admin";

/// Sends a request. A patch is a merge patch unless it is an apply. The error is the server's message.
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

/// Returns an object or a list.
pub async fn get(client: &Client, path: &str) -> Option<Value> {
    send(client, "GET", path, Value::Null).await.ok()
}
