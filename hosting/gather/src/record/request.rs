//! From a request to a mutation.

use serde_json::{Map, Value, json};
use switchboard_object::{json, yaml};

use super::options;
use crate::contract::{ResourceType, Rules};
use crate::mutation::{Action, Mutation, Place};

const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
/// The media types the original takes, and nothing behind them.
const TAKEN: [&str; 5] = [
    JSON,
    APPLY,
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// A write as it was asked for.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// `create`, `update`, `patch` or `delete`.
    pub verb: &'a str,
    /// The type of the object.
    pub of: ResourceType,
    /// The kind of the type's objects, for bodies that do not say; empty when it is not known.
    pub kind: &'a str,
    /// `status`, `scale`, ...; empty for the object itself.
    pub subresource: &'a str,
    /// The namespace of the path; empty for none. A Namespace has none, whatever its path looks like.
    pub namespace: &'a str,
    /// The name of the path; empty for none.
    pub name: &'a str,
    /// The media type of the body, parameters and all.
    pub content_type: &'a str,
    /// The parameters, decoded.
    pub query: &'a [(String, String)],
    /// The body.
    pub body: &'a [u8],
    /// The controller that asks; empty when it does not say.
    pub controller: &'a str,
}

/// A request that is no mutation.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// What the original does not record.
    #[error("{0}")]
    Refused(String),
    /// The body cannot be read.
    #[error("unable to decode body: {0}")]
    Body(String),
    /// It is no JSON patch.
    #[error("unable to decode JSONPatch body: {0}")]
    JsonPatch(String),
}

/// The mutation that a request asks for. By the original's rules what that refuses is refused, in its words.
///
/// # Errors
/// When the body cannot be read, or the request is none the rules know.
pub fn mutation_of(request: &Request<'_>, rules: Rules) -> Result<Mutation, RecordError> {
    let media = match rules {
        Rules::Native => request.content_type.split(';').next().unwrap_or_default().trim(),
        Rules::Original => request.content_type,
    };
    let status = request.subresource == "status";
    if rules == Rules::Original {
        check_as_original(request, media)?;
    }
    let action = action(request, media)?;
    let mut mutation = if action.is_patch() {
        // The original takes a Namespace for an object in itself.
        let own = rules == Rules::Original && request.of.is_namespaces();
        let namespace = if own { request.name } else { request.namespace };
        check_patch(media, request.body)?;
        Mutation::patch(Place::Unspecified, action, &request.of, (namespace, request.name), media, request.body)
            .map_err(|error| RecordError::JsonPatch(error.to_string()))?
    } else {
        let body = body(request, media, action, rules)?;
        if rules == Rules::Original {
            check_names(request, action, &body)?;
        }
        of_object(request, action, &body)
    };
    if !status {
        mutation.subresource = request.subresource.into();
    }
    Ok(mutation.with_options(&options::of_query(action, request.query)).by(request.controller))
}

/// A JSON patch is a list of steps.
fn check_patch(media: &str, sent: &[u8]) -> Result<(), RecordError> {
    if media != "application/json-patch+json" {
        return Ok(());
    }
    let found = match json::read(sent).map_err(|error| RecordError::JsonPatch(error.to_string()))?.value {
        Value::Array(_) => return Ok(()),
        Value::Object(_) => "object",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null => "null",
    };
    let message = format!("json: cannot unmarshal {found} into Go value of type []map[string]interface {{}}");
    Err(RecordError::JsonPatch(message))
}

fn of_object(request: &Request<'_>, action: Action, body: &Value) -> Mutation {
    let mut mutation = Mutation::object(Place::Unspecified, action, &request.of, body);
    mutation.namespace = request.namespace.into();
    // What is made has its name in the body, unless it is made under something that is there.
    if action != Action::Create || !request.name.is_empty() {
        mutation.name = request.name.into();
    }
    mutation
}

fn action(request: &Request<'_>, media: &str) -> Result<Action, RecordError> {
    let status = request.subresource == "status";
    Ok(match (request.verb, status) {
        ("create", false) => Action::Create,
        ("update", false) => Action::Update,
        ("update", true) => Action::UpdateStatus,
        ("patch", false) if media == APPLY => Action::Apply,
        ("patch", true) if media == APPLY => Action::ApplyStatus,
        ("patch", false) => Action::Patch,
        ("patch", true) => Action::PatchStatus,
        ("delete", false) => Action::Delete,
        (verb, _) => {
            return Err(RecordError::Refused(format!("verb {verb} is not supported by this implementation")));
        }
    })
}

/// The object that was sent. What a client may leave out and a reader of files needs is filled in.
fn body(request: &Request<'_>, media: &str, action: Action, rules: Rules) -> Result<Value, RecordError> {
    let empty = request.body.iter().all(u8::is_ascii_whitespace);
    if empty && action == Action::Delete && rules == Rules::Native {
        return Ok(delete_options(request, Map::new()));
    }
    let value = if (action.is_apply() || media == YAML) && rules == Rules::Native {
        let text = std::str::from_utf8(request.body).map_err(|error| RecordError::Body(error.to_string()))?;
        yaml::read(text).map_err(|error| RecordError::Body(error.to_string()))?.value
    } else {
        json::read(request.body).map_err(|error| RecordError::Body(error.to_string()))?.value
    };
    let Value::Object(mut fields) = value else { return Err(RecordError::Body("the body is no object".into())) };
    if rules == Rules::Original {
        return Ok(Value::Object(fields));
    }
    if action == Action::Delete {
        return Ok(delete_options(request, fields));
    }
    if !request.kind.is_empty() && request.subresource.is_empty() | (request.subresource == "status") {
        fields.entry("apiVersion").or_insert_with(|| request.of.api_version().into());
        fields.entry("kind").or_insert_with(|| request.kind.into());
    }
    Ok(Value::Object(fields))
}

fn delete_options(request: &Request<'_>, mut fields: Map<String, Value>) -> Value {
    let said = json!({"apiVersion": request.of.api_version(), "kind": "DeleteOptions"});
    for (key, value) in said.as_object().into_iter().flatten() {
        fields.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(fields)
}

fn check_as_original(request: &Request<'_>, media: &str) -> Result<(), RecordError> {
    let refused = |message: String| Err(RecordError::Refused(message));
    if !matches!(request.subresource, "" | "status") {
        return refused(format!("subresource {} is not supported by this implementation", request.subresource));
    }
    if !TAKEN.contains(&media) {
        // The original lists what it takes in the order of the day.
        return refused(format!(
            "incorrect Content-Type header, expected one of: [{}] but got: {media}",
            TAKEN.join(", ")
        ));
    }
    Ok(())
}

fn check_names(request: &Request<'_>, action: Action, body: &Value) -> Result<(), RecordError> {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let refused = |message: String| Err(RecordError::Refused(message));
    if text("/kind").is_empty() {
        return Err(RecordError::Body(format!(
            "Object 'Kind' is missing in '{}'",
            String::from_utf8_lossy(request.body)
        )));
    }
    // The original takes a Namespace for an object in itself.
    let own = request.of.is_namespaces() && action != Action::Create;
    let (namespace, said) = (if own { request.name } else { request.namespace }, text("/metadata/namespace"));
    if namespace != said {
        return refused(format!("request namespace {namespace:?} does not equal body namespace {said:?}"));
    }
    if !matches!(action, Action::Create | Action::Delete) && request.name != text("/metadata/name") {
        // The original shows the namespaces here.
        return refused(format!("request name {namespace:?} does not equal body name {said:?}"));
    }
    Ok(())
}
