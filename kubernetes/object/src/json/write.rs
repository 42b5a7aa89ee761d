//! JSON writer, byte for byte as Go's `encoding/json`.

use std::io;

use serde::Serialize as _;
use serde_json::ser::{Formatter, Serializer};

use crate::{Value, go_format};

/// Returns the compact JSON text of a value.
pub fn to_string(value: &Value) -> String {
    String::from_utf8(to_vec(value)).expect("a JSON text of strings is UTF-8")
}

/// Returns the compact JSON text of a value, as bytes.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    let mut serializer = Serializer::with_formatter(&mut out, GoFormatter);
    value.serialize(&mut serializer).expect("writing a value to memory cannot fail");
    out
}

struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(go_format::json_float(value).as_bytes())
    }

    // Writes part of a string. Go escapes characters that are unsafe in HTML and JavaScript.
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(index) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, tail) = rest.split_at(index);
            let odd = tail.chars().next().unwrap_or_default();
            write!(writer, "{plain}\\u{:04x}", odd as u32)?;
            rest = &tail[odd.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}
