//! Where an apparatus is reached.

use serde_json::Value;

use super::Apparatus;
use super::pod::{ADDRESS_ANNOTATION, ApparatusNames};

/// An endpoint that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Only HTTP is spoken.
    #[error("spec.apparatus.endpoint: `{0}` is no scheme of an apparatus; use http or https")]
    Scheme(String),
    /// There is no host in it.
    #[error("spec.apparatus.endpoint: `{0}` names no host")]
    NoHost(String),
    /// It cannot be read.
    #[error("spec.apparatus.endpoint: `{0}` is no URL; write http://host:port/path, or a path at its pod")]
    NoUrl(String),
}

/// The URL before `/config` and the events.
///
/// A path, or nothing, is a path at its own pod, or at this host when it has none; anything else is a URL, of `http` unless it
/// says otherwise. A word that cannot be a host beside a pod is a path as well. `pod` is the pod when there is one: where pods
/// are local processes, it says where they listen.
///
/// # Errors
/// [`EndpointError`] when that is no URL that can be asked.
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

/// The URL of one call: `ping`, `config` or an event.
pub fn url(base: &str, call: &str) -> String {
    format!("{base}/{call}")
}

/// The URL as people may see it: without what stands before an `@`, and without a query.
pub fn display_url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_string() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    format!("{scheme}://{}{path}", host.rsplit('@').next().unwrap_or_default())
}
