//! Glob patterns of names and of `%`: `*` matches any text, `?` any single character, `\` escapes the next character.

/// Whether a text matches the pattern.
pub(super) fn matches(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let Some(terms) = terms(pattern) else { return false };
    let (mut t, mut p) = (0, 0);
    // Position to retry after the last star, one character further in the text each time.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match terms.get(p) {
            Some(GlobTerm::Any) => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(GlobTerm::One) => (t, p) = (t + 1, p + 1),
            Some(GlobTerm::Literal(c)) if *c == text[t] => (t, p) = (t + 1, p + 1),
            _ => match retry {
                Some((after, from)) => {
                    retry = Some((after, from + 1));
                    (t, p) = (from + 1, after);
                }
                None => return false,
            },
        }
    }
    terms[p..].iter().all(|term| matches!(term, GlobTerm::Any))
}

enum GlobTerm {
    Any,
    One,
    Literal(char),
}

/// Returns the terms of a pattern, or `None` if the pattern ends with `\` and therefore matches nothing.
fn terms(pattern: &str) -> Option<Vec<GlobTerm>> {
    let mut terms = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        terms.push(match c {
            '*' => GlobTerm::Any,
            '?' => GlobTerm::One,
            '\\' => GlobTerm::Literal(chars.next()?),
            other => GlobTerm::Literal(other),
        });
    }
    Some(terms)
}
