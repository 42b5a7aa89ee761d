//! Line numbers of the fields of a file.

use std::collections::BTreeMap;

/// Line numbers by JSON pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldLines(BTreeMap<String, usize>);

impl FieldLines {
    /// Records the line of a field.
    pub fn note(&mut self, pointer: &str, line: usize) {
        self.0.insert(pointer.to_string(), line);
    }

    /// Returns the line of a field or of the closest enclosing value.
    pub fn line_of(&self, pointer: &str) -> Option<usize> {
        let mut pointer = pointer;
        loop {
            if let Some(line) = self.0.get(pointer) {
                return Some(*line);
            }
            pointer = &pointer[..pointer.rfind('/')?];
        }
    }
}

/// Escapes a key for a JSON pointer.
pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
