//! Form of responses: whole objects, their metadata only, or a table; JSON or YAML.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use super::ApiCall;
use crate::request::media::{Encoding, MetaVersion, ObjectForm, ResponseFormat};
use crate::resource::ServedResource;
use crate::response::ApiResponse;
use crate::table::{self, IncludeObject};
use crate::wire;

/// Transformer of stored objects to the form that a client requested.
pub(super) struct ResponseTransformer {
    pub resource: Arc<ServedResource>,
    pub output: ResponseFormat,
    envelope: String,
    include: IncludeObject,
    now: Timestamp,
    /// Whether column definitions were sent. Only the first table of a watch has them.
    headers_sent: bool,
}

impl ResponseTransformer {
    pub fn new(call: &ApiCall, output: ResponseFormat) -> Result<Self, Status> {
        let include = call.query.get("includeObject").unwrap_or_default();
        let include = match (IncludeObject::parse(include), output.form) {
            (Some(include), _) => include,
            (None, ObjectForm::Table(_)) => {
                return Err(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be \
                     'Metadata', 'Object', 'None', or empty",
                    quote(include)
                )));
            }
            (None, _) => IncludeObject::default(),
        };
        let now = call.inner.clock_and_rng.now();
        Ok(Self {
            resource: call.resource.clone(),
            output,
            envelope: call.envelope(),
            include,
            now,
            headers_sent: false,
        })
    }

    /// Returns the stored object as served, whole.
    pub fn whole(&self, stored: &Bytes) -> Bytes {
        wire::with_envelope(stored, &self.envelope)
    }

    /// Returns the object of a watch event.
    pub fn event(&mut self, stored: &Bytes) -> Bytes {
        match self.output.form {
            ObjectForm::Whole => self.whole(stored),
            ObjectForm::Metadata(version) | ObjectForm::MetadataList(version) => {
                encode(&partial(&wire::parse(stored), version))
            }
            ObjectForm::Table(version) => {
                let headers = !std::mem::replace(&mut self.headers_sent, true);
                encode(&self.table(std::slice::from_ref(stored), version, headers))
            }
        }
    }

    /// Returns a table of stored objects. A table of a single object has its revision.
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

    /// Returns the object of a bookmark.
    pub fn bookmark(&mut self, metadata: Value) -> Bytes {
        let kind = &self.resource.kind;
        match self.output.form {
            ObjectForm::Metadata(version) | ObjectForm::MetadataList(version) => {
                encode(&partial(&json!({"metadata": metadata}), version))
            }
            _ => encode(&json!({"kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata})),
        }
    }

    /// Returns a response with one object.
    pub fn object(&self, code: u16, stored: &Bytes) -> Result<ApiResponse, Status> {
        let value = match self.output.form {
            ObjectForm::Whole if self.output.encoding == Encoding::Json => {
                return Ok(ApiResponse::json(code, self.whole(stored)));
            }
            ObjectForm::Whole => wire::parse(&self.whole(stored)),
            ObjectForm::Metadata(version) => partial(&wire::parse(stored), version),
            ObjectForm::MetadataList(_) => {
                let what = "you requested PartialObjectMetadataList, but the requested object is not a list";
                return Err(Status::new(406, "NotAcceptable", what));
            }
            ObjectForm::Table(version) => self.table(std::slice::from_ref(stored), version, true),
        };
        Ok(ApiResponse::encoded(code, &value, self.output.encoding))
    }

    /// Returns a response with a list in any form except whole JSON.
    pub fn list(&self, items: &[Bytes], metadata: Value) -> Result<ApiResponse, Status> {
        let value = match self.output.form {
            ObjectForm::MetadataList(version) => {
                let items: Vec<Value> = items.iter().map(|i| partial(&wire::parse(i), version)).collect();
                json!({"kind": "PartialObjectMetadataList", "apiVersion": version.api_version(),
                       "metadata": metadata, "items": items})
            }
            ObjectForm::Metadata(_) => {
                let what = format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{}.{})",
                    self.resource.kind.version, self.resource.list_kind
                );
                return Err(Status::new(406, "NotAcceptable", what));
            }
            ObjectForm::Table(version) => {
                let objects: Vec<Value> = items.iter().map(|i| wire::parse(&self.whole(i))).collect();
                self.table_of(&objects, metadata, version, true)
            }
            ObjectForm::Whole => {
                let items: Vec<Value> = items.iter().map(|i| wire::parse(&self.whole(i))).collect();
                json!({"kind": &*self.resource.list_kind, "apiVersion": self.resource.kind.api_version(),
                       "metadata": metadata, "items": items})
            }
        };
        Ok(ApiResponse::encoded(200, &value, self.output.encoding))
    }
}

/// Returns the `PartialObjectMetadata` of an object.
fn partial(object: &Value, version: MetaVersion) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": object["metadata"]})
}

fn encode(value: &Value) -> Bytes {
    serde_json::to_vec(value).expect("a value is encodable").into()
}
