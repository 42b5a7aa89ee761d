//! Values as Go prints its internal types: refusals show them, and differences between them.
//!
//! The internal types have other names and places for some fields, and all fields are printed, in Go's order.

mod difference;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::Value;
use switchboard_object::field::{FieldError, FieldErrorKind};

/// One field of an internal type: shown name, where the API has it, and what it holds.
struct Field {
    shown: &'static str,
    source: &'static str,
    in_metadata: bool,
    omit_empty: bool,
    shape: &'static str,
}

static TYPES: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    include_str!("../../data/internal.txt").lines().filter(|l| !l.starts_with('#')).map(line).collect()
});

fn line(line: &'static str) -> (&'static str, Vec<Field>) {
    let mut words = line.split(' ');
    (words.next().unwrap_or(""), words.filter_map(field).collect())
}

fn field(word: &'static str) -> Option<Field> {
    let bare = word.strip_prefix("~metadata/");
    let mut parts = bare.unwrap_or(word).splitn(3, '=');
    let (shown, source, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let omit_empty = !rest.starts_with('a');
    Some(Field { shown, source, in_metadata: bare.is_some(), omit_empty, shape: &rest[1..] })
}

/// An invalid value of the internal type `definition`.
pub(super) fn invalid(path: &str, definition: &str, value: &Value, detail: &str) -> FieldError {
    // The value stands in the detail, since its fields have an order that a JSON value does not keep.
    let detail = format!("{}: {detail}", shown(definition, value));
    FieldError { kind: FieldErrorKind::Invalid, field: path.into(), value: None, detail }
}

/// An unsupported value of the internal type `definition`.
pub(super) fn not_supported(path: &str, definition: &str, value: &Value, supported: &[&str]) -> FieldError {
    let error = FieldError::not_supported(path, Value::Null, supported);
    FieldError { value: None, detail: format!("{}: {}", shown(definition, value), error.detail), ..error }
}

/// A refusal's text followed by what changed from `old` to `new`, both of the internal type `definition`.
pub(super) fn with_diff(text: &str, definition: &str, old: &Value, new: &Value) -> String {
    format!("{text}\n{}", difference::unified(&pretty(definition, old), &pretty(definition, new)))
}

/// The value on one line.
pub(crate) fn shown(definition: &str, value: &Value) -> String {
    let mut out = String::new();
    Printer { out: &mut out, indent: None }.shape(definition, Some(value), &Value::Null);
    out
}

fn pretty(definition: &str, value: &Value) -> String {
    let mut out = String::new();
    Printer { out: &mut out, indent: Some(0) }.shape(definition, Some(value), &Value::Null);
    out
}

struct Printer<'a> {
    out: &'a mut String,
    /// How deep we are when printing one field a line; nothing when printing all on one line.
    indent: Option<usize>,
}

impl Printer<'_> {
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

    /// Go escapes three characters so that JSON can stand in HTML.
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

    fn object(&mut self, fields: &[Field], value: &Value, around: &Value) {
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

    /// Writes items with commas between them, each on its own line when printing prettily.
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

fn find<'a>(field: &Field, value: &'a Value, around: &'a Value) -> Option<&'a Value> {
    match field.source.strip_prefix("../") {
        Some(outer) => around.get(outer),
        None if field.in_metadata => value.get("metadata")?.get(field.source),
        None => value.get(field.source),
    }
}
