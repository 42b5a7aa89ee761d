//! Masks values that differ between runs of a case: uids, revisions, times, tokens, generated names, allocated
//! addresses. A mask keeps identity: the same uid is the same `<uid1>` in all answers of a case.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::case::ConformanceCase;

static UID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+"));
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b10\.0\.0\.\d+\b"));
static HOST: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b127\.0\.0\.1:\d+\b"));
static PEM: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n?"));
static VOLUME: LazyLock<Regex> = LazyLock::new(|| pattern(r"kube-api-access-[a-z0-9]{5}"));
static AGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\d+[smhdy])+$"));
static REVISION_LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(resourceVersion\\*"?: ?\\*")\d+"#));
static REVISION_WORDS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(current: |in record \(|too old resource version: \d+ \()\d+"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// Masks the answers of one run of a case, in order.
#[derive(Debug)]
pub struct AnswerMask {
    id: String,
    case_text: String,
    seen: BTreeMap<&'static str, BTreeMap<String, usize>>,
    generated: Vec<(String, String)>,
}

impl AnswerMask {
    /// Creates a mask. `id` is the unique name part of the run. Values written by the case itself are not masked.
    pub fn new(case: &ConformanceCase, id: &str) -> AnswerMask {
        let mut given = String::new();
        for step in &case.steps {
            given.push_str(&step.act);
            given.push_str(&step.body.as_ref().map(Value::to_string).unwrap_or_default());
            given.push_str(step.text.as_deref().unwrap_or_default());
            given.push_str(&step.headers.values().cloned().collect::<Vec<_>>().join("\n"));
            given.push('\n');
        }
        AnswerMask { id: id.to_string(), case_text: given, seen: BTreeMap::new(), generated: Vec::new() }
    }

    /// Masks a body or watch event.
    pub fn body(&mut self, value: &Value) -> Value {
        self.learn_generated(value);
        // The revision of a bookmark depends on other writers, so it has no identity.
        let mut value = value.clone();
        if value["type"] == "BOOKMARK" {
            mask_list_revision(&mut value["object"]);
        }
        let mut masked = self.walk("", &value);
        mask_ages(&mut masked);
        sort_unordered(&mut masked);
        if is_list(&masked["object"]) {
            mask_list_revision(&mut masked["object"]);
        } else if is_list(&masked) {
            mask_list_revision(&mut masked);
        }
        masked
    }

    /// Masks a line of text, such as a warning.
    pub fn text(&mut self, text: &str) -> String {
        self.string("", text)
    }

    fn walk(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                // Sorted, so that the numbering does not depend on the order of fields.
                let keys: BTreeSet<&String> = map.keys().collect();
                let mut out = Map::new();
                for name in keys {
                    // The revision of a list depends on other writers, so it is masked without identity.
                    let masked = if name == "metadata" && list_like(map) {
                        map[name].clone()
                    } else {
                        self.walk(name, &map[name])
                    };
                    out.insert(name.to_string(), masked);
                }
                Value::Object(out)
            }
            Value::Array(items) => Value::Array(items.iter().map(|item| self.walk(key, item)).collect()),
            Value::String(text) => Value::String(self.string(key, text)),
            Value::Number(number) if key.to_ascii_lowercase().ends_with("nodeport") => self.port(number),
            other => other.clone(),
        }
    }

    fn port(&mut self, number: &serde_json::Number) -> Value {
        let text = number.to_string();
        if text == "0" || self.case_text.contains(&text) {
            return Value::Number(number.clone());
        }
        Value::String(self.numbered("port", &text))
    }

    fn string(&mut self, key: &str, text: &str) -> String {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if key == "resourceVersion" && digits && text != "0" {
            return self.numbered("rv", text);
        }
        if key == "continue" && !text.is_empty() {
            return "<continue>".to_string();
        }
        let mut out = text.replace(&self.id, "${id}");
        for (name, mask) in &self.generated {
            out = out.replace(name, mask);
        }
        for (what, regex) in [("token", &TOKEN), ("uid", &UID), ("ip", &ADDRESS)] {
            let regex: &Regex = regex;
            while let Some(found) = regex.find_iter(&out).find(|f| !self.case_text.contains(f.as_str())) {
                let mask = self.numbered(what, found.as_str());
                out = out.replace(found.as_str(), &mask);
            }
        }
        let given = &self.case_text;
        out = TIME
            .replace_all(&out, |found: &regex::Captures<'_>| {
                if given.contains(&found[0]) {
                    found[0].to_string()
                } else if found.get(1).is_some() {
                    "<microtime>".to_string()
                } else {
                    "<time>".to_string()
                }
            })
            .into_owned();
        out = HOST.replace_all(&out, "<host>").into_owned();
        out = PEM.replace_all(&out, "<certificate>").into_owned();
        out = VOLUME.replace_all(&out, "kube-api-access-<gen>").into_owned();
        out = REVISION_LINE.replace_all(&out, "${1}<rv>").into_owned();
        REVISION_WORDS.replace_all(&out, "${1}<rv>").into_owned()
    }

    fn numbered(&mut self, what: &'static str, text: &str) -> String {
        let known = self.seen.entry(what).or_default();
        let next = known.len() + 1;
        let number = *known.entry(text.to_string()).or_insert(next);
        format!("<{what}{number}>")
    }

    fn learn_generated(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                if let (Some(Value::String(prefix)), Some(Value::String(name))) =
                    (map.get("generateName"), map.get("name"))
                    && name.starts_with(prefix.as_str())
                    && name.len() > prefix.len()
                    && !self.generated.iter().any(|(known, _)| known == name)
                {
                    let number = self.generated.len() + 1;
                    let prefix = prefix.replace(&self.id, "${id}");
                    self.generated.push((name.clone(), format!("{prefix}<gen{number}>")));
                }
                map.values().for_each(|v| self.learn_generated(v));
            }
            Value::Array(items) => items.iter().for_each(|v| self.learn_generated(v)),
            _ => {}
        }
    }
}

fn list_like(map: &Map<String, Value>) -> bool {
    map.get("kind").and_then(Value::as_str).is_some_and(|kind| kind == "Table" || kind.ends_with("List"))
}

fn is_list(value: &Value) -> bool {
    value.as_object().is_some_and(list_like)
}

fn mask_list_revision(value: &mut Value) {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for (key, mask) in [("resourceVersion", "<rv>"), ("continue", "<continue>")] {
            if metadata.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty()) {
                metadata.insert(key.to_string(), Value::String(mask.to_string()));
            }
        }
    }
}

/// Sorts lists with a random order on kube-apiserver: managed fields are sorted by time in seconds, so two writes may
/// share one, and the causes of an apply conflict come from a hash map.
fn sort_unordered(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Array(entries)) = map.get_mut("managedFields") {
                entries.sort_by_key(|entry| {
                    ["manager", "operation", "subresource", "apiVersion"].map(|key| entry[key].to_string())
                });
            }
            if map.get("reason").is_some_and(|reason| reason == "Conflict")
                && let Some(Value::Array(causes)) = map.get_mut("details").and_then(|details| details.get_mut("causes"))
            {
                causes.sort_by_key(Value::to_string);
            }
            map.values_mut().for_each(sort_unordered);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_unordered),
        _ => {}
    }
}

/// Masks the cells of a Table that show an age.
fn mask_ages(value: &mut Value) {
    let table = if value["object"]["kind"] == "Table" { &mut value["object"] } else { value };
    if table["kind"] != "Table" {
        return;
    }
    let columns: Vec<usize> = table["columnDefinitions"]
        .as_array()
        .map(|columns| {
            let ages =
                |c: &Value| c["type"] == "date" || ["Age", "Last Seen", "First Seen"].iter().any(|n| c["name"] == *n);
            columns.iter().enumerate().filter(|(_, c)| ages(c)).map(|(i, _)| i).collect()
        })
        .unwrap_or_default();
    for cells in table["rows"].as_array_mut().into_iter().flatten().filter_map(|row| row["cells"].as_array_mut()) {
        for (column, cell) in cells.iter_mut().enumerate() {
            // Only the first event of a watch has columns.
            let age = columns.is_empty() || columns.contains(&column);
            if age && cell.as_str().is_some_and(|text| AGE.is_match(text)) {
                *cell = Value::String("<age>".to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests;
