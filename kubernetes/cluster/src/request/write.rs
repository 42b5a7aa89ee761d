//! Options of create, update and patch.

use switchboard_object::field::{FieldError, FieldErrorKind};
use switchboard_object::status::Status;

use super::list::invalid_options;
use super::query::UrlQuery;
use crate::metadata::MAX_FIELD_MANAGER_BYTES;

/// Handling of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop such fields silently.
    Ignore,
    /// Drop such fields and send a warning.
    #[default]
    Warn,
    /// Refuse the request.
    Strict,
}

/// Patch format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// `application/json-patch+json`.
    Json,
    /// `application/merge-patch+json`.
    Merge,
    /// `application/strategic-merge-patch+json`.
    Strategic,
    /// `application/apply-patch+yaml`.
    Apply,
}

/// Options of a write that is not a delete.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteOptions {
    /// Whether `dryRun=All` is set.
    pub dry_run: bool,
    /// `fieldManager`; empty if not set.
    pub field_manager: String,
    /// `fieldValidation`.
    pub field_validation: FieldValidation,
    /// `force` of an apply patch.
    pub force: bool,
}

impl WriteOptions {
    /// Parses the options of a create.
    pub fn create(query: &UrlQuery) -> Result<Self, Status> {
        Self::parse(query, "CreateOptions", Vec::new())
    }

    /// Parses the options of an update.
    pub fn update(query: &UrlQuery) -> Result<Self, Status> {
        Self::parse(query, "UpdateOptions", Vec::new())
    }

    /// Parses the options of a patch.
    pub fn patch(query: &UrlQuery, kind: PatchKind) -> Result<Self, Status> {
        let mut errors = Vec::new();
        if kind == PatchKind::Apply {
            if query.get("fieldManager").unwrap_or_default().is_empty() {
                errors.push(FieldError::required("fieldManager", "is required for apply patch"));
            }
        } else if query.get("force").is_some() {
            errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
        }
        let mut options = Self::parse(query, "PatchOptions", errors)?;
        options.force = query.flag("force") == Some(true);
        Ok(options)
    }

    fn parse(query: &UrlQuery, kind: &str, mut errors: Vec<FieldError>) -> Result<Self, Status> {
        let field_manager = query.get("fieldManager").unwrap_or_default();
        errors.extend(check_field_manager("fieldManager", field_manager));
        let dry_run = query.all("dryRun");
        errors.extend(check_dry_run(&dry_run));
        let validation = query.get("fieldValidation").unwrap_or_default();
        let field_validation = match validation {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            "" | "Warn" => FieldValidation::Warn,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported("fieldValidation", other, &supported));
                FieldValidation::Warn
            }
        };
        if !errors.is_empty() {
            return Err(invalid_options(kind, &errors));
        }
        Ok(Self { dry_run: !dry_run.is_empty(), field_manager: field_manager.into(), field_validation, force: false })
    }

    /// Returns the manager for managed fields: the given one, or the first part of the user agent.
    pub fn manager(&self, user_agent: &str) -> String {
        if self.field_manager.is_empty() { manager_of_agent(user_agent) } else { self.field_manager.clone() }
    }
}

/// Returns the part of a user agent before the first `/`, printable and not too long.
fn manager_of_agent(user_agent: &str) -> String {
    let mut out = String::new();
    for c in user_agent.split('/').next().unwrap_or_default().chars().filter(|c| printable(*c)) {
        if out.len() + c.len_utf8() > MAX_FIELD_MANAGER_BYTES {
            break;
        }
        out.push(c);
    }
    out
}

fn check_field_manager(field: &str, manager: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > MAX_FIELD_MANAGER_BYTES {
        errors.push(FieldError {
            kind: FieldErrorKind::TooLong,
            ..FieldError::required(field, format!("may not be more than {MAX_FIELD_MANAGER_BYTES} bytes"))
        });
    }
    for (at, c) in manager.char_indices().filter(|(_, c)| !printable(*c)) {
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
        errors.push(FieldError::invalid(field, manager, detail));
    }
    errors
}

/// Whether Go's `unicode.IsPrint` holds, as far as field managers need it: no controls, and the ASCII space only.
fn printable(c: char) -> bool {
    c == ' ' || !(c.is_control() || c.is_whitespace())
}

pub(super) fn check_dry_run(values: &[&str]) -> Option<FieldError> {
    if values.iter().all(|v| *v == "All") {
        return None;
    }
    let value = serde_json::json!(values);
    Some(FieldError::not_supported("dryRun", value, &["All"]))
}
