//! Validation problems as a tree, and their text.

use switchboard_object::Value;
use switchboard_object::quote;

/// A validation problem at a location in the values.
#[derive(Debug)]
pub struct SchemaProblem {
    at: Vec<String>,
    kind: SchemaProblemKind,
    pub causes: Vec<SchemaProblem>,
}

#[derive(Debug)]
enum SchemaProblemKind {
    /// All values, without a location.
    Whole,
    /// Several problems at one location.
    Group,
    /// Problems of a referenced schema.
    Reference,
    Message(String),
}

impl SchemaProblem {
    pub fn new(at: &[String], text: String) -> Self {
        Self { at: at.to_vec(), kind: SchemaProblemKind::Message(text), causes: Vec::new() }
    }

    /// Groups several problems. A single one stays as it is.
    pub fn of(at: &[String], mut problems: Vec<SchemaProblem>) -> Option<Self> {
        match problems.len() {
            0 => None,
            1 => problems.pop(),
            _ => Some(Self { at: at.to_vec(), kind: SchemaProblemKind::Group, causes: problems }),
        }
    }

    pub fn into_whole(self) -> Self {
        Self { at: Vec::new(), kind: SchemaProblemKind::Whole, causes: self.flattened() }
    }

    pub fn into_reference(self, at: &[String]) -> Self {
        Self { at: at.to_vec(), kind: SchemaProblemKind::Reference, causes: self.flattened() }
    }

    fn flattened(self) -> Vec<SchemaProblem> {
        if matches!(self.kind, SchemaProblemKind::Group) { self.causes } else { vec![self] }
    }

    /// Formats the problems, one per line, with causes indented.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out, 0);
        out.trim_start_matches('\n').to_string()
    }

    fn write_to(&self, out: &mut String, indent: usize) {
        let mut below = indent;
        let passed = matches!(self.kind, SchemaProblemKind::Whole)
            || matches!(self.kind, SchemaProblemKind::Reference) && self.causes.len() == 1;
        if !passed {
            out.push('\n');
            out.push_str(&"  ".repeat(indent));
            let pointer: String = self.at.iter().map(|part| format!("/{}", escaped(part))).collect();
            let text = if let SchemaProblemKind::Message(text) = &self.kind { text } else { "validation failed" };
            out.push_str(&format!("- at {}: {text}", quoted(&pointer)));
            below += 1;
        }
        for cause in &self.causes {
            cause.write_to(out, below);
        }
    }
}

fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

/// Quotes a text in single quotes, with Go's escapes.
pub fn quoted(text: &str) -> String {
    let text = quote::quote(text).replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{}'", &text[1..text.len() - 1])
}

pub fn joined(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

/// Formats a scalar.
pub fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Null => "<nil>".to_string(),
        Value::Array(_) | Value::Object(_) => "value".to_string(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
