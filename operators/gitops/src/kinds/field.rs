//! Texts of tenants, judged alike wherever they stand.

use switchboard_ledger::Table;

/// Characters that the original takes out of its input without a word. Here they are refused.
const REFUSED: &[char] = &['"', '\'', '`', '\r', '\n', ';'];

/// The longest text of a tenant's: a URL, a path, a revision. Rows hold no longer URL.
pub(crate) const MAX_CHARS: usize = 2048;

/// What is wrong with a text, in the words for a condition.
pub(crate) fn judge(field: &str, text: &str) -> Result<(), String> {
    if let Some(bad) = text.chars().find(|c| REFUSED.contains(c) || c.is_control()) {
        return Err(format!("{field} contains a character that is not supported: {bad:?}"));
    }
    judge_length(field, text, MAX_CHARS)
}

/// Whether a text is as long as is supported.
pub(crate) fn judge_length(field: &str, text: &str, most: usize) -> Result<(), String> {
    match text.chars().count() {
        chars if chars > most => Err(format!("{field} has {chars} characters, and at most {most} are supported")),
        _ => Ok(()),
    }
}

/// Whether a column holds a text. What the text is, is not said: it may be a credential.
pub(crate) fn judge_kept(field: &str, text: &str, table: &Table, column: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err(format!("{field} contains a character that is not supported: '\\0'"));
    }
    let most = table.column(column).map_or(MAX_CHARS, |column| column.max_chars);
    judge_length(field, text, most)
}
