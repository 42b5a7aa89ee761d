//! What the fuzzer runs: it takes any bytes and panics only if a promise is broken.

use std::sync::Arc;

use serde_json::json;

use crate::{Functions, Limits, Numbers, Options, Set, Value};

/// Any text is parsed or refused, and what is parsed ends within its limits.
pub fn template(bytes: &[u8]) {
    let mut set = Set::new("t", Arc::new(Functions::new()));
    if set.parse("t", bytes).is_err() {
        return;
    }
    let data = json!({"a": {"b": "c"}, "l": [1, 2.5, "x", null, true], "s": "text", "n": 3, "x": null});
    let limits = Limits { output_bytes: 10_000, depth: 100, steps: 10_000 };
    let options = Options { limits, ..Options::default() };
    let mut out = Vec::new();
    let outcome = Arc::new(set).execute("t", &Value::from_json(&data, Numbers::Int), &options, &mut out);
    assert!(out.len() <= limits.output_bytes + bytes.len(), "the output is bounded");
    if let Err(error) = outcome {
        assert!(error.to_string().starts_with("template: "), "an error has its place: {error}");
    }
}
