//! Validation of texts written by tenants.

use switchboard_sql::Table;

/// Characters that managed-gitops silently removes. Here they are rejected.
const REFUSED: &[char] = &['"', '\'', '`', '\r', '\n', ';'];

/// Maximum length of a URL, path or revision, which is also the limit of the URL columns.
pub(crate) const MAX_CHARS: usize = 2048;

/// Validates a text, with an error message for a condition.
pub(crate) fn validate(field: &str, text: &str) -> Result<(), String> {
    if let Some(bad) = text.chars().find(|c| REFUSED.contains(c) || c.is_control()) {
        return Err(format!("{field} contains a character that is not supported: {bad:?}"));
    }
    check_length(field, text, MAX_CHARS)
}

/// Checks the length of a text.
pub(crate) fn check_length(field: &str, text: &str, most: usize) -> Result<(), String> {
    match text.chars().count() {
        chars if chars > most => Err(format!("{field} has {chars} characters, and at most {most} are supported")),
        _ => Ok(()),
    }
}

/// Checks that a text fits its column. The message does not contain the text, which may be a credential.
pub(crate) fn check_storable(field: &str, text: &str, table: &Table, column: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err(format!("{field} contains a character that is not supported: '\\0'"));
    }
    let most = table.column(column).map_or(MAX_CHARS, |column| column.max_chars);
    check_length(field, text, most)
}
