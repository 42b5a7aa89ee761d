//! Counts with their nouns.

/// Formats a count with its noun: `1 error`, `0 warnings`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
