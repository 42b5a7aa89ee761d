//! Fields several bodies have, judged the same way everywhere.

use switchboard_object::name::{dns1123_label, dns1123_subdomain};

use crate::problem::{Kind, Problem};

/// The most characters of a URL, a path or a revision.
pub const MAX_TEXT_CHARS: usize = 2048;

/// A tenant's name.
pub fn tenant(text: &str) -> Result<(), Problem> {
    named("tenant", dns1123_label(text))
}

/// The name of a resource.
pub fn name(field: &str, text: &str) -> Result<(), Problem> {
    named(field, dns1123_subdomain(text))
}

/// A tenant to whom a list is limited; none is all.
pub fn asked_tenant(text: Option<&str>) -> Result<&str, Problem> {
    let Some(text) = text else { return Ok("") };
    match dns1123_label(text).first() {
        None => Ok(text),
        Some(why) => Err(Problem::new(Kind::Malformed, format!("`{text}` is no tenant: {why}"))),
    }
}

fn named(field: &str, faults: Vec<String>) -> Result<(), Problem> {
    match faults.first() {
        None => Ok(()),
        Some(why) => Err(Problem::new(Kind::Invalid, format!("{field}: {why}"))),
    }
}

/// Texts that have a bound and no control characters.
pub fn plain(fields: &[(&str, &str)]) -> Result<(), Problem> {
    for (field, text) in fields {
        if text.chars().count() > MAX_TEXT_CHARS {
            return Err(Problem::new(Kind::Invalid, format!("{field} is longer than {MAX_TEXT_CHARS} characters")));
        }
        if text.chars().any(char::is_control) {
            return Err(Problem::new(Kind::Invalid, format!("{field} has control characters")));
        }
    }
    Ok(())
}
