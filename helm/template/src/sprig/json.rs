//! Go's `encoding/json`, as used by `toJson`, `fromJson` and similar functions.

use crate::value::{JsonNumbers, Value};

/// Maximum depth of a value to encode. Go overflows its stack instead.
const MAX_DEPTH: usize = 1_000;

/// Encodes like Go's `json.Marshal`, optionally escaping `<`, `>` and `&`.
pub fn write(value: &Value, escape_html: bool) -> Result<Vec<u8>, String> {
    let mut writer = JsonWriter { out: Vec::new(), escape_html };
    writer.value(value, 0)?;
    Ok(writer.out)
}

/// Encodes like Go's `json.MarshalIndent` with two spaces.
pub fn write_pretty(value: &Value) -> Result<Vec<u8>, String> {
    Ok(indent(&write(value, true)?))
}

/// Decodes like Go's `json.Unmarshal` into an `interface {}`: all numbers are `float64`.
pub fn read(text: &[u8]) -> Result<Value, String> {
    let document = switchboard_object::json::read_numbers_as_floats(text).map_err(|error| error.to_string())?;
    Ok(Value::from_json(&document.value, JsonNumbers::Float))
}

struct JsonWriter {
    out: Vec<u8>,
    escape_html: bool,
}

impl JsonWriter {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("json: unsupported value: encountered a cycle via {}", value.type_name()));
        }
        crate::stack::grow(|| self.value_here(value, depth))
    }

    fn value_here(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        match value {
            Value::Nil => self.raw("null"),
            Value::Bool(bool) => self.raw(if *bool { "true" } else { "false" }),
            Value::String(text) => self.string(text),
            Value::Bytes(bytes) => self.string(super::encoding::base64_encode(bytes).as_bytes()),
            Value::Float32(number) => self.float(f64::from(*number), &shortest(*number), &exponent(*number))?,
            Value::Float64(number) => self.float(*number, &shortest(*number), &exponent(*number))?,
            Value::List(_, list) if list.is_nil() => self.raw("null"),
            Value::List(_, list) => {
                self.raw("[");
                for (index, item) in list.iter().enumerate() {
                    self.comma(index);
                    self.value(item, depth + 1)?;
                }
                self.raw("]");
            }
            Value::Map(_, map) if map.is_nil() => self.raw("null"),
            Value::Map(_, map) => {
                self.raw("{");
                for (index, (key, item)) in map.entries().iter().enumerate() {
                    self.comma(index);
                    self.string(key);
                    self.raw(":");
                    self.value(item, depth + 1)?;
                }
                self.raw("}");
            }
            Value::Object(object) => match (object.json(), object.scalar()) {
                // JSON from a type's own marshaler is compacted, which also escapes it.
                (Some(text), _) => self.embedded(&text),
                (None, Some(scalar)) => self.value(&scalar, depth)?,
                (None, None) => {
                    self.raw("{");
                    for (index, (name, item)) in object.fields().into_iter().enumerate() {
                        self.comma(index);
                        self.string(name.as_bytes());
                        self.raw(":");
                        self.value(&item, depth + 1)?;
                    }
                    self.raw("}");
                }
            },
            Value::Complex(..) | Value::Func(_) => {
                return Err(format!("json: unsupported type: {}", value.type_name()));
            }
            number => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => self.raw(&number.to_string()),
                (None, number) => self.raw(&number.unwrap_or(0).to_string()),
            },
        }
        Ok(())
    }

    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push(b',');
        }
    }

    fn embedded(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '<' | '>' | '&' if self.escape_html => self.raw(&format!("\\u{:04x}", c as u32)),
                c => self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    /// Writes a float, in fixed notation unless it is very small or very large.
    fn float(&mut self, number: f64, fixed: &str, scientific: &str) -> Result<(), String> {
        if !number.is_finite() {
            let shown = if number.is_nan() {
                "NaN"
            } else if number > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            return Err(format!("json: unsupported value: {shown}"));
        }
        let size = number.abs();
        let plain = size == 0.0 || (1e-6..1e21).contains(&size);
        self.raw(if plain { fixed } else { scientific });
        Ok(())
    }

    fn string(&mut self, text: &[u8]) {
        self.out.push(b'"');
        for (at, rune, length) in super::runes::indexed(text) {
            match rune {
                '"' => self.raw("\\\""),
                '\\' => self.raw("\\\\"),
                '\u{8}' => self.raw("\\b"),
                '\u{c}' => self.raw("\\f"),
                '\n' => self.raw("\\n"),
                '\r' => self.raw("\\r"),
                '\t' => self.raw("\\t"),
                '<' | '>' | '&' if self.escape_html => self.raw(&format!("\\u{:04x}", rune as u32)),
                '\0'..'\u{20}' | '\u{2028}' | '\u{2029}' => self.raw(&format!("\\u{:04x}", rune as u32)),
                super::runes::RUNE_ERROR if length == 1 => self.raw("\\ufffd"),
                _ => self.out.extend_from_slice(&text[at..at + length]),
            }
        }
        self.out.push(b'"');
    }
}

fn shortest(number: impl std::fmt::Display) -> String {
    number.to_string()
}

/// Formats `1e-7` and `1e+21` with Go's short exponents.
fn exponent(number: impl std::fmt::LowerExp) -> String {
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power}"),
        _ => text,
    }
}

/// Indents compact JSON like Go's `json.Indent`.
fn indent(compact: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(compact.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    let newline = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', 2 * depth));
    };
    for (at, &byte) in compact.iter().enumerate() {
        if in_string {
            out.push(byte);
            (in_string, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
            continue;
        }
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                let closes = compact.get(at + 1).is_some_and(|next| matches!(next, b'}' | b']'));
                depth += 1;
                if !closes {
                    newline(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth -= 1;
                if !matches!(compact[at - 1], b'{' | b'[') {
                    newline(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                newline(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            b'"' => {
                in_string = true;
                out.push(byte);
            }
            _ => out.push(byte),
        }
    }
    out
}
