//! Which line each field of a file stands at.

use std::collections::BTreeMap;

/// Lines by JSON pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(BTreeMap<String, usize>);

impl Lines {
    /// Notes where a field begins.
    pub fn note(&mut self, pointer: &str, line: usize) {
        self.0.insert(pointer.to_string(), line);
    }

    /// The line of a field, or of the nearest thing around it.
    pub fn of(&self, pointer: &str) -> Option<usize> {
        let mut pointer = pointer;
        loop {
            if let Some(line) = self.0.get(pointer) {
                return Some(*line);
            }
            pointer = &pointer[..pointer.rfind('/')?];
        }
    }
}

/// A key as a part of a JSON pointer.
pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
