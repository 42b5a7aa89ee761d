//! What is said of something that was written: a line for people, the object for programs.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::failure::Failure;
use crate::form::{self, Form};

/// Something was written.
pub struct Written {
    /// As people call it.
    pub told: &'static str,
    /// What was done: `created`, `deleted`.
    pub act: &'static str,
    /// The object.
    pub object: Value,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.object["metadata"]["name"].as_str().unwrap_or_default();
        writeln!(f, "{} {name} {}", self.told, self.act)
    }
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.object.serialize(to)
    }
}

/// Prints it.
pub fn printed(written: &Written, output: Form) -> Result<(), Failure> {
    form::print(written, output)
}
