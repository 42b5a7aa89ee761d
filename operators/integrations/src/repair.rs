//! Repair of rendering defects without changes to the chart.
//!
//! The chart writes some texts without quotes, so that `true` becomes a boolean and `a: b` breaks the document. Such
//! texts are replaced by placeholders before rendering and restored after parsing. Texts that survive rendering are not
//! replaced, so that correct objects keep their hashes.

use serde_json::{Map, Value};

use crate::source::sha256;
use crate::source::yaml::{self, DateHandling};

/// Smallest number that Go formats with an exponent as a float.
const FIRST_WITH_EXPONENT: i64 = 1_000_000;

/// Texts replaced by placeholders.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TextPlaceholders {
    prefix: String,
    texts: Vec<String>,
}

impl TextPlaceholders {
    /// Replaces the texts of an integration's values that would not survive rendering.
    pub fn insert(spec: &mut Value) -> Self {
        let mut hidden =
            Self { prefix: format!("sw{}n", &sha256(spec.to_string().as_bytes())[..10]), texts: Vec::new() };
        if let Some(Value::Array(entries)) = spec.get_mut("extraEnv") {
            for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                entry.values_mut().for_each(|value| hidden.replace_unquoted(value));
            }
        }
        for name in ["resources", "fluentdResources"] {
            for side in ["limits", "requests"] {
                let amounts = spec.get_mut(name).and_then(|one| one.get_mut(side)).and_then(Value::as_object_mut);
                amounts.into_iter().flat_map(Map::values_mut).for_each(|value| hidden.replace_unquoted(value));
            }
        }
        for name in ["command", "sleepDurationSecs", "storage", "storageClassName"] {
            if let Some(value) = spec.get_mut(name).filter(|value| breaks(value)) {
                hidden.replace_text(value);
            }
        }
        for shard in spec.get_mut("shard_specs").and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(key) = shard.get_mut("shard_key") else { continue };
            if key.as_str().is_some_and(|key| key.contains(['"', '\\', '\n'])) {
                hidden.replace_text(key);
            }
        }
        for name in ["successfulJobHistoryLimit", "failedJobHistoryLimit"] {
            if let Some(value) = spec.get_mut(name).filter(|v| v.as_i64().is_some_and(|n| n >= FIRST_WITH_EXPONENT)) {
                // Chart numbers are floats; a text preserves the digits.
                *value = Value::String(value.to_string());
            }
        }
        hidden
    }

    /// Replaces a text that is written without quotes, unless it is parsed as the same text. An empty text is kept.
    fn replace_unquoted(&mut self, value: &mut Value) {
        let Some(text) = value.as_str().filter(|text| !text.is_empty()) else { return };
        if read_plain(text).as_ref().and_then(Value::as_str) != Some(text) {
            self.replace_text(value);
        }
    }

    fn replace_text(&mut self, value: &mut Value) {
        let Value::String(text) = value else { return };
        let word = format!("{}{}x", self.prefix, self.texts.len());
        self.texts.push(std::mem::replace(text, word));
    }

    /// Restores the texts.
    pub fn restore(&self, value: &mut Value) {
        if self.texts.is_empty() {
            return;
        }
        match value {
            Value::String(text) if text.contains(&self.prefix) => *text = self.restored(text),
            Value::Array(list) => list.iter_mut().for_each(|item| self.restore(item)),
            Value::Object(map) => map.values_mut().for_each(|item| self.restore(item)),
            _ => {}
        }
    }

    fn restored(&self, text: &str) -> String {
        let mut text = text.to_string();
        for (index, hidden) in self.texts.iter().enumerate() {
            text = text.replace(&format!("{}{index}x", self.prefix), hidden);
        }
        text
    }
}

fn read_plain(text: &str) -> Option<Value> {
    let document = yaml::read(&format!("v: {text}\n"), DateHandling::Refused).ok()?;
    let Value::Object(mut map) = document else { return None };
    (map.len() == 1).then(|| map.remove("v")).flatten()
}

/// Whether a text without quotes breaks the document.
fn breaks(value: &Value) -> bool {
    let Some(text) = value.as_str().filter(|text| !text.is_empty()) else { return false };
    !read_plain(text).is_some_and(|value| value.is_string() || value.is_number())
}

/// Converts the values of parameters to texts, which Templates require.
pub fn parameters(template: &mut Value) {
    let parameters = template.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        if let Some(value) = parameter.get_mut("value").filter(|value| value.is_number() || value.is_boolean()) {
            *value = Value::String(value.to_string());
        }
    }
}

/// Repairs a rendered object: images with an empty digest, and duplicate list entries.
pub fn object(object: &mut Value) {
    match object {
        Value::Array(list) => list.iter_mut().for_each(self::object),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Value::String(image) if key == "image" && image.ends_with('@') => drop(image.pop()),
                    Value::Array(list) if matches!(key.as_str(), "volumes" | "volumeMounts" | "env") => {
                        deduplicate(list)
                    }
                    _ => {}
                }
                self::object(value);
            }
        }
        _ => {}
    }
}

/// Removes identical entries; the API server rejects duplicate volumes.
fn deduplicate(list: &mut Vec<Value>) {
    let mut kept: Vec<Value> = Vec::with_capacity(list.len());
    for item in list.drain(..) {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    *list = kept;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    /// Spec 8.3, 8: texts without quotes keep their value.
    #[test]
    fn only_affected_texts_are_replaced_and_all_are_restored() {
        let spec = json!({
            "extraEnv": [{"name": "A", "value": "plain"}, {"name": "B", "value": "true"}, {"name": "C", "value": "a: b"},
                {"name": "D", "value": "#x"}, {"name": "E", "value": "*x"}, {"name": "F", "value": "5"},
                {"name": "G", "value": ""}, {"name": "ON", "value": "${IMAGE_TAG}"}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "1e3"}},
            "storage": "10", "shard_specs": [{"shard_key": "a\"b"}], "successfulJobHistoryLimit": 2_000_000,
        });
        let mut shown = spec.clone();
        let hidden = TextPlaceholders::insert(&mut shown);
        assert_eq!(hidden.texts, ["true", "a: b", "#x", "*x", "5", "ON", "1", "a\"b"]);
        assert_eq!(shown["extraEnv"][0], spec["extraEnv"][0]);
        assert_eq!(shown["extraEnv"][6]["value"], "");
        assert_eq!((&shown["storage"], &shown["successfulJobHistoryLimit"]), (&json!("10"), &json!("2000000")));
        hidden.restore(&mut shown);
        assert_eq!(shown["extraEnv"], spec["extraEnv"]);
        assert_eq!(shown["resources"], spec["resources"]);
    }

    /// Spec 8.3, 9 and 11.
    #[test]
    fn empty_digests_and_duplicate_volumes_are_removed() {
        let volume = json!({"name": "buffer", "emptyDir": {}});
        let mut made = json!({"spec": {"containers": [{"image": "a:latest@"}, {"image": "a:1@sha256:x"}],
            "volumes": [volume, {"name": "other"}, volume], "command": ["x", "x"]}});
        object(&mut made);
        assert_eq!(made["spec"]["containers"], json!([{"image": "a:latest"}, {"image": "a:1@sha256:x"}]));
        assert_eq!(made["spec"]["volumes"], json!([volume, {"name": "other"}]));
        assert_eq!(made["spec"]["command"], json!(["x", "x"]));
    }
}
