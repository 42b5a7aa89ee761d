//! Results of checks of a value against a schema.

use crate::Value;
use crate::field::{FieldError, FieldErrorKind};
use crate::quote::quote;

/// Failed check, with the API server's text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CheckFailure {
    pub kind: FieldErrorKind,
    /// Path of the failure; `None` for failures without a path.
    pub name: Option<String>,
    pub value: Value,
    pub detail: String,
    /// Full text. Failures with equal texts are reported once.
    pub text: String,
}

impl CheckFailure {
    pub fn invalid(name: &str, value: impl Into<Value>, text: String) -> Self {
        let kind = FieldErrorKind::Invalid;
        Self { kind, name: Some(name.to_string()), value: value.into(), detail: text.clone(), text }
    }

    pub fn bare(text: String) -> Self {
        Self { name: None, ..Self::invalid("", "", text) }
    }

    /// Creates the failure of `allOf`, `anyOf`, `oneOf` or `not`.
    pub fn combined(path: &str, rule: &str) -> Self {
        Self::bare(format!("{} must {rule}", quote(path)))
    }

    pub fn wrong_type(name: &str, expected: &str, found: &str) -> Self {
        let text = format!("{name} in body must be of type {expected}: {}", quote(found));
        Self { kind: FieldErrorKind::TypeInvalid, ..Self::invalid(name, found, text) }
    }

    pub fn into_field_error(self, parent: &str) -> FieldError {
        let name = self.name.as_deref().unwrap_or("");
        let name = name.strip_prefix('.').unwrap_or(name);
        let field = match (parent.is_empty(), name.is_empty()) {
            (_, true) => parent.to_string(),
            (true, false) => name.to_string(),
            (false, false) => format!("{parent}.{name}"),
        };
        // Go prints an empty field path as `<nil>`.
        let field = if field.is_empty() { "<nil>".to_string() } else { field };
        FieldError { kind: self.kind, field, value: Some(self.value), detail: self.detail }
    }
}

/// Failures, and the number of checks. `anyOf` reports the failures of the alternative with the most checks.
#[derive(Default)]
pub(super) struct CheckResult {
    pub failures: Vec<CheckFailure>,
    pub checked: usize,
}

impl CheckResult {
    pub fn from_failure(failure: CheckFailure) -> Self {
        Self { failures: vec![failure], checked: 0 }
    }

    pub fn valid(&self) -> bool {
        self.failures.is_empty()
    }

    pub fn add(&mut self, failure: CheckFailure) {
        if self.failures.iter().all(|f| f.text != failure.text) {
            self.failures.push(failure);
        }
    }

    pub fn merge(&mut self, other: CheckResult) {
        self.checked += other.checked;
        other.failures.into_iter().for_each(|failure| self.add(failure));
    }
}
