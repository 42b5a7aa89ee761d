//! Field errors, in the words of Kubernetes' `field.Error`.

use std::fmt;

use crate::Value;
use crate::quote::quote;

/// Class of a field error. It decides the cause's `reason` and the form of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// `Required value`.
    Required,
    /// `Invalid value`.
    Invalid,
    /// `Unsupported value`; the detail lists the supported values.
    NotSupported,
    /// `Duplicate value`.
    Duplicate,
    /// `Forbidden`.
    Forbidden,
    /// `Too long`.
    TooLong,
    /// `Too many`.
    TooMany,
    /// `Not found`.
    NotFound,
    /// `Internal error`.
    Internal,
    /// `Invalid value` with the reason `FieldValueTypeInvalid`.
    TypeInvalid,
}

/// Error about one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// Class of the error.
    pub kind: FieldErrorKind,
    /// Path of the field: `spec.containers[0].image`.
    pub field: String,
    /// Offending value; shown for the classes that show one.
    pub value: Option<Value>,
    /// Description of the error.
    pub detail: String,
}

impl FieldErrorKind {
    /// Returns the `reason` of the cause in a Status.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }
}

impl FieldError {
    /// Creates an error for a missing required field.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind: FieldErrorKind::Required, field: field.into(), value: None, detail: detail.into() }
    }

    /// Creates an error for a value that is not allowed.
    pub fn invalid(field: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { kind: FieldErrorKind::Invalid, field: field.into(), value: Some(value.into()), detail: detail.into() }
    }

    /// Creates an error for a value of the wrong JSON type.
    pub fn type_invalid(field: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { kind: FieldErrorKind::TypeInvalid, ..Self::invalid(field, value, detail) }
    }

    /// Creates an error for a value outside an enumeration. `supported` is listed as given.
    pub fn not_supported(field: impl Into<String>, value: impl Into<Value>, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|s| quote(s)).collect();
        Self {
            kind: FieldErrorKind::NotSupported,
            field: field.into(),
            value: Some(value.into()),
            detail: format!("supported values: {}", quoted.join(", ")),
        }
    }

    /// Creates an error for a duplicate value.
    pub fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { kind: FieldErrorKind::Duplicate, ..Self::invalid(field, value, "") }
    }

    /// Creates an error for a field that must not be set or changed.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind: FieldErrorKind::Forbidden, ..Self::required(field, detail) }
    }

    /// Returns the cause's message: everything except the path.
    pub fn message(&self) -> String {
        let mut out = self.kind.words().to_string();
        let shows_value = !matches!(
            self.kind,
            FieldErrorKind::Required | FieldErrorKind::Forbidden | FieldErrorKind::TooLong | FieldErrorKind::Internal
        );
        if let (true, Some(value)) = (shows_value, &self.value) {
            out.push_str(": ");
            out.push_str(&go_value(value));
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }
}

/// Formats a value as Go does: strings quoted, lists and objects as JSON that is safe in HTML.
fn go_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Array(_) | Value::Object(_) => {
            value.to_string().replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
        }
        other => other.to_string(),
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message())
    }
}
