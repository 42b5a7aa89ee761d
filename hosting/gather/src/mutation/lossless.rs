//! YAML that is read as the same value.

use serde_json::Value;
use switchboard_object::yaml;

/// Characters that end a line in YAML 1.1, with their escapes. Go's emitter breaks a line behind them, so that the text
/// has another value when it is read.
const LINE_ENDS: [(char, &str); 3] = [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];

/// Formats a value as Go does; as JSON, which is YAML as well, if Go's form would have another value.
pub(super) fn to_yaml(value: &Value) -> String {
    let text = yaml::to_string(value);
    let ends = LINE_ENDS.map(|(end, _)| end);
    if text.contains(ends) { escaped(&value.to_string()) + "\n" } else { text }
}

/// Formats an item of a list, on one line.
pub(super) fn to_item(text: &str) -> String {
    let item = Value::from(text);
    if text.contains(LINE_ENDS.map(|(end, _)| end)) {
        return format!("- {}\n", escaped(&item.to_string()));
    }
    yaml::to_string(&Value::Array(vec![item]))
}

fn escaped(json: &str) -> String {
    LINE_ENDS.iter().fold(json.to_string(), |text, (end, escape)| text.replace(*end, escape))
}
