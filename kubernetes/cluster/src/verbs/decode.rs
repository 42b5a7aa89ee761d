//! Decoding of bodies to objects of the resource's kind, with kube-apiserver's errors.

use switchboard_object::Value;
use switchboard_object::field::FieldError;
use switchboard_object::kind::{GroupVersion, GroupVersionKind};
use switchboard_object::quote::quote;
use switchboard_object::schema;
use switchboard_object::status::Status;

use super::{ApiCall, RequestWarnings};
use crate::request::body::{self, DecodedBody};
use crate::request::media::{self, Encoding};
use crate::request::write::FieldValidation;
use crate::resource::ServedResource;

/// Number of bytes of a body that an error message shows.
const SHOWN_BYTES: usize = 30;

/// Decodes the body of a create or update.
pub(super) fn object(call: &ApiCall, sent: &[u8], validation: FieldValidation) -> Result<Value, Status> {
    let encoding = media::request_encoding(&call.headers)?;
    let DecodedBody { value, duplicates } = parse(&call.resource, encoding, sent)?;
    let resets = resets_managers(&value);
    let mut object = typed(&call.resource, value, sent, duplicates, validation, &call.warnings)?;
    call.behavior().default(&mut object);
    reset_managers(&mut object, resets);
    Ok(object)
}

/// Whether the body resets managed fields. All other steps treat an empty list as absent; the field manager drops all
/// owners.
pub(super) fn resets_managers(sent: &Value) -> bool {
    sent.pointer("/metadata/managedFields").and_then(Value::as_array).is_some_and(Vec::is_empty)
}

/// Restores the empty list that decoding has dropped.
pub(super) fn reset_managers(object: &mut Value, resets: bool) {
    if let (true, Some(metadata)) = (resets, object["metadata"].as_object_mut()) {
        metadata.insert("managedFields".into(), Value::Array(Vec::new()));
    }
}

/// Parses JSON or YAML. The error has kube-apiserver's text for the kind.
pub(super) fn parse(resource: &ServedResource, encoding: Encoding, sent: &[u8]) -> Result<DecodedBody, Status> {
    if encoding == Encoding::Protobuf && resource.custom.is_some() {
        return Err(media::unsupported());
    }
    body::decode(encoding, sent).map_err(|why| {
        if encoding == Encoding::Protobuf {
            return unrecognized(resource, &why.message, sent);
        }
        let is_json = encoding == Encoding::Json || sent.first() == Some(&b'{');
        let before = if is_json { "couldn't get version/kind; json parse error: " } else { "" };
        unrecognized(resource, &format!("{before}{}", why.message), sent)
    })
}

/// Converts a parsed body to an object of the resource's kind: drops unknown fields and checks types, without
/// defaulting.
pub(super) fn typed(
    resource: &ServedResource,
    mut value: Value,
    sent: &[u8],
    duplicates: Vec<String>,
    validation: FieldValidation,
    warnings: &RequestWarnings,
) -> Result<Value, Status> {
    check_kind(resource, &mut value, sent)?;
    let (value, mut strict) = fields(resource, value)?;
    strict.extend(duplicates);
    strict_errors(resource, strict, validation, warnings)?;
    Ok(value)
}

/// Converts a patched object. Errors of strict decoding are returned; other errors are text only.
pub(super) fn decode_leniently(resource: &ServedResource, mut value: Value) -> Result<(Value, Vec<String>), String> {
    let own =
        |object: &Value| object["apiVersion"] == resource.kind.api_version() && object["kind"] == resource.kind.kind;
    if !own(&value) {
        check_kind(resource, &mut value, b"{}").map_err(|status| status.message)?;
    }
    raw_fields(resource, value)
}

/// Refuses, warns about or ignores the errors of strict decoding.
fn strict_errors(
    resource: &ServedResource,
    errors: Vec<String>,
    validation: FieldValidation,
    warnings: &RequestWarnings,
) -> Result<(), Status> {
    match validation {
        FieldValidation::Strict if !errors.is_empty() => Err(cannot_be_handled(
            resource,
            resource.kind.version.as_str(),
            &format!("strict decoding error: {}", errors.join(", ")),
        )),
        FieldValidation::Warn => {
            errors.into_iter().for_each(|text| warnings.add(text));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_kind(resource: &ServedResource, value: &mut Value, sent: &[u8]) -> Result<(), Status> {
    if value.is_null() {
        *value = Value::Object(Default::default());
    }
    let (api_version, kind) = schema::interpret(value).map_err(|e| unrecognized(resource, &e.to_string(), sent))?;
    if resource.custom.is_some() && kind.is_empty() {
        let shown = String::from_utf8_lossy(sent);
        return Err(unrecognized(resource, &format!("Object 'Kind' is missing in '{shown}'"), sent));
    }
    let expected = resource.kind.api_version();
    let (api_version, kind) = match (api_version, kind) {
        ("", kind) if resource.custom.is_none() => (expected.clone(), kind.to_string()),
        (version, kind) => (version.to_string(), kind.to_string()),
    };
    let kind = if kind.is_empty() { resource.kind.kind.clone() } else { kind };
    if api_version.is_empty() {
        // A custom resource must state its version; missing values are compared like any others.
        check_custom_kind(resource, "", &kind, "")?;
    }
    let Some(version) = GroupVersion::parse(&api_version) else {
        return Err(unrecognized(resource, &format!("unexpected GroupVersion string: {api_version}"), sent));
    };
    if resource.custom.is_some() {
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        check_custom_kind(resource, &api_version, &kind, name)?;
    } else if api_version != expected || kind != resource.kind.kind {
        return Err(wrong_kind(resource, &version, &kind));
    }
    let fields = value.as_object_mut().expect("interpret accepts only objects");
    fields.insert("apiVersion".into(), api_version.into());
    fields.insert("kind".into(), kind.into());
    Ok(())
}

fn check_custom_kind(resource: &ServedResource, api_version: &str, kind: &str, name: &str) -> Result<(), Status> {
    let expected = resource.kind.api_version();
    if api_version != expected {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )));
    }
    if kind != resource.kind.kind {
        let given = GroupVersionKind { kind: kind.into(), ..resource.kind.clone() };
        let error = FieldError::invalid("kind", kind, format!("must be {}", resource.kind.kind));
        return Err(Status::invalid(&given, name, &[error]));
    }
    Ok(())
}

fn wrong_kind(resource: &ServedResource, version: &GroupVersion, kind: &str) -> Status {
    let expected = &resource.kind;
    let known = crate::registry::Registry::built_in();
    if kind == expected.kind && version.group == expected.group && is_older(&version.group, &version.version) {
        return Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({})",
            expected.api_version()
        ));
    }
    let why = if known.by_kind(&version.group, &version.version, kind).is_some() {
        let internal = match expected.group.as_str() {
            "" => "core",
            group => group.split('.').next().unwrap_or(group),
        };
        format!("converting ({}.{kind}) to ({internal}.{}): unknown conversion", version.version, expected.kind)
    } else {
        format!(
            "no kind {} is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\"",
            quote(kind)
        )
    };
    let message =
        format!("{kind} in version {} cannot be handled as a {}: {why}", quote(&version.version), expected.kind);
    Status::bad_request(message)
}

/// Whether kube-apiserver still reads a version that it no longer serves.
fn is_older(group: &str, version: &str) -> bool {
    matches!(
        (group, version),
        ("apps", "v1beta1" | "v1beta2") | ("batch", "v1beta1") | ("autoscaling", "v1" | "v2" | "v2beta1" | "v2beta2")
    )
}

fn fields(resource: &ServedResource, value: Value) -> Result<(Value, Vec<String>), Status> {
    raw_fields(resource, value).map_err(|why| cannot_be_handled(resource, resource.kind.version.as_str(), &why))
}

fn raw_fields(resource: &ServedResource, mut value: Value) -> Result<(Value, Vec<String>), String> {
    let Some(custom) = &resource.custom else {
        return schema::decode(&resource.kind, value).map_err(|e| e.to_string());
    };
    let schema = resource.schema().map(|shape| &*shape.root);
    let unknown = schema::read_custom(schema, !custom.preserve_unknown, &mut value).map_err(|e| e.to_string())?;
    Ok((value, unknown))
}

fn cannot_be_handled(resource: &ServedResource, version: &str, why: &str) -> Status {
    let kind = &resource.kind.kind;
    Status::bad_request(format!("{kind} in version {} cannot be handled as a {kind}: {why}", quote(version)))
}

fn unrecognized(resource: &ServedResource, why: &str, sent: &[u8]) -> Status {
    let kind = &resource.kind.kind;
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({})",
        excerpt(sent)
    ))
}

/// Returns the beginning of a body as in kube-apiserver's messages.
fn excerpt(sent: &[u8]) -> String {
    let head = &sent[..sent.len().min(SHOWN_BYTES)];
    let more = if sent.len() > SHOWN_BYTES { " ..." } else { "" };
    match sent.first() {
        None => "<empty>".into(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(head)),
        Some(_) => format!("{}{more}", head.iter().map(|b| format!("{b:02x}")).collect::<String>()),
    }
}
