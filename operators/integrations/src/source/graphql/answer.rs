//! What a GraphQL server answers.

use serde::Deserialize;
use serde_json::Value;

use super::AskError;

/// A good answer.
pub struct Answered {
    /// The data, by the names the query gave.
    pub data: Value,
    /// The schemas of all datafiles it was made of.
    pub schemas: Vec<String>,
}

#[derive(Deserialize)]
struct Whole {
    data: Option<Value>,
    #[serde(default)]
    errors: Vec<Reported>,
    #[serde(default)]
    extensions: Extensions,
}

#[derive(Deserialize)]
struct Reported {
    message: String,
    #[serde(default)]
    path: Vec<Value>,
}

#[derive(Default, Deserialize)]
struct Extensions {
    #[serde(default)]
    schemas: Vec<String>,
}

/// Reads an answer. One with errors is none, whatever data is beside them: it would be a part of the truth.
pub fn answered(body: &[u8]) -> Result<Answered, AskError> {
    let whole: Whole = serde_json::from_slice(body).map_err(|error| AskError::Answer(error.to_string()))?;
    if !whole.errors.is_empty() {
        return Err(AskError::Reported(whole.errors.iter().map(said).collect()));
    }
    match whole.data {
        Some(data @ Value::Object(_)) => Ok(Answered { data, schemas: whole.extensions.schemas }),
        _ => Err(AskError::Answer("it has no `data`".to_string())),
    }
}

/// Reads an answer that is a list of files. An empty list is one; what is none may not be taken for it.
pub fn listed(body: &[u8]) -> Result<Answered, AskError> {
    let answer = answered(body)?;
    match &answer.data["files"] {
        Value::Array(_) => Ok(answer),
        _ => Err(AskError::Answer("`files` is no list".to_string())),
    }
}

/// `integrations[3].managed[0].sharding: Cannot return null …`
fn said(error: &Reported) -> String {
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
