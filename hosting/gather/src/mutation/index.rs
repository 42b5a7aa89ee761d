//! Index with the order of a mutation directory: a YAML list of body files, one per line, so that lines can be
//! appended.

use serde_json::Value;
use switchboard_object::yaml;

use super::lossless::to_item;

/// Returns one line of the index.
pub(super) fn line(body: &str) -> String {
    to_item(body)
}

/// Parses the body files in their order.
pub(super) fn read(text: &str) -> Result<Vec<String>, String> {
    let document = yaml::read(text).map_err(|error| error.message)?;
    let items = match document.value {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        _ => return Err("not a list".into()),
    };
    let text = |item: Value| match item {
        Value::String(text) => Ok(text),
        _ => Err("the list has items other than file names".to_string()),
    };
    items.into_iter().map(text).collect()
}
