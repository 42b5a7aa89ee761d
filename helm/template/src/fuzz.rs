//! Entry points of the fuzzer. They take any bytes and panic only if a guarantee is broken.

use std::sync::Arc;

use serde_json::json;

use crate::{ExecutionLimits, ExecutionOptions, Functions, JsonNumbers, TemplateSet, Value};

/// Checks that any text is either parsed or rejected, and that every parsed template ends within its limits.
pub fn template(bytes: &[u8]) {
    let mut set = TemplateSet::new("t", Arc::new(Functions::new()));
    if set.parse("t", bytes).is_err() {
        return;
    }
    let data = json!({"a": {"b": "c"}, "l": [1, 2.5, "x", null, true], "s": "text", "n": 3, "x": null});
    let limits = ExecutionLimits { output_bytes: 10_000, depth: 100, steps: 10_000 };
    let options = ExecutionOptions { limits, ..ExecutionOptions::default() };
    let mut out = Vec::new();
    let outcome = Arc::new(set).execute("t", &Value::from_json(&data, JsonNumbers::Int), &options, &mut out);
    assert!(out.len() <= limits.output_bytes + bytes.len(), "the output is bounded");
    if let Err(error) = outcome {
        assert!(error.to_string().starts_with("template: "), "an error has its place: {error}");
    }
}
