//! Media types: what the client accepts, and what it sent.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use switchboard_object::status::Status;

use super::write::PatchKind;

const ACCEPTED: &str = "application/json, application/yaml";
/// More clauses than this in an Accept header are not read.
const MAX_CLAUSES: usize = 32;

/// How bytes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// `application/json`.
    #[default]
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`: read, never written.
    Protobuf,
}

/// Which form of the object is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The object itself.
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

/// What to answer with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// How bytes are written.
    pub encoding: Encoding,
    /// Which form of the object is sent.
    pub form: Form,
}

impl MetaVersion {
    /// `meta.k8s.io/v1`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

impl Encoding {
    /// The `Content-Type` of an answer.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

impl Output {
    /// The first clause of the Accept header that the server can answer with. Protobuf is passed over.
    pub fn negotiate(headers: &HeaderMap) -> Result<Self, Status> {
        let Some(accept) = headers.get(ACCEPT) else { return Ok(Self::default()) };
        let accept = accept.to_str().unwrap_or_default();
        if accept.is_empty() {
            return Ok(Self::default());
        }
        let mut clauses: Vec<Clause<'_>> = accept.split(',').take(MAX_CLAUSES).map(Clause::parse).collect();
        // Stable: clauses of equal weight keep their order.
        clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let found = clauses.iter().find_map(Clause::output);
        found.ok_or_else(|| match clauses.iter().any(|clause| clause.encoding().is_some()) {
            // The router lets the media type pass; what it is asked to become is refused behind it.
            true => {
                Status::new(406, "NotAcceptable", format!("only the following media types are accepted: {ACCEPTED}"))
            }
            false => not_acceptable(),
        })
    }
}

/// 406 with the media types the server writes.
pub fn not_acceptable() -> Status {
    let message = format!("406: Not Acceptable\n\nAvailable representations: {ACCEPTED}");
    Status::new(406, "NotAcceptable", message).with_details(serde_json::json!({}))
}

struct Clause<'a> {
    kind: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    weight: f64,
}

impl<'a> Clause<'a> {
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

    fn output(&self) -> Option<Output> {
        Some(Output { encoding: self.encoding()?, form: self.form()? })
    }

    fn form(&self) -> Option<Form> {
        let parameter = |name| self.parameters.iter().find(|(k, _)| *k == name).map(|(_, v)| *v);
        if parameter("stream").is_some_and(|s| !s.is_empty() && s != "watch") {
            return None;
        }
        let Some(kind) = parameter("as") else {
            return (parameter("g").is_none() && parameter("v").is_none()).then_some(Form::Whole);
        };
        let version = match (parameter("g"), parameter("v")) {
            (Some("meta.k8s.io"), Some("v1")) => MetaVersion::V1,
            (Some("meta.k8s.io"), Some("v1beta1")) => MetaVersion::V1Beta1,
            _ => return None,
        };
        match kind {
            "Table" => Some(Form::Table(version)),
            "PartialObjectMetadata" => Some(Form::Metadata(version)),
            "PartialObjectMetadataList" => Some(Form::MetadataList(version)),
            _ => None,
        }
    }
}

/// How the body of a create or update is written.
pub fn input(headers: &HeaderMap) -> Result<Encoding, Status> {
    match media_type(headers).as_str() {
        "" | "application/json" => Ok(Encoding::Json),
        "application/yaml" => Ok(Encoding::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Encoding::Protobuf),
        _ => Err(unsupported()),
    }
}

/// 415 with the media types the server reads.
pub fn unsupported() -> Status {
    Status::unsupported_media_type(format!(
        "the body of the request was in an unknown format - accepted media types include: {ACCEPTED}"
    ))
}

/// The patch format; custom resources know no strategic merge patch.
pub fn patch(headers: &HeaderMap, custom: bool) -> Result<PatchKind, Status> {
    match media_type(headers).as_str() {
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/strategic-merge-patch+json" if !custom => Ok(PatchKind::Strategic),
        "application/apply-patch+yaml" => Ok(PatchKind::Apply),
        // Built-in kinds are behind a router that looks at the type first.
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
