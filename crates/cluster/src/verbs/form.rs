//! The form an answer takes: whole objects, their metadata only, or a table; JSON or YAML.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use switchboard_object::status::Status;

use super::Call;
use crate::answer::Answer;
use crate::request::media::{Encoding, Form, MetaVersion, Output};
use crate::resource::Resource;
use crate::wire;

/// Brings stored objects into the form a client asked for.
pub(super) struct Shaper {
    pub resource: Arc<Resource>,
    pub output: Output,
    envelope: String,
}

impl Shaper {
    pub fn new(call: &Call, output: Output) -> Self {
        Self { resource: call.resource.clone(), output, envelope: call.envelope() }
    }

    /// The stored object as it is served, whole.
    pub fn whole(&self, stored: &Bytes) -> Bytes {
        wire::with_envelope(stored, &self.envelope)
    }

    /// The object of a watch event.
    pub fn event(&mut self, stored: &Bytes) -> Bytes {
        match self.output.form {
            Form::Whole => self.whole(stored),
            Form::Metadata(version) | Form::MetadataList(version) => encode(&partial(&wire::parse(stored), version)),
            Form::Table(_) => self.whole(stored),
        }
    }

    /// The object of a bookmark.
    pub fn bookmark(&mut self, metadata: Value) -> Bytes {
        let kind = &self.resource.kind;
        match self.output.form {
            Form::Metadata(version) | Form::MetadataList(version) => {
                encode(&partial(&json!({"metadata": metadata}), version))
            }
            _ => encode(&json!({"kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata})),
        }
    }

    /// An answer of one object.
    pub fn object(&self, code: u16, stored: &Bytes) -> Result<Answer, Status> {
        let value = match self.output.form {
            Form::Whole if self.output.encoding == Encoding::Json => return Ok(Answer::json(code, self.whole(stored))),
            Form::Whole => wire::parse(&self.whole(stored)),
            Form::Metadata(version) => partial(&wire::parse(stored), version),
            Form::MetadataList(_) => {
                let what = "you requested PartialObjectMetadataList, but the requested object is not a list";
                return Err(Status::new(406, "NotAcceptable", what));
            }
            Form::Table(_) => wire::parse(&self.whole(stored)),
        };
        Ok(answer(code, &value, self.output.encoding))
    }

    /// An answer of a list in any form but whole JSON.
    pub fn list(&self, items: &[Bytes], metadata: Value) -> Result<Answer, Status> {
        let value = match self.output.form {
            Form::MetadataList(version) => {
                let items: Vec<Value> = items.iter().map(|i| partial(&wire::parse(i), version)).collect();
                json!({"kind": "PartialObjectMetadataList", "apiVersion": version.api_version(),
                       "metadata": metadata, "items": items})
            }
            Form::Metadata(_) => {
                let what = format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{}.{})",
                    self.resource.kind.version, self.resource.list_kind
                );
                return Err(Status::new(406, "NotAcceptable", what));
            }
            Form::Whole | Form::Table(_) => {
                let items: Vec<Value> = items.iter().map(|i| wire::parse(&self.whole(i))).collect();
                json!({"kind": &*self.resource.list_kind, "apiVersion": self.resource.kind.api_version(),
                       "metadata": metadata, "items": items})
            }
        };
        Ok(answer(200, &value, self.output.encoding))
    }
}

/// `PartialObjectMetadata` of an object.
fn partial(object: &Value, version: MetaVersion) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": object["metadata"]})
}

fn encode(value: &Value) -> Bytes {
    serde_json::to_vec(value).expect("a value is encodable").into()
}

/// A value in the encoding that was asked for.
pub(super) fn answer(code: u16, value: &Value, encoding: Encoding) -> Answer {
    match encoding {
        Encoding::Json => Answer::value(code, value),
        Encoding::Yaml => Answer::full(code, Encoding::Yaml.content_type(), encode(value)),
    }
}
