//! Changing objects by patches: JSON, merge, strategic merge, apply.

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
use super::{Call, create, decode};
use crate::answer::Answer;
use crate::request::body;
use crate::request::media::{self, Encoding, Output};
use crate::request::write::{FieldValidation, PatchKind, WriteOptions};

/// Applies the body to the object.
pub(super) async fn patch(call: &Call, sent: &Bytes) -> Result<Answer, Status> {
    let kind = media::patch(&call.headers, call.resource.custom.is_some())?;
    Output::negotiate(&call.headers)?;
    let options = WriteOptions::patch(&call.query, kind)?;
    let patch = Patch::read(call, kind, sent, &options)?;
    let name = &call.info.name;
    let exists = call.inner.store.get(&call.key(name)).is_some();
    if !exists && kind == PatchKind::Apply && call.info.subresource.is_empty() {
        match create_by_apply(call, &patch).await {
            // Somebody made it in the meantime: then it is changed.
            Err(status) if status.reason == "AlreadyExists" => {}
            done => return done,
        }
    }
    let updated = call.change(name, options.dry_run, |live| patch.change(live)).await?;
    call.answer_object(200, &updated.bytes)
}

async fn create_by_apply(call: &Call, patch: &Patch<'_>) -> Result<Answer, Status> {
    let mut object = patch.applied(None)?;
    if !Call::metadata(&object, "uid").is_empty() {
        let uid = Call::metadata(&object, "uid");
        let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
        return Err(Status::conflict(&call.resource.group_resource(), &call.info.name, &why));
    }
    // A revision is a precondition for what is there; upstream forgets it when the apply turns into a create.
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    create::match_namespace(call, &mut object)?;
    check_name(call, &object)?;
    call.admit_prepared(&mut object)?;
    let stored = create::store_admitted(call, &object, patch.options).await?;
    call.answer_object(201, &stored)
}

/// A patch that was read.
pub(super) struct Patch<'a> {
    call: &'a Call,
    kind: PatchKind,
    value: Value,
    /// What a strict reader refuses about the patch itself.
    strict: Vec<String>,
    options: &'a WriteOptions,
}

impl<'a> Patch<'a> {
    pub fn read(call: &'a Call, kind: PatchKind, sent: &[u8], options: &'a WriteOptions) -> Result<Self, Status> {
        let encoding = if kind == PatchKind::Apply { Encoding::Yaml } else { Encoding::Json };
        let decoded = body::decode(encoding, sent).map_err(|why| {
            Status::bad_request(match kind {
                PatchKind::Apply => format!("error decoding YAML: error converting YAML to JSON: {}", why.message),
                PatchKind::Strategic => why.message,
                PatchKind::Json | PatchKind::Merge => format!("error decoding patch: {}", why.message),
            })
        })?;
        if kind == PatchKind::Apply && !decoded.value.is_object() && !decoded.value.is_null() {
            let found = type_word(&decoded.value);
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

    /// The object after the patch, through all steps of an update.
    fn change(&self, live: &Value) -> Result<Value, Status> {
        let new = self.patched(live)?;
        self.call.finish_update(live, new)
    }

    /// The object after the patch, its managers recorded.
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
        let shape = self.call.resource.shape();
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

    /// The patched object as one of its kind; what does not fit is the patch's fault.
    fn typed(&self, patched: Value, text: &str) -> Result<Value, Status> {
        let invalid = |why: String| {
            let error = FieldError::invalid("patch", text, why);
            Status::invalid(&GroupVersionKind::new("", "", ""), "", &[error])
        };
        let resets = decode::resets_managers(&patched);
        let (mut object, unknown) = decode::lenient(&self.call.resource, patched).map_err(&invalid)?;
        let strict: Vec<String> = self.strict.iter().cloned().chain(unknown).collect();
        match self.options.field_validation {
            FieldValidation::Strict if !strict.is_empty() => {
                return Err(invalid(format!("strict decoding error: {}", strict.join(", "))));
            }
            FieldValidation::Warn => strict.into_iter().for_each(|text| self.call.warnings.add(text)),
            _ => {}
        }
        self.call.behaviour().default(&mut object);
        decode::reset_managers(&mut object, resets);
        Ok(object)
    }

    fn applied(&self, live: Option<&Value>) -> Result<Value, Status> {
        let call = self.call;
        let definitions = Definitions::built_in();
        let (api_version, now) = (call.resource.kind.api_version(), call.inner.ambient.now_text());
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
        let (mut object, _) = decode::lenient(&call.resource, object).map_err(Status::bad_request)?;
        call.behaviour().default(&mut object);
        Ok(object)
    }
}

/// What Go calls the type of a JSON value.
fn type_word(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null | Value::Object(_) => "object",
    }
}
