//! Attributes of a request, from URL, method and query, for the verbs and the authorizer.
//!
//! ```text
//! GET /clusters/blue/apis/apps/v1/namespaces/shop/deployments/web/scale
//!     └ cluster ───┘      └ group, version ┘ └ namespace ┘└ resource ┘└ subresource
//! ```

pub mod body;
pub mod delete;
pub mod list;
pub mod media;
pub mod protobuf;
pub mod query;
#[cfg(test)]
mod tests;
pub mod write;

use http::Method;
use switchboard_object::status::Status;

use self::query::UrlQuery;

/// Longest path that the server accepts.
pub const MAX_PATH_BYTES: usize = 8 * 1024;
/// Longest query that the server accepts, with room for long label selectors.
pub const MAX_QUERY_BYTES: usize = 256 * 1024;
/// Logical cluster of paths without a `/clusters/<name>` prefix.
pub const DEFAULT_CLUSTER: &str = "default";

/// Attributes of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestInfo {
    /// Logical cluster.
    pub cluster: String,
    /// Path after the cluster prefix, percent-decoded.
    pub path: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for non-resource paths the
    /// method in lower case.
    pub verb: &'static str,
    /// Whether the path names a resource.
    pub is_resource: bool,
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural name.
    pub resource: String,
    /// `status`, `scale`, ...; empty when none.
    pub subresource: String,
    /// Namespace; empty when none.
    pub namespace: String,
    /// Object name; empty when none.
    pub name: String,
    /// Whether the path has more segments than a resource path.
    pub surplus: bool,
    /// Unparsed `fieldSelector`.
    pub field_selector: String,
    /// Unparsed `labelSelector`.
    pub label_selector: String,
}

impl RequestInfo {
    /// Parses the attributes of a request.
    pub fn parse(method: &Method, path: &str, query: &UrlQuery) -> Result<Self, Status> {
        if path.len() > MAX_PATH_BYTES {
            return Err(Status::new(414, "BadRequest", "the request path is too long"));
        }
        let Some(decoded) = query::percent_decode(path, false) else {
            return Err(Status::bad_request("the request path is not valid"));
        };
        let (cluster, path) = split_cluster(&decoded);
        let mut info =
            Self { cluster: cluster.into(), path: path.into(), verb: method_word(method), ..Self::default() };
        info.read_path(method, path)?;
        if info.is_resource {
            info.refine_verb(query);
        }
        Ok(info)
    }

    fn read_path(&mut self, method: &Method, path: &str) -> Result<(), Status> {
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match parts.first() {
            Some(&"api") if parts.len() >= 3 => {}
            Some(&"apis") if parts.len() >= 4 => self.group = parts.remove(1).into(),
            _ => return Ok(()),
        }
        self.is_resource = true;
        self.version = parts[1].into();
        let mut rest = &parts[2..];
        self.verb = match rest[0] {
            "watch" | "proxy" if rest.len() < 2 => {
                let message = format!("unable to determine kind and namespace from url, {path}");
                return Err(Status::internal(message));
            }
            // Deprecated form of a watch: /api/v1/watch/pods.
            special @ ("watch" | "proxy") => {
                rest = &rest[1..];
                if special == "watch" { "watch" } else { "proxy" }
            }
            _ => verb_of(method),
        };
        if rest[0] == "namespaces" && rest.len() > 1 {
            self.namespace = rest[1].into();
            if rest.len() > 2 && !matches!(rest[2], "status" | "finalize") {
                rest = &rest[2..];
            }
        }
        self.resource = rest[0].into();
        self.name = rest.get(1).copied().unwrap_or_default().into();
        self.subresource = rest.get(2).copied().unwrap_or_default().into();
        self.surplus = rest.len() > 3;
        Ok(())
    }

    fn refine_verb(&mut self, query: &UrlQuery) {
        if self.name.is_empty() && self.verb == "get" {
            self.verb = if query.flag("watch") == Some(true) { "watch" } else { "list" };
        }
        if self.name.is_empty() && self.verb == "delete" {
            self.verb = "deletecollection";
        }
        if matches!(self.verb, "list" | "watch" | "deletecollection") {
            self.field_selector = query.get("fieldSelector").unwrap_or_default().into();
            self.label_selector = query.get("labelSelector").unwrap_or_default().into();
        }
    }
}

/// Splits `/clusters/blue/api/v1/pods` into the logical cluster `blue` and `/api/v1/pods`.
fn split_cluster(path: &str) -> (&str, &str) {
    let Some(rest) = path.strip_prefix("/clusters/") else { return (DEFAULT_CLUSTER, path) };
    match rest.find('/') {
        Some(at) => (&rest[..at], &rest[at..]),
        None => (rest, "/"),
    }
}

fn verb_of(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::GET | Method::HEAD => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

fn method_word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::OPTIONS => "options",
        _ => "",
    }
}
