//! Map of the file whose fields are read one by one; fields that were not read are unknown.

use serde_json::Value;
use switchboard_object::quote::quote;

use super::report::{ConfigProblem, ErrorCollector};
use super::tree::{NodeContent, SourcePosition, YamlKey, YamlNode};

// Maximum length of a key in a message.
const MAX_SHOWN_CHARS: usize = 64;

/// Map with its path and the fields that were read.
pub struct Section<'n> {
    /// Position of the map.
    pub at: SourcePosition,
    path: String,
    entries: Vec<&'n (YamlKey, YamlNode)>,
    known: Vec<&'static str>,
}

impl<'n> Section<'n> {
    /// Opens a map. A missing map is empty; a value of another type is reported.
    pub fn open(node: &'n YamlNode, path: String, findings: &mut ErrorCollector) -> Self {
        let entries = match &node.content {
            NodeContent::Map(map) => map.iter().collect(),
            NodeContent::Scalar(Value::Null) => Vec::new(),
            other => {
                findings.add(node.at, &path, type_mismatch("a map of fields", other));
                Vec::new()
            }
        };
        Self { at: node.at, path, entries, known: Vec::new() }
    }

    /// Returns the path of this map.
    pub fn own_path(&self) -> &str {
        &self.path
    }

    /// Returns the path of a field.
    pub fn path(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// Returns the key and value of a field; `None` if it is not set.
    pub fn node(&mut self, name: &'static str) -> Option<(&'n YamlKey, &'n YamlNode)> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        let (key, node) = self.entries.iter().find(|(key, _)| key.name == name)?;
        (!node.is_null()).then_some((key, node))
    }

    /// Opens the map of a field, if it is set.
    pub fn section(&mut self, name: &'static str, findings: &mut ErrorCollector) -> Option<Section<'n>> {
        let (_, node) = self.node(name)?;
        Some(Section::open(node, self.path(name), findings))
    }

    /// Reads a field with `read`; `None` if it is not set, or invalid, which is reported.
    pub fn take<T>(
        &mut self,
        name: &'static str,
        findings: &mut ErrorCollector,
        read: impl FnOnce(&Value) -> Result<T, ConfigProblem>,
    ) -> Option<T> {
        let (_, node) = self.node(name)?;
        let outcome = match &node.content {
            NodeContent::Scalar(value) => read(value),
            other => Err(type_mismatch("one value", other)),
        };
        outcome.map_err(|problem| findings.add(node.at, &self.path(name), problem)).ok()
    }

    /// Reads a field like [`Section::take`], and replaces the default in `into`.
    pub fn set<T>(
        &mut self,
        name: &'static str,
        into: &mut T,
        findings: &mut ErrorCollector,
        read: impl FnOnce(&Value) -> Result<T, ConfigProblem>,
    ) {
        if let Some(value) = self.take(name, findings, read) {
            *into = value;
        }
    }

    /// Returns all entries, for a map whose keys are names.
    pub fn entries(&self) -> impl Iterator<Item = &'n (YamlKey, YamlNode)> {
        self.entries.iter().copied()
    }

    /// Reports the fields that were not read.
    pub fn close(self, findings: &mut ErrorCollector) {
        for (key, _) in self.entries.iter().filter(|(key, _)| !self.known.contains(&key.name.as_str())) {
            let problem = ConfigProblem::new("unknown field").suggest(&key.name, &self.known);
            findings.add(key.at, &join(&self.path, &key.name), problem);
        }
    }
}

/// Appends a field name to a path.
pub(super) fn join(path: &str, name: &str) -> String {
    let name = display_key(name);
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// Formats a key for a path: quoted unless it is a word, and shortened.
pub(super) fn display_key(name: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
    let short = match name.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    };
    if !name.is_empty() && name.chars().all(word) { short } else { quote(&short) }
}

/// Returns the problem that a value has the wrong type.
pub(super) fn type_mismatch(what: &str, found: &NodeContent) -> ConfigProblem {
    let found = match found {
        NodeContent::List(_) => "a list".to_string(),
        NodeContent::Map(_) => "a map".to_string(),
        NodeContent::Scalar(value) => display_value(value),
    };
    ConfigProblem::new(format!("must be {what}, not {found}"))
}

/// Formats a scalar for a message.
pub(super) fn display_value(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_string(),
        Value::String(text) => {
            let short: String = text.chars().take(MAX_SHOWN_CHARS).collect();
            quote(&short)
        }
        other => format!("`{other}`"),
    }
}
