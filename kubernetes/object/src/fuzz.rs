//! What the fuzzers run: each function takes any bytes and panics only if a promise is broken.

use crate::selector::{FieldSelector, LabelSelector};
use crate::{Value, json, path::Path, yaml};

/// A document that is read has a text, and that text reads as the same document.
pub fn json(bytes: &[u8]) {
    let Ok(document) = json::read(bytes) else { return };
    let text = json::to_vec(&document.value);
    let again = json::read(&text).expect("what was written can be read");
    assert_eq!(again.value, document.value);
    serde_json::from_slice::<Value>(&text).expect("what was written is JSON within serde_json's depth");
}

/// A stream is read or refused, and what is written of it is YAML again.
pub fn yaml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(documents) = yaml::read_all(text) else { return };
    for document in documents {
        let _ = yaml::read(&yaml::to_string(&document.value));
    }
}

/// A selector that is read prints as one that reads the same.
pub fn selectors(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(selector) = LabelSelector::parse(text) {
        let again = LabelSelector::parse(&selector.to_string()).expect("what was printed can be read");
        assert_eq!(again, selector);
        selector.matches(None);
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        let again = FieldSelector::parse(&selector.to_string()).expect("what was printed can be read");
        assert_eq!(again.terms().len(), selector.terms().len());
    }
}

/// The first line is a template, the rest a JSON document to evaluate it on.
pub fn jsonpath(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (template, document) = text.split_once('\n').unwrap_or((text, "{}"));
    let document = json::read(document.as_bytes()).map_or(Value::Null, |d| d.value);
    for path in [Path::parse(template), Path::relaxed(template)].into_iter().flatten() {
        let _ = (path.print(&document, false), path.print(&document, true));
    }
}
