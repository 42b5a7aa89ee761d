//! Validation of fields that several bodies have.

use switchboard_http::problem::{ProblemDetails, ProblemKind};
use switchboard_object::name::{dns1123_label, dns1123_subdomain};

/// Maximum number of characters of a URL, a path or a revision.
pub const MAX_TEXT_CHARS: usize = 2048;

/// Validates a tenant's name.
pub fn tenant(text: &str) -> Result<(), ProblemDetails> {
    require_valid("tenant", dns1123_label(text))
}

/// Validates the name of a resource.
pub fn name(field: &str, text: &str) -> Result<(), ProblemDetails> {
    require_valid(field, dns1123_subdomain(text))
}

/// Validates the tenant filter of a list; none selects all tenants.
pub fn tenant_filter(text: Option<&str>) -> Result<&str, ProblemDetails> {
    let Some(text) = text else { return Ok("") };
    match dns1123_label(text).first() {
        None => Ok(text),
        Some(why) => Err(ProblemDetails::new(ProblemKind::Malformed, format!("`{text}` is not a tenant name: {why}"))),
    }
}

fn require_valid(field: &str, faults: Vec<String>) -> Result<(), ProblemDetails> {
    match faults.first() {
        None => Ok(()),
        Some(why) => Err(ProblemDetails::new(ProblemKind::Invalid, format!("{field}: {why}"))),
    }
}

/// Returns an error unless the texts are short enough and have no control characters.
pub fn require_plain(fields: &[(&str, &str)]) -> Result<(), ProblemDetails> {
    for (field, text) in fields {
        if text.chars().count() > MAX_TEXT_CHARS {
            return Err(ProblemDetails::new(
                ProblemKind::Invalid,
                format!("{field} is longer than {MAX_TEXT_CHARS} characters"),
            ));
        }
        if text.chars().any(char::is_control) {
            return Err(ProblemDetails::new(ProblemKind::Invalid, format!("{field} contains control characters")));
        }
    }
    Ok(())
}
