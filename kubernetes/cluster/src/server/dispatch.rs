//! The way of one request.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response};
use switchboard_object::status::Status;

use super::{Inner, compress, paths};
use crate::answer::{Answer, Body, Payload};
use crate::auth::UNAUTHENTICATED;
use crate::auth::authentication::is_public;
use crate::kinds;
use crate::registry::Registry;
use crate::request::body;
use crate::request::media::{Encoding, Output};
use crate::request::query::Query;
use crate::request::{DEFAULT_CLUSTER, Info};
use crate::resource::Resource;
use crate::verbs::{self, Call};

/// How long a request may take until its answer begins; upstream's bound.
const MAX_REQUEST: Duration = Duration::from_secs(60);

impl Inner {
    /// Answers one request.
    pub(crate) async fn handle<B>(self: &Arc<Self>, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let warnings = verbs::Warnings::default();
        let (encoding, is_head) = (wanted_encoding(request.headers()), request.method() == Method::HEAD);
        let gzip = compress::accepted(request.headers());
        // A watch is answered at once and streams after that, so this bounds everything but the stream.
        let answered = tokio::time::timeout(MAX_REQUEST, self.answer(request, &warnings)).await;
        let mut answer = match answered.unwrap_or_else(|_| Err(timed_out())) {
            Ok(answer) => answer,
            Err(status) => Answer::refusal(&status, encoding),
        };
        if gzip {
            answer = compress::compress(answer);
        }
        if is_head {
            answer.payload = Payload::Full(Default::default());
        }
        answer.into_response(&warnings.take())
    }

    async fn answer<B>(self: &Arc<Self>, request: Request<B>, warnings: &verbs::Warnings) -> Result<Answer, Status>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, sent) = request.into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or_default())?;
        let info = Info::parse(&parts.method, parts.uri.path(), &query)?;
        let logical = self.find(&info.cluster);
        let user = self.admit(logical.as_deref(), &parts, &info)?;
        // Who is not known learns nothing of names: what is open to everyone is the same wherever it is asked.
        let open = !info.is_resource && is_public(&info.path) && user.is_in(UNAUTHENTICATED);
        let logical = logical.or_else(|| self.find(DEFAULT_CLUSTER).filter(|_| open));
        let Some(logical) = logical else { return Ok(not_found()) };
        if !info.is_resource {
            return paths::answer(self, &logical, &info, &parts);
        }
        if matches!(parts.method, Method::HEAD | Method::OPTIONS | Method::TRACE | Method::CONNECT) {
            return Err(method_not_allowed());
        }
        let registry = logical.registry();
        if registry.group(&info.group).is_none() {
            return Ok(not_found());
        }
        let Some(resource) = registry.get(&info.group, &info.version, &info.resource).cloned() else {
            // Groups of CRDs are behind another router than the built-in ones.
            let custom = Registry::built_in().group(&info.group).is_none();
            return if custom { Ok(not_found()) } else { Err(no_such_resource()) };
        };
        if resource.custom.is_some() && custom_path_is_wrong(&resource, &info) {
            return Ok(not_found());
        }
        let headers = parts.headers;
        let sent = body::read(sent).await?;
        let warnings = warnings.clone();
        if let (None, Some(text)) = (&resource.custom, kinds::strategy(&resource.kind).deprecation()) {
            warnings.add(text);
        }
        let inner = self.clone();
        let call = Call { inner, logical, resource, info, query, headers, user, warnings, quiet: false };
        verbs::run(call, sent).await
    }
}

fn timed_out() -> Status {
    let message = "Timeout: request did not complete within the allotted timeout";
    Status::new(504, "Timeout", message).with_details(serde_json::json!({}))
}

/// Refusals come in the encoding the client reads, when there is one.
fn wanted_encoding(headers: &http::HeaderMap) -> Encoding {
    Output::negotiate(headers).map(|output| output.encoding).unwrap_or_default()
}

/// Namespaced custom resources have paths without a namespace only for list and watch, the others none with one.
fn custom_path_is_wrong(resource: &Resource, info: &Info) -> bool {
    match (resource.namespaced, info.namespace.is_empty()) {
        (false, false) => true,
        (true, true) => !matches!(info.verb, "list" | "watch"),
        _ => false,
    }
}

/// What upstream's router says to a path it does not know.
pub(super) fn not_found() -> Answer {
    Answer::text(404, "404 page not found\n")
}

/// A resource, subresource or path the API does not have.
pub(crate) fn no_such_resource() -> Status {
    let message = "the server could not find the requested resource";
    Status::new(404, "NotFound", message).with_details(serde_json::json!({}))
}

/// A verb the resource does not have.
pub(crate) fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::new(405, "MethodNotAllowed", message).with_details(serde_json::json!({}))
}
