//! What a request says, read strictly: a query, an id, a body; and what is wrong with it as a [`Problem`].

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

use crate::problem::{Kind, Problem};

/// The longest body of JSON: a kubeconfig with certificates, and some room.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// The body as JSON of a type.
#[derive(Clone, Debug)]
pub struct Input<T>(pub T);

/// The query, none of whose parameters is unknown.
#[derive(Clone, Debug)]
pub struct Asked<T>(pub T);

/// What a path names.
#[derive(Clone, Debug)]
pub struct Named(pub String);

/// A resource of a tenant: `TENANT.NAME`. A tenant's name has no dot, so that there is one way to read it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// The namespace.
    pub tenant: String,
    /// The name in it.
    pub name: String,
}

impl Id {
    /// Both parts, if they are names.
    pub fn parse(text: &str) -> Option<Id> {
        let (tenant, name) = text.split_once('.')?;
        let valid = dns1123_label(tenant).is_empty() && dns1123_subdomain(name).is_empty();
        valid.then(|| Id { tenant: tenant.to_string(), name: name.to_string() })
    }

    /// As a text.
    pub fn of(tenant: &str, name: &str) -> String {
        format!("{tenant}.{name}")
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named, Problem> {
        let path: Result<Path<String>, PathRejection> = Path::from_request_parts(parts, state).await;
        path.map(|Path(name)| Named(name)).map_err(|_| Problem::new(Kind::NotFound, "the path names nothing"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Id, Problem> {
        let Named(text) = Named::from_request_parts(parts, state).await?;
        Id::parse(&text).ok_or_else(|| {
            Problem::new(Kind::NotFound, format!("`{text}` is no id")).hint("an id is TENANT.NAME, such as shop.web")
        })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Asked<T>, Problem> {
        let asked = Query::<T>::try_from_uri(&parts.uri);
        asked
            .map(|Query(asked)| Asked(asked))
            .map_err(|error| Problem::new(Kind::Malformed, format!("could not read the query: {}", error.body_text())))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Input<T>, Problem> {
        json_only(request.headers())?;
        let bytes = read(request, MAX_BODY_BYTES).await?;
        parse(&bytes).map(Input)
    }
}

/// The value a body says.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // Fields first: a value of the wrong shape can be read, and is another mistake than one that cannot.
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        Category::Data => Problem::new(Kind::Invalid, format!("could not use the body: {error}")),
        _ => Problem::new(Kind::Malformed, format!("could not read the body as JSON: {error}")),
    })
}

/// The body's bytes, up to a bound.
pub async fn read(request: Request, most: usize) -> Result<Bytes, Problem> {
    match Limited::new(request.into_body(), most).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => {
            Err(Problem::new(Kind::TooLarge, format!("the body is longer than {most} bytes")))
        }
        Err(_) => Err(Problem::new(Kind::Malformed, "the body ended early")),
    }
}

/// Refuses a body that is not called JSON.
pub fn json_only(headers: &HeaderMap) -> Result<(), Problem> {
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::new(Kind::UnsupportedMediaType, format!("the body is called `{essence}`, not application/json")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_id_has_one_reading() {
        let id = Id::parse("shop.web.v2").unwrap();
        assert_eq!((id.tenant.as_str(), id.name.as_str()), ("shop", "web.v2"));
        assert_eq!(Id::of(&id.tenant, &id.name), "shop.web.v2");
        for bad in ["", ".", "shop", "shop.", ".web", "Shop.web", "shop.we b", "shop../x", "shop.web/status"] {
            assert_eq!(Id::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_what_cannot_be_used() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Small {
            #[expect(dead_code, reason = "only its presence is judged")]
            a: u8,
        }
        assert_eq!(parse::<Small>(b"{").unwrap_err().kind(), Kind::Malformed);
        assert_eq!(parse::<Small>(b"{\"a\":\"\\ud800\"}").unwrap_err().kind(), Kind::Malformed);
        assert_eq!(parse::<Small>(b"{\"a\":300}").unwrap_err().kind(), Kind::Invalid);
        assert_eq!(parse::<Small>(b"{\"a\":1,\"b\":2}").unwrap_err().kind(), Kind::Invalid);
        parse::<Small>(b"{\"a\":1}").unwrap();
    }
}
