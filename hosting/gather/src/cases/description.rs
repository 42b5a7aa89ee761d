//! `test.yaml`: the description of a case.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use switchboard_object::yaml::{self, YamlError};

use super::mask::{Mask, MaskError};

/// The only supported type of test.
const APPLY_CONFIGURATION: &str = "ApplyConfiguration";

/// Content of `test.yaml`. Unknown keys are ignored, as in multi-operator-manager.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseDescription {
    /// Path of the program, relative to the working directory of the tests. Empty if `operator` is set.
    pub binary_name: String,
    /// Name of a native operator, instead of a program. Extension of Switchboard.
    pub operator: String,
    /// Name of the case, which need not be unique.
    pub test_name: String,
    /// Description.
    pub description: String,
    /// Time that the operator receives, RFC 3339 in UTC with seconds. The default is the current time.
    pub now: Option<String>,
    /// Expected exit status of the program.
    pub desired_error: DesiredError,
    /// Controllers to run. If empty, all of them.
    pub controllers: Vec<String>,
    /// Fields that differ between runs. Extension of Switchboard.
    pub masks: Vec<Mask>,
    /// Environment variables of the program, which has no others. Extension of Switchboard.
    pub env: BTreeMap<String, String>,
}

/// Expected exit status of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DesiredError {
    /// Exit code 0.
    #[default]
    None,
    /// Any other exit code.
    NonZeroReturn,
}

/// Error for an invalid `test.yaml`.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// The text is not YAML.
    #[error("is not YAML")]
    Yaml(#[source] YamlError),
    /// The document is not a map.
    #[error("is not a map of fields")]
    NoMap,
    /// A field has the wrong type.
    #[error("has an invalid field")]
    Shape(#[source] serde_json::Error),
    /// A required field is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A field has an unknown value.
    #[error("`{field}` is `{value}`, but must be {known}")]
    Unknown {
        /// Name of the field.
        field: &'static str,
        /// Value.
        value: String,
        /// Allowed values.
        known: &'static str,
    },
    /// A mask is invalid.
    #[error("`masks[{number}]` is invalid")]
    Mask {
        /// Index of the mask, counted from 0.
        number: usize,
        /// Problem.
        #[source]
        source: MaskError,
    },
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawDescription {
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

impl CaseDescription {
    /// Parses `test.yaml`.
    ///
    /// # Errors
    /// If the text is not YAML, a field is missing, or a value is unknown.
    pub fn read(text: &str) -> Result<Self, DescriptionError> {
        let document = yaml::read(text).map_err(DescriptionError::Yaml)?;
        let written: RawDescription = match document.value {
            Value::Null => RawDescription::default(),
            Value::Object(fields) => {
                // In Go, a key without a value leaves the field unchanged.
                let present = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
                serde_json::from_value(Value::Object(present)).map_err(DescriptionError::Shape)?
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

/// Parses a time and truncates it to seconds, as the program receives it.
fn time(value: String) -> Result<String, DescriptionError> {
    let Ok(time) = value.parse::<Timestamp>() else {
        return Err(unknown("now", value, "an RFC 3339 time such as `2026-01-02T03:04:05Z`"));
    };
    let below_the_second = SignedDuration::from_nanos(i64::from(time.subsec_nanosecond()));
    Ok(time.checked_sub(below_the_second).unwrap_or(time).to_string())
}

#[cfg(test)]
mod tests;
