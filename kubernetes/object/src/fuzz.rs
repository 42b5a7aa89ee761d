//! Fuzz targets. Each function accepts any bytes, and panics only if an invariant is broken.

use crate::selector::{FieldSelector, LabelSelector};
use crate::{Value, json, jsonpath::JsonPathTemplate, yaml};

/// Checks that the text of a parsed JSON document parses to the same document.
pub fn json(bytes: &[u8]) {
    let Ok(document) = json::read(bytes) else { return };
    let text = json::to_vec(&document.value);
    let again = json::read(&text).expect("output can be read");
    assert_eq!(again.value, document.value);
    serde_json::from_slice::<Value>(&text).expect("output is JSON within serde_json's depth");
}

/// Checks that a YAML stream is read or refused, and that the output for a document is YAML again.
pub fn yaml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(documents) = yaml::read_all(text) else { return };
    for document in documents {
        let _ = yaml::read(&yaml::to_string(&document.value));
    }
}

/// Checks that a parsed selector prints as a selector that parses to the same value.
pub fn selectors(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(selector) = LabelSelector::parse(text) {
        let again = LabelSelector::parse(&selector.to_string()).expect("a printed selector parses");
        assert_eq!(again, selector);
        selector.matches(None);
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        let again = FieldSelector::parse(&selector.to_string()).expect("a printed selector parses");
        assert_eq!(again.terms().len(), selector.terms().len());
    }
}

/// Evaluates the first line as a template on the rest, a JSON document.
pub fn jsonpath(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (template, document) = text.split_once('\n').unwrap_or((text, "{}"));
    let document = json::read(document.as_bytes()).map_or(Value::Null, |d| d.value);
    for path in [JsonPathTemplate::parse(template), JsonPathTemplate::parse_relaxed(template)].into_iter().flatten() {
        let _ = (path.print(&document, false), path.print(&document, true));
    }
}
