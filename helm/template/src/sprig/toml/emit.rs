//! Encoding of values as TOML.

use crate::sprig::runes;
use crate::sprig::time_values::TimeValue;
use crate::value::{ReflectKind, Value};

/// Maximum depth of tables. Go overflows its stack for a table that contains itself.
const MAX_DEPTH: usize = 1_000;

/// Implements Go's `toml.Encoder.Encode`, with the text of its error.
pub fn write(value: &Value) -> Result<Vec<u8>, String> {
    if matches!(value, Value::Nil) {
        return Err("reflect: call of reflect.Value.Type on zero Value".to_string());
    }
    let mut emitter = TomlEmitter { out: Vec::new() };
    emitter.encode(&[], value)?;
    Ok(emitter.out)
}

const LAYOUT: &[u8] = b"2006-01-02T15:04:05.999999999Z07:00";

/// Kind of a value in TOML.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TomlKind {
    Nil,
    Plain,
    Table,
    Tables,
}

fn class(value: &Value) -> Result<TomlKind, String> {
    if value.is_nil() {
        return Ok(TomlKind::Nil);
    }
    match value {
        Value::List(_, list) => {
            let mut all = !list.is_empty();
            for item in list.iter() {
                match class(item)? {
                    TomlKind::Nil => return Err("toml: cannot encode array with nil element".to_string()),
                    other => all &= other == TomlKind::Table,
                }
            }
            Ok(if all { TomlKind::Tables } else { TomlKind::Plain })
        }
        Value::Map(..) => Ok(TomlKind::Table),
        Value::Object(object) if is_struct(value) && object.text().is_none() => Ok(TomlKind::Table),
        Value::Func(_) | Value::Complex(..) => Err(format!("unsupported type: {}", value.kind().name())),
        _ => Ok(TomlKind::Plain),
    }
}

fn is_struct(value: &Value) -> bool {
    matches!(value.kind(), ReflectKind::Struct | ReflectKind::Pointer)
}

/// Returns keys and values of a map, or of a struct in the order of its fields.
fn entries(value: &Value) -> Vec<(Vec<u8>, Value)> {
    match value {
        Value::Map(_, map) => map.snapshot().into_iter().map(|(key, value)| (key.to_vec(), value)).collect(),
        Value::Object(object) => {
            object.fields().into_iter().map(|(name, value)| (name.as_bytes().to_vec(), value)).collect()
        }
        _ => Vec::new(),
    }
}

struct TomlEmitter {
    out: Vec<u8>,
}

type KeyPath = [Vec<u8>];

impl TomlEmitter {
    fn encode(&mut self, key: &KeyPath, value: &Value) -> Result<(), String> {
        if key.len() > MAX_DEPTH {
            return Err("toml: value is nested too deeply".to_string());
        }
        crate::stack::grow(|| self.encode_here(key, value))
    }

    fn encode_here(&mut self, key: &KeyPath, value: &Value) -> Result<(), String> {
        match (class(value), value) {
            (_, Value::Func(_) | Value::Complex(..)) => {
                let shown = String::from_utf8_lossy(&joined(key)).into_owned();
                Err(format!("unsupported type for key '{shown}': {}", value.kind().name()))
            }
            (Ok(TomlKind::Nil), _) => Ok(()),
            (Ok(TomlKind::Plain), _) => self.key_value(key, value, false),
            (Ok(TomlKind::Tables), _) => self.tables(key, value),
            (Ok(TomlKind::Table), _) => self.table(key, value),
            (Err(error), _) => Err(error),
        }
    }

    fn newline(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self, key: &KeyPath) {
        self.out.extend(std::iter::repeat_n(b' ', 2 * key.len().saturating_sub(1)));
    }

    fn header(&mut self, key: &KeyPath, open: &[u8], close: &[u8]) {
        self.indent(key);
        self.out.extend([open, &joined(key), close].concat());
        self.newline();
    }

    fn tables(&mut self, key: &KeyPath, value: &Value) -> Result<(), String> {
        if key.is_empty() {
            return Err("toml: top-level values must be Go maps or structs".to_string());
        }
        for item in value.elements().unwrap_or_default() {
            self.newline();
            self.header(key, b"[[", b"]]");
            self.map(key, &item, false)?;
        }
        Ok(())
    }

    fn table(&mut self, key: &KeyPath, value: &Value) -> Result<(), String> {
        if key.len() == 1 {
            self.newline();
        }
        if !key.is_empty() {
            self.header(key, b"[", b"]");
        }
        self.map(key, value, false)
    }

    /// Writes a map. Values other than tables come first, because everything after a table header belongs to that
    /// table.
    fn map(&mut self, key: &KeyPath, value: &Value, inline: bool) -> Result<(), String> {
        let (mut direct, mut sub) = (Vec::new(), Vec::new());
        for (name, item) in entries(value) {
            let is_table = matches!(class(&item)?, TomlKind::Table | TomlKind::Tables);
            if is_table { sub.push((name, item)) } else { direct.push((name, item)) }
        }
        if inline {
            self.out.push(b'{');
        }
        self.entries(key, &direct, inline, !sub.is_empty())?;
        self.entries(key, &sub, inline, false)?;
        if inline {
            self.out.push(b'}');
        }
        Ok(())
    }

    fn entries(&mut self, key: &KeyPath, list: &[(Vec<u8>, Value)], inline: bool, more: bool) -> Result<(), String> {
        for (index, (name, item)) in list.iter().enumerate() {
            if item.is_nil() {
                continue;
            }
            if !inline {
                self.encode(&[key, std::slice::from_ref(name)].concat(), item)?;
                continue;
            }
            self.key_value(std::slice::from_ref(name), item, true)?;
            if more || index + 1 != list.len() {
                self.out.extend_from_slice(b", ");
            }
        }
        Ok(())
    }

    fn key_value(&mut self, key: &KeyPath, value: &Value, inline: bool) -> Result<(), String> {
        let Some(name) = key.last() else { return self.element(value) };
        self.indent(key);
        self.out.extend([maybe_quoted(name).as_slice(), b" = "].concat());
        self.element(value)?;
        if !inline {
            self.newline();
        }
        Ok(())
    }

    fn element(&mut self, value: &Value) -> Result<(), String> {
        match value {
            Value::String(text) => self.out.extend(quoted(text)),
            Value::Bool(bool) => self.out.extend(bool.to_string().into_bytes()),
            Value::Float32(number) => self.out.extend(float(number.is_nan(), f64::from(*number), *number)),
            Value::Float64(number) => self.out.extend(float(number.is_nan(), *number, *number)),
            Value::List(..) | Value::Bytes(_) => {
                self.out.push(b'[');
                for (index, item) in value.elements().unwrap_or_default().iter().enumerate() {
                    if index > 0 {
                        self.out.extend_from_slice(b", ");
                    }
                    self.element(item)?;
                }
                self.out.push(b']');
            }
            Value::Map(..) => self.map(&[], value, true)?,
            Value::Object(object) => match (value.object::<TimeValue>(), object.text(), object.scalar()) {
                (Some(time), ..) => self.out.extend(time.0.format(LAYOUT)),
                (None, Some(text), _) => self.out.extend(quoted(&text)),
                (None, None, Some(scalar)) => self.element(&scalar)?,
                (None, None, None) => self.map(&[], value, true)?,
            },
            number => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => self.out.extend(number.to_string().into_bytes()),
                (None, Some(number)) => self.out.extend(number.to_string().into_bytes()),
                (None, None) => return Err(format!("unexpected type: {}", value.type_name())),
            },
        }
        Ok(())
    }
}

/// Formats a float in Go's shortest `g` format, with a point or an exponent so that it parses as a float.
fn float(nan: bool, number: f64, shown: impl std::fmt::Display + std::fmt::LowerExp) -> Vec<u8> {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if nan {
        return format!("{sign}nan").into_bytes();
    }
    if number.is_infinite() {
        return format!("{sign}inf").into_bytes();
    }
    let scientific = format!("{shown:e}");
    let power: i32 = scientific.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    if !(-4..6).contains(&power) {
        let digits = scientific.split('e').next().unwrap_or_default();
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", power.abs()).into_bytes();
    }
    let plain = shown.to_string();
    let point = if plain.contains('.') { "" } else { ".0" };
    format!("{plain}{point}").into_bytes()
}

fn joined(key: &KeyPath) -> Vec<u8> {
    key.iter().map(|part| maybe_quoted(part)).collect::<Vec<_>>().join(&b'.')
}

fn maybe_quoted(name: &[u8]) -> Vec<u8> {
    let bare = name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if bare && !name.is_empty() { name.to_vec() } else { quoted(name) }
}

fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for (at, rune, length) in runes::indexed(text) {
        match rune {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\0'..' ' | '\u{7f}' => out.extend(format!("\\u{:04x}", rune as u32).into_bytes()),
            _ => out.extend_from_slice(&text[at..at + length]),
        }
    }
    out.push(b'"');
    out
}
