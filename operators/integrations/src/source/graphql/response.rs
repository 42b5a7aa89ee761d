//! Responses of a GraphQL server.

use serde::Deserialize;
use serde_json::Value;

use super::RequestError;

/// Data of a successful response.
pub struct GraphqlData {
    /// Data by the names in the query.
    pub data: Value,
    /// Schemas of all datafiles in the data.
    pub schemas: Vec<String>,
}

#[derive(Deserialize)]
struct GraphqlResponse {
    data: Option<Value>,
    #[serde(default)]
    errors: Vec<GraphqlErrorEntry>,
    #[serde(default)]
    extensions: ResponseExtensions,
}

#[derive(Deserialize)]
struct GraphqlErrorEntry {
    message: String,
    #[serde(default)]
    path: Vec<Value>,
}

#[derive(Default, Deserialize)]
struct ResponseExtensions {
    #[serde(default)]
    schemas: Vec<String>,
}

/// Parses a response. Partial data beside errors is not used.
pub fn parse_response(body: &[u8]) -> Result<GraphqlData, RequestError> {
    let whole: GraphqlResponse =
        serde_json::from_slice(body).map_err(|error| RequestError::Answer(error.to_string()))?;
    if !whole.errors.is_empty() {
        return Err(RequestError::Reported(whole.errors.iter().map(error_text).collect()));
    }
    match whole.data {
        Some(data @ Value::Object(_)) => Ok(GraphqlData { data, schemas: whole.extensions.schemas }),
        _ => Err(RequestError::Answer("the response has no `data`".to_string())),
    }
}

/// Parses a response with a list of files, which may be empty but not missing.
pub fn parse_file_list(body: &[u8]) -> Result<GraphqlData, RequestError> {
    let answer = parse_response(body)?;
    match &answer.data["files"] {
        Value::Array(_) => Ok(answer),
        _ => Err(RequestError::Answer("`files` is not a list".to_string())),
    }
}

/// Formats an error: `integrations[3].managed[0].sharding: Cannot return null …`.
fn error_text(error: &GraphqlErrorEntry) -> String {
    let mut path = String::new();
    for part in &error.path {
        match part {
            Value::String(name) if path.is_empty() => path.push_str(name),
            Value::String(name) => path.push_str(&format!(".{name}")),
            other => path.push_str(&format!("[{other}]")),
        }
    }
    if path.is_empty() { error.message.clone() } else { format!("{path}: {}", error.message) }
}
