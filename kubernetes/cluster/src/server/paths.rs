//! Non-resource paths: health, version, discovery, OpenAPI.

use http::header::{ACCEPT, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use switchboard_object::status::Status;

use super::dispatch::{method_not_allowed, no_such_resource, not_found};
use super::{LogicalCluster, ServerState};
use crate::auth::token::ISSUER;
use crate::registry::Registry;
use crate::request::RequestInfo;
use crate::request::media::ResponseFormat;
use crate::response::ApiResponse;
use crate::{discovery, openapi, version};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const OPENAPI_V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const OPENAPI_V2_PROTOBUF_ANSWER: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Answers a non-resource path.
pub(super) fn answer(
    inner: &ServerState,
    logical: &LogicalCluster,
    info: &RequestInfo,
    parts: &Parts,
) -> Result<ApiResponse, Status> {
    if parts.method != Method::GET {
        return Err(method_not_allowed());
    }
    let registry = logical.registry();
    let segments: Vec<&str> = info.path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        ["healthz" | "readyz"] | ["healthz" | "readyz", "etcd"] if inner.store.disk_failure().is_some() => {
            let why = inner.store.disk_failure().map(|refusal| refusal.to_string()).unwrap_or_default();
            Ok(ApiResponse::text(500, format!("[-]etcd failed: {why}\n")))
        }
        ["healthz" | "livez" | "readyz"] | ["healthz" | "livez" | "readyz", "ping" | "etcd"] => {
            Ok(ApiResponse::text(200, "ok"))
        }
        ["version"] => Ok(ApiResponse::value(200, &version::document())),
        ["api"] => discovery_root(&registry, parts, true, inner),
        ["apis"] => discovery_root(&registry, parts, false, inner),
        ["api", version] => resources(&registry, "", version),
        ["apis", group] => match registry.group(group) {
            Some(group) => Ok(ApiResponse::value(200, &discovery::group(group))),
            None => Ok(not_found()),
        },
        ["apis", group, version] => resources(&registry, group, version),
        ["openapi", "v2"] => Ok(openapi_v2(&registry, &parts.headers)),
        // kube-apiserver leaves the index's media type to Go's net/http, which guesses text.
        ["openapi", "v3"] => Ok(ApiResponse::text(200, openapi::v3_index(&registry).to_string())),
        ["openapi", "v3", "api", version] => openapi_v3(&registry, "", version, parts),
        ["openapi", "v3", "apis", group, version] => openapi_v3(&registry, group, version, parts),
        [".well-known", "openid-configuration"] => Ok(ApiResponse::value(200, &issuer(&inner.address()))),
        ["openid", "v1", "jwks"] => {
            let keys = json!({"keys": [inner.auth_keys.authenticator.key().public_key()]});
            Ok(ApiResponse::full(200, "application/jwk-set+json", keys.to_string()))
        }
        [""] => Ok(ApiResponse::value(200, &json!({"paths": root_paths(&registry)}))),
        _ => Ok(not_found()),
    }
}

/// Returns the OpenID configuration for verifying service account tokens.
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

fn discovery_root(registry: &Registry, parts: &Parts, core: bool, inner: &ServerState) -> Result<ApiResponse, Status> {
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
        tagged(ApiResponse::full(200, AGGREGATED, body), &tag, &parts.headers)
    } else if let Err(status) = ResponseFormat::negotiate(&parts.headers) {
        return Err(status);
    } else if core {
        ApiResponse::value(200, &discovery::core_versions(registry, &inner.address()))
    } else {
        ApiResponse::value(200, &discovery::group_list(registry))
    };
    Ok(answer.with_header(VARY, HeaderValue::from_static("Accept")))
}

/// Adds the tag to the response, or returns 304 if the client has that version.
fn tagged(answer: ApiResponse, tag: &str, headers: &HeaderMap) -> ApiResponse {
    let quoted = format!("\"{tag}\"");
    let known = headers.get(IF_NONE_MATCH).is_some_and(|v| v.as_bytes() == quoted.as_bytes());
    let answer = if known { ApiResponse::full(304, answer.content_type, "") } else { answer };
    match HeaderValue::from_str(&quoted) {
        Ok(value) => answer.with_header(ETAG, value),
        Err(_) => answer,
    }
}

fn resources(registry: &Registry, group: &str, version: &str) -> Result<ApiResponse, Status> {
    let Some(group) = registry.group(group) else { return Ok(not_found()) };
    let version = group.version(version).ok_or_else(no_such_resource)?;
    Ok(ApiResponse::value(200, &discovery::resource_list(group, version)))
}

fn openapi_v2(registry: &Registry, headers: &HeaderMap) -> ApiResponse {
    let document = openapi::v2_document(registry);
    if accepts(headers, OPENAPI_V2_PROTOBUF) || accepts(headers, OPENAPI_V2_PROTOBUF_ANSWER) {
        let bytes = openapi::encode_v2(&document);
        return tagged(
            ApiResponse::full(200, OPENAPI_V2_PROTOBUF_ANSWER, bytes.clone()),
            &discovery::etag(&bytes),
            headers,
        );
    }
    let body = document.to_string();
    let tag = discovery::etag(body.as_bytes());
    tagged(ApiResponse::json(200, body), &tag, headers)
}

fn openapi_v3(registry: &Registry, group: &str, version: &str, parts: &Parts) -> Result<ApiResponse, Status> {
    // kube-apiserver's response for an unknown document is empty.
    let nothing = || Ok(ApiResponse::full(404, "", ""));
    let Some(group) = registry.group(group) else { return nothing() };
    let Some(version) = group.version(version) else { return nothing() };
    let tag = openapi::content_hash(group, version);
    Ok(tagged(ApiResponse::value(200, &openapi::v3_document(version)), &tag, &parts.headers))
}
