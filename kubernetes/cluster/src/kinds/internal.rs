//! Formatting of values as Go prints its internal types, which errors show, and differences between such values.
//!
//! Internal types have other names and positions for some fields, and all fields are printed, in Go's order.

mod diff;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::Value;
use switchboard_object::field::{FieldError, FieldErrorKind};

/// Field of an internal type: printed name, position in the API, and type.
struct InternalField {
    shown: &'static str,
    source: &'static str,
    in_metadata: bool,
    omit_empty: bool,
    shape: &'static str,
}

static TYPES: LazyLock<HashMap<&'static str, Vec<InternalField>>> = LazyLock::new(|| {
    include_str!("../../data/internal.txt").lines().filter(|l| !l.starts_with('#')).map(line).collect()
});

fn line(line: &'static str) -> (&'static str, Vec<InternalField>) {
    let mut words = line.split(' ');
    (words.next().unwrap_or(""), words.filter_map(field).collect())
}

fn field(word: &'static str) -> Option<InternalField> {
    let bare = word.strip_prefix("~metadata/");
    let mut parts = bare.unwrap_or(word).splitn(3, '=');
    let (shown, source, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let omit_empty = !rest.starts_with('a');
    Some(InternalField { shown, source, in_metadata: bare.is_some(), omit_empty, shape: &rest[1..] })
}

/// Creates an invalid-value error for the internal type `definition`.
pub(super) fn invalid(path: &str, definition: &str, value: &Value, detail: &str) -> FieldError {
    // The value is part of the detail, because a JSON value does not keep the order of fields.
    let detail = format!("{}: {detail}", print_internal(definition, value));
    FieldError { kind: FieldErrorKind::Invalid, field: path.into(), value: None, detail }
}

/// Creates an unsupported-value error for the internal type `definition`.
pub(super) fn not_supported(path: &str, definition: &str, value: &Value, supported: &[&str]) -> FieldError {
    let error = FieldError::not_supported(path, Value::Null, supported);
    FieldError { value: None, detail: format!("{}: {}", print_internal(definition, value), error.detail), ..error }
}

/// Appends the difference from `old` to `new`, both of the internal type `definition`, to an error's text.
pub(super) fn with_diff(text: &str, definition: &str, old: &Value, new: &Value) -> String {
    format!("{text}\n{}", diff::unified(&pretty(definition, old), &pretty(definition, new)))
}

/// Prints the value on one line.
pub(crate) fn print_internal(definition: &str, value: &Value) -> String {
    let mut out = String::new();
    InternalPrinter { out: &mut out, indent: None }.shape(definition, Some(value), &Value::Null);
    out
}

fn pretty(definition: &str, value: &Value) -> String {
    let mut out = String::new();
    InternalPrinter { out: &mut out, indent: Some(0) }.shape(definition, Some(value), &Value::Null);
    out
}

struct InternalPrinter<'a> {
    out: &'a mut String,
    /// Indentation when printing one field per line; `None` when printing on one line.
    indent: Option<usize>,
}

impl InternalPrinter<'_> {
    fn shape(&mut self, shape: &str, value: Option<&Value>, around: &Value) {
        let value = value.filter(|v| !v.is_null());
        if let Some(inner) = shape.strip_prefix('*') {
            return match value {
                Some(value) => self.shape(inner, Some(value), around),
                None => self.out.push_str("null"),
            };
        }
        if let Some(inner) = shape.strip_prefix("[]") {
            return self.list(inner, value, around);
        }
        if let Some(inner) = shape.strip_prefix("{}") {
            return self.map(inner, value, around);
        }
        match (TYPES.get(shape), value) {
            (Some(fields), _) => self.object(fields, value.unwrap_or(&Value::Null), around),
            (None, Some(value)) => self.text(&value.to_string()),
            (None, None) => self.text(match shape {
                "s" => "\"\"",
                "n" => "0",
                "b" => "false",
                "@IntOrString" => "0",
                "@Quantity" => "\"0\"",
                _ => "null",
            }),
        }
    }

    /// Writes a JSON text. Go escapes three characters, so that JSON can be embedded in HTML.
    fn text(&mut self, json: &str) {
        self.out.push_str(&json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e"));
    }

    fn list(&mut self, inner: &str, value: Option<&Value>, around: &Value) {
        let Some(items) = value.and_then(Value::as_array) else { return self.out.push_str("null") };
        self.out.push('[');
        self.each(items.iter(), |p, item| p.shape(inner, Some(item), around));
        self.out.push(']');
    }

    fn map(&mut self, inner: &str, value: Option<&Value>, around: &Value) {
        let Some(items) = value.and_then(Value::as_object) else { return self.out.push_str("null") };
        self.out.push('{');
        self.each(items.iter(), |p, (key, item)| {
            p.key(key);
            p.shape(inner, Some(item), around);
        });
        self.out.push('}');
    }

    fn object(&mut self, fields: &[InternalField], value: &Value, around: &Value) {
        let found = fields.iter().map(|f| (f, find(f, value, around)));
        let written = found.filter(|(f, v)| !f.omit_empty || v.is_some_and(|v| !v.is_null()));
        self.out.push('{');
        self.each(written, |p, (field, found)| {
            p.key(field.shown);
            p.shape(field.shape, found, value);
        });
        self.out.push('}');
    }

    fn key(&mut self, key: &str) {
        self.text(&Value::from(key).to_string());
        self.out.push_str(if self.indent.is_some() { ": " } else { ":" });
    }

    /// Writes items separated by commas, each on its own line in the multi-line form.
    fn each<T>(&mut self, items: impl Iterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        let outer = self.indent;
        self.indent = outer.map(|depth| depth + 1);
        let mut any = false;
        for item in items {
            if std::mem::replace(&mut any, true) {
                self.out.push(',');
            }
            self.line(self.indent);
            write(self, item);
        }
        self.indent = outer;
        if any {
            self.line(outer);
        }
    }

    fn line(&mut self, indent: Option<usize>) {
        if let Some(depth) = indent {
            let _ = write!(self.out, "\n{:depth$}", "");
        }
    }
}

fn find<'a>(field: &InternalField, value: &'a Value, around: &'a Value) -> Option<&'a Value> {
    match field.source.strip_prefix("../") {
        Some(outer) => around.get(outer),
        None if field.in_metadata => value.get("metadata")?.get(field.source),
        None => value.get(field.source),
    }
}
