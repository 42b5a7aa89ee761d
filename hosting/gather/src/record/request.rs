//! Conversion of requests to mutations.

use serde_json::{Map, Value, json};
use switchboard_object::{json, yaml};

use super::options;
use crate::contract::{ContractRules, ResourceType};
use crate::mutation::{Action, Mutation, OutputCluster};

const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
/// Media types that library-go accepts, without parameters.
const COMPAT_MEDIA_TYPES: [&str; 5] = [
    JSON,
    APPLY,
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// Header in which a client names its controller.
pub const CONTROLLER_HEADER: &str = "switchboard-controller";

/// A write request to the API.
#[derive(Clone, Debug)]
pub struct MutationRequest<'a> {
    /// Verb: `create`, `update`, `patch` or `delete`.
    pub verb: &'a str,
    /// Type of the object.
    pub of: ResourceType,
    /// Kind of the type's objects, for bodies without a kind; empty if unknown.
    pub kind: &'a str,
    /// Subresource such as `status` or `scale`; empty for the object itself.
    pub subresource: &'a str,
    /// Namespace in the path; empty for none. A Namespace has none, whatever its path.
    pub namespace: &'a str,
    /// Name in the path; empty for none.
    pub name: &'a str,
    /// Media type of the body, including parameters.
    pub content_type: &'a str,
    /// Query parameters, decoded.
    pub query: &'a [(String, String)],
    /// Body.
    pub body: &'a [u8],
    /// Controller that sent the request; empty if unknown.
    pub controller: &'a str,
}

/// Error for a request that cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// library-go does not record the request.
    #[error("{0}")]
    Refused(String),
    /// The body cannot be parsed.
    #[error("unable to decode body: {0}")]
    Body(String),
    /// The body is not a JSON patch.
    #[error("unable to decode JSONPatch body: {0}")]
    JsonPatch(String),
}

/// Converts a request to a mutation. With the rules of multi-operator-manager, requests that library-go rejects are
/// rejected with its texts.
///
/// # Errors
/// If the body cannot be parsed, or the rules do not allow the request.
pub fn to_mutation(request: &MutationRequest<'_>, rules: ContractRules) -> Result<Mutation, RecordError> {
    let media = match rules {
        ContractRules::Native => request.content_type.split(';').next().unwrap_or_default().trim(),
        ContractRules::MultiOperatorManager => request.content_type,
    };
    let status = request.subresource == "status";
    if rules == ContractRules::MultiOperatorManager {
        check_compat(request, media)?;
    }
    let action = action(request, media)?;
    let mut mutation = if action.is_patch() {
        // library-go treats a Namespace as an object in itself.
        let own = rules == ContractRules::MultiOperatorManager && request.of.is_namespaces();
        let namespace = if own { request.name } else { request.namespace };
        check_patch(media, request.body)?;
        Mutation::patch(OutputCluster::Unspecified, action, &request.of, (namespace, request.name), media, request.body)
            .map_err(|error| RecordError::JsonPatch(error.to_string()))?
    } else {
        let body = body(request, media, action, rules)?;
        if rules == ContractRules::MultiOperatorManager {
            check_names(request, action, &body)?;
        }
        of_object(request, action, &body)
    };
    if !status {
        mutation.subresource = request.subresource.into();
    }
    Ok(mutation.with_options(&options::of_query(action, request.query)).with_controller(request.controller))
}

/// Checks that a JSON patch is a list of operations.
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

fn of_object(request: &MutationRequest<'_>, action: Action, body: &Value) -> Mutation {
    let mut mutation = Mutation::object(OutputCluster::Unspecified, action, &request.of, body);
    mutation.namespace = request.namespace.into();
    // A new object has its name in the body, unless it is created as a subresource of an existing one.
    if action != Action::Create || !request.name.is_empty() {
        mutation.name = request.name.into();
    }
    mutation
}

fn action(request: &MutationRequest<'_>, media: &str) -> Result<Action, RecordError> {
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

/// Returns the object of the body, with the fields that clients may omit and readers of the files need.
fn body(
    request: &MutationRequest<'_>,
    media: &str,
    action: Action,
    rules: ContractRules,
) -> Result<Value, RecordError> {
    let empty = request.body.iter().all(u8::is_ascii_whitespace);
    if empty && action == Action::Delete && rules == ContractRules::Native {
        return Ok(delete_options(request, Map::new()));
    }
    let value = if (action.is_apply() || media == YAML) && rules == ContractRules::Native {
        let text = std::str::from_utf8(request.body).map_err(|error| RecordError::Body(error.to_string()))?;
        yaml::read(text).map_err(|error| RecordError::Body(error.to_string()))?.value
    } else {
        json::read(request.body).map_err(|error| RecordError::Body(error.to_string()))?.value
    };
    let Value::Object(mut fields) = value else { return Err(RecordError::Body("the body is not an object".into())) };
    if rules == ContractRules::MultiOperatorManager {
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

fn delete_options(request: &MutationRequest<'_>, mut fields: Map<String, Value>) -> Value {
    let body_field = json!({"apiVersion": request.of.api_version(), "kind": "DeleteOptions"});
    for (key, value) in body_field.as_object().into_iter().flatten() {
        fields.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(fields)
}

fn check_compat(request: &MutationRequest<'_>, media: &str) -> Result<(), RecordError> {
    let refused = |message: String| Err(RecordError::Refused(message));
    if !matches!(request.subresource, "" | "status") {
        return refused(format!("subresource {} is not supported by this implementation", request.subresource));
    }
    if !COMPAT_MEDIA_TYPES.contains(&media) {
        // library-go lists the accepted media types in random order.
        return refused(format!(
            "incorrect Content-Type header, expected one of: [{}] but got: {media}",
            COMPAT_MEDIA_TYPES.join(", ")
        ));
    }
    Ok(())
}

fn check_names(request: &MutationRequest<'_>, action: Action, body: &Value) -> Result<(), RecordError> {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let refused = |message: String| Err(RecordError::Refused(message));
    if text("/kind").is_empty() {
        return Err(RecordError::Body(format!(
            "Object 'Kind' is missing in '{}'",
            String::from_utf8_lossy(request.body)
        )));
    }
    // library-go treats a Namespace as an object in itself.
    let own = request.of.is_namespaces() && action != Action::Create;
    let (namespace, body_field) = (if own { request.name } else { request.namespace }, text("/metadata/namespace"));
    if namespace != body_field {
        return refused(format!("request namespace {namespace:?} does not equal body namespace {body_field:?}"));
    }
    if !matches!(action, Action::Create | Action::Delete) && request.name != text("/metadata/name") {
        // library-go prints the namespaces here.
        return refused(format!("request name {namespace:?} does not equal body name {body_field:?}"));
    }
    Ok(())
}
