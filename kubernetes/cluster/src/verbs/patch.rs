//! Patches of objects: JSON, merge, strategic merge, apply.

use bytes::Bytes;
use serde_json::Value;
use switchboard_object::apply;
use switchboard_object::field::FieldError;
use switchboard_object::json;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::patch;
use switchboard_object::schema::Definitions;
use switchboard_object::status::Status;

use super::update::check_name;
use super::{ApiCall, create, decode};
use crate::request::body;
use crate::request::media::{self, Encoding, ResponseFormat};
use crate::request::write::{FieldValidation, PatchKind, WriteOptions};
use crate::response::ApiResponse;

/// Applies the body to the object.
pub(super) async fn patch(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    let kind = media::patch(&call.headers, call.resource.custom.is_some())?;
    ResponseFormat::negotiate(&call.headers)?;
    let options = WriteOptions::patch(&call.query, kind)?;
    let patch = ParsedPatch::read(call, kind, sent, &options)?;
    let name = &call.info.name;
    let exists = call.inner.store.get(&call.key(name)).is_some();
    if !exists && kind == PatchKind::Apply && call.info.subresource.is_empty() {
        match create_by_apply(call, &patch).await {
            // Another client created the object in the meantime, so it is patched.
            Err(status) if status.reason == "AlreadyExists" => {}
            done => return done,
        }
    }
    let updated = call.change(name, options.dry_run, |live| patch.change(live)).await?;
    call.answer_object(200, &updated.bytes)
}

async fn create_by_apply(call: &ApiCall, patch: &ParsedPatch<'_>) -> Result<ApiResponse, Status> {
    let mut object = patch.applied(None)?;
    if !ApiCall::metadata(&object, "uid").is_empty() {
        let uid = ApiCall::metadata(&object, "uid");
        let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
        return Err(Status::conflict(&call.resource.group_resource(), &call.info.name, &why));
    }
    // A revision is a precondition for existing objects; kube-apiserver drops it when an apply becomes a create.
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    create::match_namespace(call, &mut object)?;
    check_name(call, &object)?;
    call.admit_prepared(&mut object)?;
    let stored = create::store_admitted(call, &object, patch.options).await?;
    call.answer_object(201, &stored)
}

/// Parsed patch.
pub(super) struct ParsedPatch<'a> {
    call: &'a ApiCall,
    kind: PatchKind,
    value: Value,
    /// Errors of strict decoding of the patch itself.
    strict: Vec<String>,
    options: &'a WriteOptions,
}

impl<'a> ParsedPatch<'a> {
    pub fn read(call: &'a ApiCall, kind: PatchKind, sent: &[u8], options: &'a WriteOptions) -> Result<Self, Status> {
        let encoding = if kind == PatchKind::Apply { Encoding::Yaml } else { Encoding::Json };
        let decoded = body::decode(encoding, sent).map_err(|why| {
            Status::bad_request(match kind {
                PatchKind::Apply => format!("error decoding YAML: error converting YAML to JSON: {}", why.message),
                PatchKind::Strategic => why.message,
                PatchKind::Json | PatchKind::Merge => format!("error decoding patch: {}", why.message),
            })
        })?;
        if kind == PatchKind::Apply && !decoded.value.is_object() && !decoded.value.is_null() {
            let found = go_type_name(&decoded.value);
            return Err(Status::bad_request(format!(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into \
                 Go value of type map[string]interface {{}}"
            )));
        }
        let mut strict: Vec<String> = decoded.duplicates;
        if kind == PatchKind::Json {
            strict = strict.into_iter().chain(patch::json::unknown_fields(&decoded.value)).collect();
            strict.iter_mut().for_each(|text| *text = format!("json patch {text}"));
        }
        Ok(Self { call, kind, value: decoded.value, strict, options })
    }

    /// Returns the object after the patch and all steps of an update.
    fn change(&self, live: &Value) -> Result<Value, Status> {
        let new = self.patched(live)?;
        self.call.finish_update(live, new)
    }

    /// Returns the object after the patch, with its managed fields.
    pub fn patched(&self, live: &Value) -> Result<Value, Status> {
        let mut new = match self.kind {
            PatchKind::Apply => self.applied(Some(live))?,
            _ => self.merged(live)?,
        };
        if self.kind != PatchKind::Apply {
            self.call.record_managers(Some(live), &mut new, self.options);
        }
        create::match_namespace(self.call, &mut new)?;
        check_name(self.call, &new)?;
        Ok(new)
    }

    fn merged(&self, live: &Value) -> Result<Value, Status> {
        let shape = self.call.resource.schema();
        let (target, value) = (live.clone(), self.value.clone());
        let patched = match (self.kind, shape) {
            (PatchKind::Json, _) => patch::json::apply(target, &value),
            (PatchKind::Strategic, Some(shape)) => {
                patch::strategic::apply(&shape.definitions, &shape.root, target, value)
            }
            _ => patch::merge::apply(target, value),
        };
        let patched = patched.map_err(|e| e.status())?;
        let text = json::to_string(&patched);
        self.typed(patched, &text)
    }

    /// Converts the patched object to its kind. Errors are reported as errors of the patch.
    fn typed(&self, patched: Value, text: &str) -> Result<Value, Status> {
        let invalid = |why: String| {
            let error = FieldError::invalid("patch", text, why);
            Status::invalid(&GroupVersionKind::new("", "", ""), "", &[error])
        };
        let resets = decode::resets_managers(&patched);
        let (mut object, unknown) = decode::decode_leniently(&self.call.resource, patched).map_err(&invalid)?;
        let strict: Vec<String> = self.strict.iter().cloned().chain(unknown).collect();
        match self.options.field_validation {
            FieldValidation::Strict if !strict.is_empty() => {
                return Err(invalid(format!("strict decoding error: {}", strict.join(", "))));
            }
            FieldValidation::Warn => strict.into_iter().for_each(|text| self.call.warnings.add(text)),
            _ => {}
        }
        self.call.behavior().default(&mut object);
        decode::reset_managers(&mut object, resets);
        Ok(object)
    }

    fn applied(&self, live: Option<&Value>) -> Result<Value, Status> {
        let call = self.call;
        let definitions = Definitions::built_in();
        let (api_version, now) = (call.resource.kind.api_version(), call.inner.clock_and_rng.now_text());
        let writer = call.writer(&self.options.field_manager, &api_version, &now);
        let versions = call.versions();
        let typed = call.typed(&definitions, &versions);
        let object = apply::apply(live, &self.value, writer, typed, self.options.force, &call.reset_fields())?;
        match self.options.field_validation {
            FieldValidation::Strict if !self.strict.is_empty() => {
                let why =
                    format!("error strict decoding YAML: error converting YAML to JSON: {}", self.strict.join(", "));
                return Err(Status::bad_request(why));
            }
            FieldValidation::Warn => self.strict.iter().for_each(|text| call.warnings.add(text.as_str())),
            _ => {}
        }
        let (mut object, _) = decode::decode_leniently(&call.resource, object).map_err(Status::bad_request)?;
        call.behavior().default(&mut object);
        Ok(object)
    }
}

/// Returns Go's name for the type of a JSON value.
fn go_type_name(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null | Value::Object(_) => "object",
    }
}
