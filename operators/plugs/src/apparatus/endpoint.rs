//! Address of an apparatus.

use serde_json::Value;

use super::Apparatus;
use super::pod::{ADDRESS_ANNOTATION, ApparatusNames};

/// Invalid endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The scheme is neither http nor https.
    #[error("spec.apparatus.endpoint: scheme `{0}` is not supported; use http or https")]
    Scheme(String),
    /// The URL has no host.
    #[error("spec.apparatus.endpoint: `{0}` has no host")]
    NoHost(String),
    /// The endpoint is not a URL.
    #[error(
        "spec.apparatus.endpoint: `{0}` is not a valid URL\nhint: write http://host:port/path, or the path of the API in the pod"
    )]
    NoUrl(String),
}

/// Returns the base URL of `/config` and the events.
///
/// A path, or an empty endpoint, is relative to the pod, or to localhost if the apparatus has no pod. Any other
/// endpoint is a URL, with `http` as the default scheme. If there is a pod, a word that cannot be a host is also a
/// path. If pods are local processes, the address is read from an annotation of `pod`.
///
/// # Errors
/// [`EndpointError`] if the result is not a valid URL.
pub fn base_url(
    apparatus: &Apparatus<'_>,
    names: &ApparatusNames,
    pod: Option<&Value>,
) -> Result<String, EndpointError> {
    let url = unchecked_url(apparatus, names, pod)?;
    match url.parse::<http::Uri>().is_ok_and(|uri| uri.host().is_some()) {
        true => Ok(url),
        false => Err(EndpointError::NoUrl(display_url(&url))),
    }
}

fn unchecked_url(
    apparatus: &Apparatus<'_>,
    names: &ApparatusNames,
    pod: Option<&Value>,
) -> Result<String, EndpointError> {
    let endpoint = apparatus.spec["endpoint"].as_str().unwrap_or_default().trim().trim_end_matches('/');
    let has_pod = apparatus.has_pod();
    let bare = !endpoint.contains([':', '.', '/']);
    if endpoint.is_empty() || endpoint.starts_with('/') || (has_pod && bare) {
        let slash = if endpoint.is_empty() || endpoint.starts_with('/') { "" } else { "/" };
        let host = if has_pod { pod_url(apparatus, names, pod) } else { "http://localhost".to_string() };
        return Ok(format!("{host}{slash}{endpoint}"));
    }
    let Some((scheme, rest)) = endpoint.split_once("://") else {
        return Ok(format!("http://{endpoint}"));
    };
    if !matches!(scheme, "http" | "https") {
        return Err(EndpointError::Scheme(scheme.to_string()));
    }
    if rest.split(['/', '?']).next().unwrap_or_default().is_empty() {
        return Err(EndpointError::NoHost(endpoint.to_string()));
    }
    Ok(endpoint.to_string())
}

fn pod_url(apparatus: &Apparatus<'_>, names: &ApparatusNames, pod: Option<&Value>) -> String {
    let at = pod.and_then(|pod| pod.pointer("/metadata/annotations")?.get(ADDRESS_ANNOTATION)?.as_str());
    match at {
        Some(address) => format!("http://{address}"),
        None => format!("http://{}.{}.svc.cluster.local", names.name, apparatus.namespace()),
    }
}

/// Returns the URL of a call: `ping`, `config` or an event.
pub fn url(base: &str, call: &str) -> String {
    format!("{base}/{call}")
}

/// Returns a URL that is safe to display, without user information and query.
pub fn display_url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_string() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    format!("{scheme}://{}{path}", host.rsplit('@').next().unwrap_or_default())
}
