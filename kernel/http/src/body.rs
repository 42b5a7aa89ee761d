//! Strict extraction of query, path and body of a request; mistakes are a [`ProblemDetails`].

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use switchboard_object::name::{dns1123_label, dns1123_subdomain};

use crate::problem::{ProblemDetails, ProblemKind};

/// Maximum length of a JSON body: a kubeconfig with certificates, and some room.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// JSON body, deserialized.
#[derive(Clone, Debug)]
pub struct JsonBody<T>(pub T);

/// Query parameters, deserialized; unknown parameters are rejected.
#[derive(Clone, Debug)]
pub struct QueryParams<T>(pub T);

/// Name from the path.
#[derive(Clone, Debug)]
pub struct PathName(pub String);

/// ID of a tenant's resource: `TENANT.NAME`. A tenant's name has no dot, so the ID is unambiguous.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceId {
    /// The tenant's namespace.
    pub tenant: String,
    /// Name of the resource in the namespace.
    pub name: String,
}

impl ResourceId {
    /// Parses an ID; `None` unless both parts are valid names.
    pub fn parse(text: &str) -> Option<ResourceId> {
        let (tenant, name) = text.split_once('.')?;
        let valid = dns1123_label(tenant).is_empty() && dns1123_subdomain(name).is_empty();
        valid.then(|| ResourceId { tenant: tenant.to_string(), name: name.to_string() })
    }

    /// Formats an ID.
    pub fn of(tenant: &str, name: &str) -> String {
        format!("{tenant}.{name}")
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathName {
    type Rejection = ProblemDetails;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathName, ProblemDetails> {
        let path: Result<Path<String>, PathRejection> = Path::from_request_parts(parts, state).await;
        path.map(|Path(name)| PathName(name))
            .map_err(|_| ProblemDetails::new(ProblemKind::NotFound, "the path has no valid name"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ResourceId {
    type Rejection = ProblemDetails;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<ResourceId, ProblemDetails> {
        let PathName(text) = PathName::from_request_parts(parts, state).await?;
        ResourceId::parse(&text).ok_or_else(|| {
            ProblemDetails::new(ProblemKind::NotFound, format!("`{text}` is not an id"))
                .hint("give the id as TENANT.NAME, such as shop.web")
        })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ProblemDetails;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<QueryParams<T>, ProblemDetails> {
        let asked = Query::<T>::try_from_uri(&parts.uri);
        asked.map(|Query(asked)| QueryParams(asked)).map_err(|error| {
            ProblemDetails::new(ProblemKind::Malformed, format!("could not parse the query: {}", error.body_text()))
        })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ProblemDetails;

    async fn from_request(request: Request, _: &S) -> Result<JsonBody<T>, ProblemDetails> {
        require_json(request.headers())?;
        let bytes = read_body(request, MAX_BODY_BYTES).await?;
        parse(&bytes).map(JsonBody)
    }
}

/// Deserializes a JSON body.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ProblemDetails> {
    // A value of the wrong shape is syntactically valid JSON, so the two mistakes have different problem kinds.
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        Category::Data => ProblemDetails::new(ProblemKind::Invalid, format!("could not process the body: {error}")),
        _ => ProblemDetails::new(ProblemKind::Malformed, format!("could not parse the body as JSON: {error}")),
    })
}

/// Reads a body of at most `max_bytes`.
pub async fn read_body(request: Request, max_bytes: usize) -> Result<Bytes, ProblemDetails> {
    match Limited::new(request.into_body(), max_bytes).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => {
            Err(ProblemDetails::new(ProblemKind::TooLarge, format!("the body is longer than {max_bytes} bytes")))
        }
        Err(_) => Err(ProblemDetails::new(ProblemKind::Malformed, "the body ended early")),
    }
}

/// Returns an error unless the content type is JSON.
pub fn require_json(headers: &HeaderMap) -> Result<(), ProblemDetails> {
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(ProblemDetails::new(
        ProblemKind::UnsupportedMediaType,
        format!("the content type is `{essence}`, not application/json"),
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_id_is_unambiguous() {
        let id = ResourceId::parse("shop.web.v2").unwrap();
        assert_eq!((id.tenant.as_str(), id.name.as_str()), ("shop", "web.v2"));
        assert_eq!(ResourceId::of(&id.tenant, &id.name), "shop.web.v2");
        for bad in ["", ".", "shop", "shop.", ".web", "Shop.web", "shop.we b", "shop../x", "shop.web/status"] {
            assert_eq!(ResourceId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn malformed_and_invalid_bodies_are_distinguished() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct SmallBody {
            #[expect(dead_code, reason = "only its presence matters")]
            a: u8,
        }
        assert_eq!(parse::<SmallBody>(b"{").unwrap_err().kind(), ProblemKind::Malformed);
        assert_eq!(parse::<SmallBody>(b"{\"a\":\"\\ud800\"}").unwrap_err().kind(), ProblemKind::Malformed);
        assert_eq!(parse::<SmallBody>(b"{\"a\":300}").unwrap_err().kind(), ProblemKind::Invalid);
        assert_eq!(parse::<SmallBody>(b"{\"a\":1,\"b\":2}").unwrap_err().kind(), ProblemKind::Invalid);
        parse::<SmallBody>(b"{\"a\":1}").unwrap();
    }
}
