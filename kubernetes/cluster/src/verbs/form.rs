//! The form an answer takes: whole objects, their metadata only, or a table; JSON or YAML.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_object::status::Status;

use super::Call;
use crate::answer::Answer;
use crate::request::media::{Encoding, Form, MetaVersion, Output};
use crate::resource::Resource;
use crate::table::{self, Include};
use crate::wire;

/// Brings stored objects into the form a client asked for.
pub(super) struct Shaper {
    pub resource: Arc<Resource>,
    pub output: Output,
    envelope: String,
    include: Include,
    now: Timestamp,
    /// Of the tables of a watch only the first has column definitions.
    headers_sent: bool,
}

impl Shaper {
    pub fn new(call: &Call, output: Output) -> Result<Self, Status> {
        let include = call.query.get("includeObject").unwrap_or_default();
        let include = match (Include::parse(include), output.form) {
            (Some(include), _) => include,
            (None, Form::Table(_)) => {
                return Err(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {include:?}: must be \
                     'Metadata', 'Object', 'None', or empty"
                )));
            }
            (None, _) => Include::default(),
        };
        let now = call.inner.ambient.now();
        Ok(Self {
            resource: call.resource.clone(),
            output,
            envelope: call.envelope(),
            include,
            now,
            headers_sent: false,
        })
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
            Form::Table(version) => {
                let headers = !std::mem::replace(&mut self.headers_sent, true);
                encode(&self.table(std::slice::from_ref(stored), version, headers))
            }
        }
    }

    /// A table of stored objects; of a single one the table has its revision.
    fn table(&self, items: &[Bytes], version: MetaVersion, headers: bool) -> Value {
        let objects: Vec<Value> = items.iter().map(|i| wire::parse(&self.whole(i))).collect();
        let metadata = match objects.as_slice() {
            [one] => json!({"resourceVersion": one["metadata"]["resourceVersion"]}),
            _ => json!({}),
        };
        self.table_of(&objects, metadata, version, headers)
    }

    fn table_of(&self, objects: &[Value], metadata: Value, version: MetaVersion, headers: bool) -> Value {
        let rows = objects.iter().map(|object| table::row(&self.resource, object, self.now, self.include)).collect();
        let mut table = table::table(&self.resource, metadata, rows, headers);
        table["apiVersion"] = version.api_version().into();
        table
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
            Form::Table(version) => self.table(std::slice::from_ref(stored), version, true),
        };
        Ok(Answer::encoded(code, &value, self.output.encoding))
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
            Form::Table(version) => {
                let objects: Vec<Value> = items.iter().map(|i| wire::parse(&self.whole(i))).collect();
                self.table_of(&objects, metadata, version, true)
            }
            Form::Whole => {
                let items: Vec<Value> = items.iter().map(|i| wire::parse(&self.whole(i))).collect();
                json!({"kind": &*self.resource.list_kind, "apiVersion": self.resource.kind.api_version(),
                       "metadata": metadata, "items": items})
            }
        };
        Ok(Answer::encoded(200, &value, self.output.encoding))
    }
}

/// `PartialObjectMetadata` of an object.
fn partial(object: &Value, version: MetaVersion) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": object["metadata"]})
}

fn encode(value: &Value) -> Bytes {
    serde_json::to_vec(value).expect("a value is encodable").into()
}
