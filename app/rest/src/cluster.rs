//! Questions to the cluster, and what its refusals mean to whoever asked us.

use http::header::CONTENT_TYPE;
use http::{Method, Request};
use kube::Client;
use serde_json::Value;

use crate::problem::{Kind, Problem};

/// After how many seconds to ask again when the cluster does not answer.
const RETRY_S: u64 = 5;

/// A kind's place in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// `/api/v1`, or `/apis/GROUP/VERSION`.
    pub root: &'static str,
    /// The group; empty is the core's.
    pub group: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// For people: `application`.
    pub told: &'static str,
}

impl Resource {
    fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = self.root.to_string();
        if !namespace.is_empty() {
            path.push_str(&format!("/namespaces/{namespace}"));
        }
        path.push_str(&format!("/{}", self.plural));
        if !name.is_empty() {
            path.push_str(&format!("/{name}"));
        }
        path
    }
}

/// A cluster that is asked.
#[derive(Clone)]
pub struct Api {
    client: Client,
}

/// A piece of a list.
pub struct Piece {
    /// Objects.
    pub items: Vec<Value>,
    /// How to go on.
    pub next: Option<String>,
}

impl Api {
    pub fn new(client: Client) -> Api {
        Api { client }
    }

    /// An object.
    pub async fn get(&self, of: &Resource, namespace: &str, name: &str) -> Result<Value, Problem> {
        self.send(of, Method::GET, of.path(namespace, name), None).await
    }

    /// An object; none if there is none.
    pub async fn find(&self, of: &Resource, namespace: &str, name: &str) -> Result<Option<Value>, Problem> {
        match self.get(of, namespace, name).await {
            Ok(object) => Ok(Some(object)),
            Err(problem) if problem.kind() == Kind::NotFound => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// A piece of a list.
    pub async fn list(&self, of: &Resource, ns: &str, limit: u32, from: Option<&str>) -> Result<Piece, Problem> {
        let mut path = format!("{}?limit={limit}", of.path(ns, ""));
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
        Ok(Piece { items, next })
    }

    /// Creates an object.
    pub async fn create(&self, of: &Resource, namespace: &str, object: &Value) -> Result<Value, Problem> {
        let made = self.send(of, Method::POST, of.path(namespace, ""), Some((object, "application/json"))).await;
        made.map_err(|problem| match problem.kind() {
            Kind::NotFound => Problem::new(Kind::NotFound, format!("there is no tenant `{namespace}`")),
            _ => problem,
        })
    }

    /// Replaces an object.
    pub async fn replace(&self, of: &Resource, ns: &str, name: &str, object: &Value) -> Result<Value, Problem> {
        self.send(of, Method::PUT, of.path(ns, name), Some((object, "application/json"))).await
    }

    /// Merges into an object.
    pub async fn merge(&self, of: &Resource, ns: &str, name: &str, patch: &Value) -> Result<Value, Problem> {
        self.send(of, Method::PATCH, of.path(ns, name), Some((patch, "application/merge-patch+json"))).await
    }

    /// Deletes an object, of this version alone where one is named.
    pub async fn delete(&self, of: &Resource, ns: &str, name: &str, options: &Value) -> Result<(), Problem> {
        self.send(of, Method::DELETE, of.path(ns, name), Some((options, "application/json"))).await.map(drop)
    }

    async fn send(
        &self,
        of: &Resource,
        method: Method,
        path: String,
        body: Option<(&Value, &str)>,
    ) -> Result<Value, Problem> {
        let mut request = Request::builder().method(method).uri(path);
        if let Some((_, media)) = body {
            request = request.header(CONTENT_TYPE, media);
        }
        let bytes = body.map(|(object, _)| object.to_string().into_bytes()).unwrap_or_default();
        let request =
            request.body(bytes).map_err(|_| Problem::new(Kind::NotFound, "this cannot be the name of anything"))?;
        self.client.request(request).await.map_err(|error| refusal(of, &error))
    }
}

/// What a refusal means to whoever asked.
fn refusal(of: &Resource, error: &kube::Error) -> Problem {
    let kube::Error::Api(status) = error else {
        tracing::warn!(resource = of.plural, error = %error, "could not ask the cluster");
        return unavailable();
    };
    let said = status.message.clone();
    match status.code {
        400 => Problem::new(Kind::Malformed, said),
        // Rights of whoever asked were judged before: this is admission, a quota, a namespace that is going.
        403 => Problem::new(Kind::Forbidden, said),
        404 => Problem::new(Kind::NotFound, format!("there is no such {}", of.told)),
        409 => Problem::new(Kind::Conflict, said),
        410 => Problem::new(Kind::Expired, "the list began too long ago to go on"),
        413 => Problem::new(Kind::TooLarge, said),
        422 => Problem::new(Kind::Invalid, said),
        429 => Problem::new(Kind::TooMany, "the cluster has too much to do").retry_after_s(RETRY_S),
        code => {
            tracing::warn!(resource = of.plural, code, said, "the cluster failed");
            unavailable()
        }
    }
}

fn unavailable() -> Problem {
    Problem::new(Kind::Unavailable, "the cluster does not answer").retry_after_s(RETRY_S)
}

/// Percent-encodes what is not plain in a query.
fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
