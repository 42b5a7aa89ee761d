//! Media types: negotiation of responses, and the encoding of requests.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use switchboard_object::status::Status;

use super::write::PatchKind;

const ACCEPTED: &str = "application/json, application/yaml";
/// Number of clauses of an Accept header that are read.
const MAX_CLAUSES: usize = 32;

/// Encoding of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// `application/json`.
    #[default]
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`: accepted in requests, never sent.
    Protobuf,
}

/// Form of the object in a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectForm {
    /// Whole object.
    #[default]
    Whole,
    /// `Table` of `meta.k8s.io` in that version.
    Table(MetaVersion),
    /// `PartialObjectMetadata`.
    Metadata(MetaVersion),
    /// `PartialObjectMetadataList`.
    MetadataList(MetaVersion),
}

/// Versions of `meta.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVersion {
    /// `v1`.
    V1,
    /// `v1beta1`.
    V1Beta1,
}

/// Negotiated form of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseFormat {
    /// Encoding.
    pub encoding: Encoding,
    /// Form of the object.
    pub form: ObjectForm,
}

impl MetaVersion {
    /// Returns `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

impl Encoding {
    /// Returns the `Content-Type` of a response.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

impl ResponseFormat {
    /// Returns the first clause of the Accept header that the server supports. Protobuf is skipped.
    pub fn negotiate(headers: &HeaderMap) -> Result<Self, Status> {
        let Some(accept) = headers.get(ACCEPT) else { return Ok(Self::default()) };
        let accept = accept.to_str().unwrap_or_default();
        if accept.is_empty() {
            return Ok(Self::default());
        }
        let mut clauses: Vec<AcceptClause<'_>> = accept.split(',').take(MAX_CLAUSES).map(AcceptClause::parse).collect();
        // The sort is stable: clauses of equal weight keep their order.
        clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let found = clauses.iter().find_map(AcceptClause::output);
        found.ok_or_else(|| match clauses.iter().any(|clause| clause.encoding().is_some()) {
            // The router accepts the media type; an unsupported `as` is refused later.
            true => {
                Status::new(406, "NotAcceptable", format!("only the following media types are accepted: {ACCEPTED}"))
            }
            false => not_acceptable(),
        })
    }
}

/// Returns the 406 with the supported media types of responses.
pub fn not_acceptable() -> Status {
    let message = format!("406: Not Acceptable\n\nAvailable representations: {ACCEPTED}");
    Status::new(406, "NotAcceptable", message).with_details(serde_json::json!({}))
}

struct AcceptClause<'a> {
    kind: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    weight: f64,
}

impl<'a> AcceptClause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let parameters: Vec<_> = parts.filter_map(|p| p.split_once('=')).map(|(k, v)| (k.trim(), v.trim())).collect();
        let weight = parameters.iter().find(|(k, _)| *k == "q").and_then(|(_, v)| v.parse().ok()).unwrap_or(1.0);
        Self { kind, parameters, weight }
    }

    fn encoding(&self) -> Option<Encoding> {
        match self.kind {
            "application/json" | "application/*" | "*/*" => Some(Encoding::Json),
            "application/yaml" => Some(Encoding::Yaml),
            _ => None,
        }
    }

    fn output(&self) -> Option<ResponseFormat> {
        Some(ResponseFormat { encoding: self.encoding()?, form: self.form()? })
    }

    fn form(&self) -> Option<ObjectForm> {
        let parameter = |name| self.parameters.iter().find(|(k, _)| *k == name).map(|(_, v)| *v);
        if parameter("stream").is_some_and(|s| !s.is_empty() && s != "watch") {
            return None;
        }
        let Some(kind) = parameter("as") else {
            return (parameter("g").is_none() && parameter("v").is_none()).then_some(ObjectForm::Whole);
        };
        let version = match (parameter("g"), parameter("v")) {
            (Some("meta.k8s.io"), Some("v1")) => MetaVersion::V1,
            (Some("meta.k8s.io"), Some("v1beta1")) => MetaVersion::V1Beta1,
            _ => return None,
        };
        match kind {
            "Table" => Some(ObjectForm::Table(version)),
            "PartialObjectMetadata" => Some(ObjectForm::Metadata(version)),
            "PartialObjectMetadataList" => Some(ObjectForm::MetadataList(version)),
            _ => None,
        }
    }
}

/// Returns the encoding of the body of a create or update.
pub fn request_encoding(headers: &HeaderMap) -> Result<Encoding, Status> {
    match media_type(headers).as_str() {
        "" | "application/json" => Ok(Encoding::Json),
        "application/yaml" => Ok(Encoding::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Encoding::Protobuf),
        _ => Err(unsupported()),
    }
}

/// Returns the 415 with the supported media types of requests.
pub fn unsupported() -> Status {
    Status::unsupported_media_type(format!(
        "the body of the request was in an unknown format - accepted media types include: {ACCEPTED}"
    ))
}

/// Returns the patch format. Custom resources do not support strategic merge patch.
pub fn patch(headers: &HeaderMap, custom: bool) -> Result<PatchKind, Status> {
    match media_type(headers).as_str() {
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/strategic-merge-patch+json" if !custom => Ok(PatchKind::Strategic),
        "application/apply-patch+yaml" => Ok(PatchKind::Apply),
        // For built-in kinds, a router checks the type first.
        _ if !custom => {
            let message = "415: Unsupported Media Type";
            Err(Status::unsupported_media_type(message).with_details(serde_json::json!({})))
        }
        _ => Err(Status::unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
    }
}

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
