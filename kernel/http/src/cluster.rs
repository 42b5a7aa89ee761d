//! Requests to the cluster, and the translation of its errors into problem details.

use http::header::CONTENT_TYPE;
use http::{Method, Request};
use kube::Client;
use serde_json::Value;
use switchboard_kernel::resource::Resource;

use crate::problem::{ProblemDetails, ProblemKind};

/// Value of `Retry-After` when the cluster does not respond, in seconds.
const RETRY_S: u64 = 5;

/// Kind with its name in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedResource {
    /// Kind.
    pub resource: &'static Resource,
    /// Name in messages: `application`.
    pub display_name: &'static str,
}

/// Sends a request to a cluster, with a JSON body if there is one. The body of a PATCH is a merge patch.
///
/// # Errors
/// When the cluster fails or refuses the request.
pub async fn send(client: &Client, method: Method, path: String, body: Option<&Value>) -> Result<Value, kube::Error> {
    let media = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let mut request = Request::builder().method(method).uri(path);
    if body.is_some() {
        request = request.header(CONTENT_TYPE, media);
    }
    let bytes = body.map(|object| object.to_string().into_bytes()).unwrap_or_default();
    client.request(request.body(bytes).map_err(kube::Error::HttpError)?).await
}

/// Client for the resources of one cluster.
#[derive(Clone)]
pub struct ClusterApi {
    client: Client,
}

/// One page of a list.
pub struct ClusterPage {
    /// Objects of the page.
    pub items: Vec<Value>,
    /// Continue token of the next page.
    pub next: Option<String>,
}

impl ClusterApi {
    /// Creates a client for the cluster of this client.
    pub fn new(client: Client) -> ClusterApi {
        ClusterApi { client }
    }

    /// Gets an object.
    pub async fn get(&self, of: &NamedResource, namespace: &str, name: &str) -> Result<Value, ProblemDetails> {
        self.send(of, Method::GET, of.resource.object_path(namespace, name), None).await
    }

    /// Gets an object; `None` if it does not exist.
    pub async fn find(&self, of: &NamedResource, namespace: &str, name: &str) -> Result<Option<Value>, ProblemDetails> {
        match self.get(of, namespace, name).await {
            Ok(object) => Ok(Some(object)),
            Err(problem) if problem.kind() == ProblemKind::NotFound => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// Lists one page of objects.
    pub async fn list(
        &self,
        of: &NamedResource,
        ns: &str,
        limit: u32,
        from: Option<&str>,
    ) -> Result<ClusterPage, ProblemDetails> {
        let mut path = format!("{}?limit={limit}", of.resource.path(ns));
        if let Some(token) = from {
            path.push_str(&format!("&continue={}", encode(token)));
        }
        let mut list = self.send(of, Method::GET, path, None).await?;
        let next = list.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty());
        let next = next.map(str::to_string);
        let items = match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        Ok(ClusterPage { items, next })
    }

    /// Creates an object.
    pub async fn create(&self, of: &NamedResource, namespace: &str, object: &Value) -> Result<Value, ProblemDetails> {
        let made = self.send(of, Method::POST, of.resource.path(namespace), Some(object)).await;
        made.map_err(|problem| match problem.kind() {
            ProblemKind::NotFound => {
                ProblemDetails::new(ProblemKind::NotFound, format!("tenant `{namespace}` does not exist"))
            }
            _ => problem,
        })
    }

    /// Replaces an object.
    pub async fn replace(
        &self,
        of: &NamedResource,
        ns: &str,
        name: &str,
        object: &Value,
    ) -> Result<Value, ProblemDetails> {
        self.send(of, Method::PUT, of.resource.object_path(ns, name), Some(object)).await
    }

    /// Applies a merge patch to an object.
    pub async fn merge(
        &self,
        of: &NamedResource,
        ns: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value, ProblemDetails> {
        self.send(of, Method::PATCH, of.resource.object_path(ns, name), Some(patch)).await
    }

    /// Deletes an object; with a resource version in the preconditions, only that version.
    pub async fn delete(
        &self,
        of: &NamedResource,
        ns: &str,
        name: &str,
        options: &Value,
    ) -> Result<(), ProblemDetails> {
        self.send(of, Method::DELETE, of.resource.object_path(ns, name), Some(options)).await.map(drop)
    }

    async fn send(
        &self,
        of: &NamedResource,
        method: Method,
        path: String,
        body: Option<&Value>,
    ) -> Result<Value, ProblemDetails> {
        send(&self.client, method, path, body).await.map_err(|error| problem_of(of, &error))
    }
}

/// Translates an error of the cluster into problem details.
fn problem_of(of: &NamedResource, error: &kube::Error) -> ProblemDetails {
    let kube::Error::Api(status) = error else {
        tracing::warn!(resource = &*of.resource.plural, error = %error, "could not send a request to the cluster");
        return unavailable();
    };
    let message = status.message.clone();
    match status.code {
        400 => ProblemDetails::new(ProblemKind::Malformed, message),
        // The caller's access was authorized before, so this comes from admission, a quota or a terminating namespace.
        403 => ProblemDetails::new(ProblemKind::Forbidden, message),
        404 => ProblemDetails::new(ProblemKind::NotFound, format!("the {} does not exist", of.display_name)),
        409 => ProblemDetails::new(ProblemKind::Conflict, message),
        410 => ProblemDetails::new(ProblemKind::Expired, "the continue token has expired"),
        413 => ProblemDetails::new(ProblemKind::TooLarge, message),
        422 => ProblemDetails::new(ProblemKind::Invalid, message),
        429 => ProblemDetails::new(ProblemKind::TooMany, "the cluster limits its request rate").retry_after_s(RETRY_S),
        code => {
            tracing::warn!(resource = &*of.resource.plural, code, message, "the cluster returned an error");
            unavailable()
        }
    }
}

fn unavailable() -> ProblemDetails {
    ProblemDetails::new(ProblemKind::Unavailable, "the cluster does not respond").retry_after_s(RETRY_S)
}

/// Percent-encodes a query value.
fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
