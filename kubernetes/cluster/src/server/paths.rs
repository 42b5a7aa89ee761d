//! Paths that are not resources: health, version, discovery, OpenAPI.

use http::header::{ACCEPT, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use switchboard_object::status::Status;

use super::dispatch::{method_not_allowed, no_such_resource, not_found};
use super::{Inner, Logical};
use crate::answer::Answer;
use crate::auth::token::ISSUER;
use crate::registry::Registry;
use crate::request::Info;
use crate::request::media::Output;
use crate::{discovery, openapi, version};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const OPENAPI_V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const OPENAPI_V2_PROTOBUF_ANSWER: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Answers a path that is not a resource.
pub(super) fn answer(inner: &Inner, logical: &Logical, info: &Info, parts: &Parts) -> Result<Answer, Status> {
    if parts.method != Method::GET {
        return Err(method_not_allowed());
    }
    let registry = logical.registry();
    let segments: Vec<&str> = info.path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        ["healthz" | "readyz"] | ["healthz" | "readyz", "etcd"] if inner.store.refusal().is_some() => {
            let why = inner.store.refusal().map(|refusal| refusal.to_string()).unwrap_or_default();
            Ok(Answer::text(500, format!("[-]etcd failed: {why}\n")))
        }
        ["healthz" | "livez" | "readyz"] | ["healthz" | "livez" | "readyz", "ping" | "etcd"] => {
            Ok(Answer::text(200, "ok"))
        }
        ["version"] => Ok(Answer::value(200, &version::document())),
        ["api"] => discovery_root(&registry, parts, true, inner),
        ["apis"] => discovery_root(&registry, parts, false, inner),
        ["api", version] => resources(&registry, "", version),
        ["apis", group] => match registry.group(group) {
            Some(group) => Ok(Answer::value(200, &discovery::group(group))),
            None => Ok(not_found()),
        },
        ["apis", group, version] => resources(&registry, group, version),
        ["openapi", "v2"] => Ok(openapi_v2(&registry, &parts.headers)),
        // Upstream leaves the type of the index to its web library, which guesses text.
        ["openapi", "v3"] => Ok(Answer::text(200, openapi::v3_index(&registry).to_string())),
        ["openapi", "v3", "api", version] => openapi_v3(&registry, "", version, parts),
        ["openapi", "v3", "apis", group, version] => openapi_v3(&registry, group, version, parts),
        [".well-known", "openid-configuration"] => Ok(Answer::value(200, &issuer(&inner.address()))),
        ["openid", "v1", "jwks"] => {
            let keys = json!({"keys": [inner.gate.authenticator.key().public_key()]});
            Ok(Answer::full(200, "application/jwk-set+json", keys.to_string()))
        }
        [""] => Ok(Answer::value(200, &json!({"paths": root_paths(&registry)}))),
        _ => Ok(not_found()),
    }
}

/// How to verify the tokens of service accounts.
fn issuer(address: &str) -> Value {
    json!({
        "issuer": ISSUER,
        "jwks_uri": format!("https://{address}/openid/v1/jwks"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    })
}

fn root_paths(registry: &Registry) -> Vec<Value> {
    let mut paths = vec!["/api".to_string(), "/api/v1".into(), "/apis".into()];
    for group in registry.groups().filter(|g| !g.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(group.versions.iter().map(|v| format!("/apis/{}/{}", group.name, v.name)));
    }
    paths.extend(["/.well-known/openid-configuration", "/openid/v1/jwks"].map(String::from));
    paths.extend(["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(String::from));
    paths.sort();
    paths.into_iter().map(Value::String).collect()
}

fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let accept = headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|clause| clause.trim().starts_with(wanted))
}

fn discovery_root(registry: &Registry, parts: &Parts, core: bool, inner: &Inner) -> Result<Answer, Status> {
    let accept = parts.headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let has = |clause: &str, parameter: &str| clause.split(';').any(|p| p.trim() == parameter);
    let asks = |clause: &&str| clause.contains("application/json") && has(clause, "as=APIGroupDiscoveryList");
    let known = |clause: &str| has(clause, "g=apidiscovery.k8s.io") && has(clause, "v=v2");
    let aggregated = accept.split(',').filter(asks).any(known);
    if !aggregated && !accept.is_empty() && accept.split(',').all(|clause| asks(&clause)) {
        let message = "only the following media types are accepted: application/json, application/yaml";
        return Err(Status::new(406, "NotAcceptable", message));
    }
    let answer = if aggregated {
        let body = discovery::aggregated(registry, core).to_string();
        let tag = discovery::etag(body.as_bytes());
        tagged(Answer::full(200, AGGREGATED, body), &tag, &parts.headers)
    } else if let Err(status) = Output::negotiate(&parts.headers) {
        return Err(status);
    } else if core {
        Answer::value(200, &discovery::core_versions(registry, &inner.address()))
    } else {
        Answer::value(200, &discovery::group_list(registry))
    };
    Ok(answer.with_header(VARY, HeaderValue::from_static("Accept")))
}

/// The answer with its tag, or 304 when the client has it already.
fn tagged(answer: Answer, tag: &str, headers: &HeaderMap) -> Answer {
    let quoted = format!("\"{tag}\"");
    let known = headers.get(IF_NONE_MATCH).is_some_and(|v| v.as_bytes() == quoted.as_bytes());
    let answer = if known { Answer::full(304, answer.content_type, "") } else { answer };
    match HeaderValue::from_str(&quoted) {
        Ok(value) => answer.with_header(ETAG, value),
        Err(_) => answer,
    }
}

fn resources(registry: &Registry, group: &str, version: &str) -> Result<Answer, Status> {
    let Some(group) = registry.group(group) else { return Ok(not_found()) };
    let version = group.version(version).ok_or_else(no_such_resource)?;
    Ok(Answer::value(200, &discovery::resource_list(group, version)))
}

fn openapi_v2(registry: &Registry, headers: &HeaderMap) -> Answer {
    let document = openapi::v2_document(registry);
    if accepts(headers, OPENAPI_V2_PROTOBUF) || accepts(headers, OPENAPI_V2_PROTOBUF_ANSWER) {
        let bytes = openapi::encode_v2(&document);
        return tagged(Answer::full(200, OPENAPI_V2_PROTOBUF_ANSWER, bytes.clone()), &discovery::etag(&bytes), headers);
    }
    let body = document.to_string();
    let tag = discovery::etag(body.as_bytes());
    tagged(Answer::json(200, body), &tag, headers)
}

fn openapi_v3(registry: &Registry, group: &str, version: &str, parts: &Parts) -> Result<Answer, Status> {
    // Upstream answers an unknown document with nothing at all.
    let nothing = || Ok(Answer::full(404, "", ""));
    let Some(group) = registry.group(group) else { return nothing() };
    let Some(version) = group.version(version) else { return nothing() };
    let tag = openapi::content_hash(group, version);
    Ok(tagged(Answer::value(200, &openapi::v3_document(version)), &tag, &parts.headers))
}
