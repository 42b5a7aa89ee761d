//! What is wrong with values, as a tree, and how it is told.

use switchboard_object::Value;
use switchboard_object::quote;

/// One thing that is wrong, at one place of the values.
#[derive(Debug)]
pub struct Problem {
    at: Vec<String>,
    kind: Kind,
    pub causes: Vec<Problem>,
}

#[derive(Debug)]
enum Kind {
    /// The whole, which has no place.
    Whole,
    /// Several at one place.
    Group,
    /// Those of a schema that was referred to.
    Reference,
    Said(String),
}

impl Problem {
    pub fn said(at: &[String], text: String) -> Self {
        Self { at: at.to_vec(), kind: Kind::Said(text), causes: Vec::new() }
    }

    /// Several become one; one stays itself.
    pub fn of(at: &[String], mut problems: Vec<Problem>) -> Option<Self> {
        match problems.len() {
            0 => None,
            1 => problems.pop(),
            _ => Some(Self { at: at.to_vec(), kind: Kind::Group, causes: problems }),
        }
    }

    pub fn whole(self) -> Self {
        Self { at: Vec::new(), kind: Kind::Whole, causes: self.flattened() }
    }

    pub fn referred(self, at: &[String]) -> Self {
        Self { at: at.to_vec(), kind: Kind::Reference, causes: self.flattened() }
    }

    fn flattened(self) -> Vec<Problem> {
        if matches!(self.kind, Kind::Group) { self.causes } else { vec![self] }
    }

    /// One line each, those below others further in.
    pub fn told(&self) -> String {
        let mut out = String::new();
        self.tell(&mut out, 0);
        out.trim_start_matches('\n').to_string()
    }

    fn tell(&self, out: &mut String, indent: usize) {
        let mut below = indent;
        let passed = matches!(self.kind, Kind::Whole) || matches!(self.kind, Kind::Reference) && self.causes.len() == 1;
        if !passed {
            out.push('\n');
            out.push_str(&"  ".repeat(indent));
            let pointer: String = self.at.iter().map(|part| format!("/{}", escaped(part))).collect();
            let text = if let Kind::Said(text) = &self.kind { text } else { "validation failed" };
            out.push_str(&format!("- at {}: {text}", quoted(&pointer)));
            below += 1;
        }
        for cause in &self.causes {
            cause.tell(out, below);
        }
    }
}

fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

/// In single quotes, with Go's escapes.
pub fn quoted(text: &str) -> String {
    let text = quote::quote(text).replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{}'", &text[1..text.len() - 1])
}

pub fn joined(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

/// A scalar, as it is shown.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Null => "<nil>".to_string(),
        Value::Array(_) | Value::Object(_) => "value".to_string(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
