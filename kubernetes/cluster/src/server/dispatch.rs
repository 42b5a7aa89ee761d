//! Dispatch of a request.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response};
use switchboard_object::status::Status;

use super::{ServerState, compress, paths};
use crate::auth::UNAUTHENTICATED;
use crate::auth::authentication::is_public;
use crate::kinds;
use crate::registry::Registry;
use crate::request::body;
use crate::request::media::{Encoding, ResponseFormat};
use crate::request::query::UrlQuery;
use crate::request::{DEFAULT_CLUSTER, RequestInfo};
use crate::resource::ServedResource;
use crate::response::{ApiResponse, ResponseBody, ResponsePayload};
use crate::verbs::{self, ApiCall};

/// Timeout until the response begins, as in kube-apiserver.
const MAX_REQUEST: Duration = Duration::from_secs(60);

impl ServerState {
    /// Handles one request.
    pub(crate) async fn handle<B>(self: &Arc<Self>, request: Request<B>) -> Response<ResponseBody>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let warnings = verbs::RequestWarnings::default();
        let (encoding, is_head) = (accepted_encoding(request.headers()), request.method() == Method::HEAD);
        let gzip = compress::accepts_gzip(request.headers());
        // A watch responds at once and streams afterwards, so the timeout covers everything except the stream.
        let answered = tokio::time::timeout(MAX_REQUEST, self.answer(request, &warnings)).await;
        let mut answer = match answered.unwrap_or_else(|_| Err(timed_out())) {
            Ok(answer) => answer,
            Err(status) => ApiResponse::from_status(&status, encoding),
        };
        if gzip {
            answer = compress::compress(answer);
        }
        if is_head {
            answer.payload = ResponsePayload::Full(Default::default());
        }
        answer.into_response(&warnings.take())
    }

    async fn answer<B>(
        self: &Arc<Self>,
        request: Request<B>,
        warnings: &verbs::RequestWarnings,
    ) -> Result<ApiResponse, Status>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, sent) = request.into_parts();
        let query = UrlQuery::parse(parts.uri.query().unwrap_or_default())?;
        let info = RequestInfo::parse(&parts.method, parts.uri.path(), &query)?;
        let logical = self.find_logical(&info.cluster);
        let user = self.admit(logical.as_deref(), &parts, &info)?;
        // Unauthenticated clients must not learn names: public paths respond equally for every cluster.
        let open = !info.is_resource && is_public(&info.path) && user.is_member_of(UNAUTHENTICATED);
        let logical = logical.or_else(|| self.find_logical(DEFAULT_CLUSTER).filter(|_| open));
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
            // Groups of CRDs have another router than the built-in ones.
            let custom = Registry::built_in().group(&info.group).is_none();
            return if custom { Ok(not_found()) } else { Err(no_such_resource()) };
        };
        if resource.custom.is_some() && is_invalid_custom_path(&resource, &info) {
            return Ok(not_found());
        }
        let headers = parts.headers;
        let sent = body::read(sent).await?;
        let warnings = warnings.clone();
        if let (None, Some(text)) = (&resource.custom, kinds::strategy(&resource.kind).deprecation()) {
            warnings.add(text);
        }
        let inner = self.clone();
        let call =
            ApiCall { inner, logical, resource, info, query, headers, user, warnings, suppress_follow_up: false };
        verbs::run(call, sent).await
    }
}

fn timed_out() -> Status {
    let message = "Timeout: request did not complete within the allotted timeout";
    Status::new(504, "Timeout", message).with_details(serde_json::json!({}))
}

/// Returns the encoding of errors: the one the client accepts, if supported.
fn accepted_encoding(headers: &http::HeaderMap) -> Encoding {
    ResponseFormat::negotiate(headers).map(|output| output.encoding).unwrap_or_default()
}

/// Whether the path of a custom resource is invalid: without a namespace for a namespaced resource, except list and
/// watch, or with a namespace for a cluster-scoped one.
fn is_invalid_custom_path(resource: &ServedResource, info: &RequestInfo) -> bool {
    match (resource.namespaced, info.namespace.is_empty()) {
        (false, false) => true,
        (true, true) => !matches!(info.verb, "list" | "watch"),
        _ => false,
    }
}

/// Returns the response of kube-apiserver's router for an unknown path.
pub(super) fn not_found() -> ApiResponse {
    ApiResponse::text(404, "404 page not found\n")
}

/// Returns the error for an unknown resource, subresource or path.
pub(crate) fn no_such_resource() -> Status {
    let message = "the server could not find the requested resource";
    Status::new(404, "NotFound", message).with_details(serde_json::json!({}))
}

/// Returns the error for an unsupported verb.
pub(crate) fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::new(405, "MethodNotAllowed", message).with_details(serde_json::json!({}))
}
