//! Descriptions of the built-in kinds and their fields, compressed until an OpenAPI document needs them.
//!
//! Line format, written by `tests/real/descriptions.py`: `NAME TEXT` for a definition, then ` FIELD TEXT` for each of
//! its fields. TEXT is a JSON string, or the number of an earlier one.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::{Map, Value};

#[cfg(test)]
mod tests;

const COMPRESSED: &[u8] = include_bytes!("../../data/descriptions.gz");

/// Length of the trailer of a gzip file: checksum and length of its content.
const GZIP_TRAILER_BYTES: usize = 8;

/// Descriptions as text, about 600 KB. Drop them after use; to decompress them again takes a few milliseconds.
#[derive(Debug)]
pub struct Descriptions {
    lines: String,
}

impl Descriptions {
    /// Decompresses the embedded descriptions.
    pub fn decompress() -> Self {
        let mut lines = String::new();
        GzDecoder::new(COMPRESSED).read_to_string(&mut lines).expect("the embedded descriptions are gzip");
        Self { lines }
    }

    /// Returns a value that changes with the descriptions, without decompressing them.
    pub fn checksum() -> &'static [u8] {
        &COMPRESSED[COMPRESSED.len() - GZIP_TRAILER_BYTES..]
    }

    /// Adds a `description` to each built-in definition of a map and to its fields. The description of a field that
    /// refers to a definition is put beside the reference.
    pub fn add_to(&self, definitions: &mut Map) {
        let mut definition = None;
        for (line, text) in self.lines() {
            match line {
                Line::Definition(name) => {
                    definition = definitions.get_mut(name);
                    if let Some(found) = &mut definition {
                        found["description"] = parse(text);
                    }
                }
                Line::Field(name) => {
                    let fields = definition.as_mut().and_then(|found| found["properties"].as_object_mut());
                    if let Some(field) = fields.and_then(|fields| fields.get_mut(name)) {
                        field["description"] = parse(text);
                    }
                }
            }
        }
    }

    /// Returns each line with its text as JSON.
    fn lines(&self) -> impl Iterator<Item = (Line<'_>, &str)> {
        let mut texts: Vec<&str> = Vec::new();
        self.lines.lines().map(move |line| {
            let field = line.strip_prefix(' ');
            let (name, text) = field.unwrap_or(line).split_once(' ').expect("a line has a name and a text");
            if text.starts_with('"') {
                texts.push(text);
            }
            let text = text.parse().map_or(text, |number: usize| texts[number]);
            (if field.is_some() { Line::Field(name) } else { Line::Definition(name) }, text)
        })
    }
}

/// Name at the beginning of a line.
enum Line<'a> {
    Definition(&'a str),
    Field(&'a str),
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("the embedded descriptions are JSON strings")
}
