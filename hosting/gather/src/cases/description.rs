//! `test.yaml`: what a case is about.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use switchboard_object::yaml::{self, YamlError};

use super::mask::{Mask, MaskError};

/// The one kind of test there is.
const APPLY_CONFIGURATION: &str = "ApplyConfiguration";

/// What `test.yaml` says. Keys that are not known are passed over, as in the original.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The program, relative to where the tests are started. Empty when `operator` says it.
    pub binary_name: String,
    /// A native operator, instead of a program. Ours alone.
    pub operator: String,
    /// What the case is called; several may be called the same.
    pub test_name: String,
    /// What it is about.
    pub description: String,
    /// The time the operator is told, RFC 3339 in UTC to the second; the real time when absent.
    pub now: Option<String>,
    /// How the program should end.
    pub desired_error: DesiredError,
    /// Only these controllers; all when empty.
    pub controllers: Vec<String>,
    /// Fields that differ from run to run. Ours alone.
    pub masks: Vec<Mask>,
    /// Variables the program is given, where its environment is scrubbed. Ours alone.
    pub env: BTreeMap<String, String>,
}

/// How the program should end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DesiredError {
    /// With exit code 0.
    #[default]
    None,
    /// With another one.
    NonZeroReturn,
}

/// A `test.yaml` that is none.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// It is not YAML.
    #[error("is not YAML")]
    Yaml(#[source] YamlError),
    /// It is no map of fields.
    #[error("is no map of fields")]
    NoMap,
    /// It has another shape.
    #[error("is not of the expected shape")]
    Shape(#[source] serde_json::Error),
    /// Something that must be there is not.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A value that nobody knows.
    #[error("`{field}` is `{value}`, but must be {known}")]
    Unknown {
        /// Of which field.
        field: &'static str,
        /// What it says.
        value: String,
        /// What it may say.
        known: &'static str,
    },
    /// A mask that cannot be read.
    #[error("`masks[{number}]` cannot be read")]
    Mask {
        /// Which one, counted from zero.
        number: usize,
        /// What is wrong with it.
        #[source]
        source: MaskError,
    },
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    binary_name: String,
    operator: String,
    test_name: String,
    description: String,
    test_type: String,
    now: Option<String>,
    desired_error: String,
    controllers: Vec<String>,
    masks: Vec<Value>,
    env: BTreeMap<String, String>,
}

impl Description {
    /// Reads `test.yaml`.
    ///
    /// # Errors
    /// When it is not YAML, something is missing, or a value is not known.
    pub fn read(text: &str) -> Result<Self, DescriptionError> {
        let document = yaml::read(text).map_err(DescriptionError::Yaml)?;
        let written: Written = match document.value {
            Value::Null => Written::default(),
            Value::Object(fields) => {
                // Go leaves a field alone whose key has no value.
                let said = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
                serde_json::from_value(Value::Object(said)).map_err(DescriptionError::Shape)?
            }
            _ => return Err(DescriptionError::NoMap),
        };
        let desired_error = match written.desired_error.as_str() {
            "" => DesiredError::None,
            "NonZeroReturn" => DesiredError::NonZeroReturn,
            _ => return Err(unknown("desiredError", written.desired_error, "`NonZeroReturn` or nothing")),
        };
        let read = |(number, mask): (usize, &Value)| {
            Mask::read(mask).map_err(|source| DescriptionError::Mask { number, source })
        };
        let masks = written.masks.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        let required = [
            ("binaryName", written.binary_name.is_empty() && written.operator.is_empty()),
            ("testName", written.test_name.is_empty()),
            ("description", written.description.is_empty()),
            ("testType", written.test_type.is_empty()),
        ];
        if let Some((field, _)) = required.into_iter().find(|(_, missing)| *missing) {
            return Err(DescriptionError::Missing(field));
        }
        if written.test_type != APPLY_CONFIGURATION {
            return Err(unknown("testType", written.test_type, "`ApplyConfiguration`"));
        }
        Ok(Self {
            now: written.now.map(time).transpose()?,
            binary_name: written.binary_name,
            operator: written.operator,
            test_name: written.test_name,
            description: written.description,
            desired_error,
            controllers: written.controllers,
            masks,
            env: written.env,
        })
    }
}

fn unknown(field: &'static str, value: String, known: &'static str) -> DescriptionError {
    DescriptionError::Unknown { field, value, known }
}

/// To the second, as the program is told.
fn time(value: String) -> Result<String, DescriptionError> {
    let Ok(time) = value.parse::<Timestamp>() else {
        return Err(unknown("now", value, "an RFC 3339 time such as `2026-01-02T03:04:05Z`"));
    };
    let below_the_second = SignedDuration::from_nanos(i64::from(time.subsec_nanosecond()));
    Ok(time.checked_sub(below_the_second).unwrap_or(time).to_string())
}

#[cfg(test)]
mod tests;
