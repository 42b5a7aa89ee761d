//! The patterns of `.Files.Glob`: `*` stops at `/`, `**` does not, and there are `?`, `[a-z]`, `[!x]` and `{a,b}`.

use regex::Regex;

/// How long a pattern may become as a regular expression.
const MAX_REGEX_BYTES: usize = 1 << 20;

/// The names that match. A pattern that is none matches all, as in Helm.
pub fn compile(pattern: &str) -> Regex {
    let translated = translate(pattern).and_then(|text| {
        regex::RegexBuilder::new(&text).size_limit(MAX_REGEX_BYTES).dot_matches_new_line(true).build().ok()
    });
    translated.unwrap_or_else(|| Regex::new("(?s)^.*$").expect("a constant pattern"))
}

fn translate(pattern: &str) -> Option<String> {
    let mut out = String::from("^");
    let mut chars = pattern.chars().peekable();
    let mut depth = 0usize;
    while let Some(next) = chars.next() {
        match next {
            '*' if chars.peek() == Some(&'*') => {
                chars.next();
                out.push_str(".*");
            }
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '{' => {
                depth += 1;
                out.push_str("(?:");
            }
            ',' if depth > 0 => out.push('|'),
            '}' if depth > 0 => {
                depth -= 1;
                out.push(')');
            }
            '[' => out.push_str(&class(&mut chars)?),
            '\\' => out.push_str(&regex::escape(&chars.next().unwrap_or_default().to_string())),
            other => out.push_str(&regex::escape(&other.to_string())),
        }
    }
    out.push('$');
    (depth == 0).then_some(out)
}

/// One range, or a list of characters; not both.
fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let negated = chars.next_if_eq(&'!').is_some();
    let mut members = Vec::new();
    loop {
        match chars.next()? {
            ']' if !members.is_empty() => break,
            '\\' => members.push(chars.next()?),
            other => members.push(other),
        }
    }
    let escaped = |c: &char| regex::escape(&c.to_string()).replace('-', "\\-").replace('&', "\\&").replace('~', "\\~");
    let body = match members.as_slice() {
        [low, '-', high] if low <= high => format!("{}-{}", escaped(low), escaped(high)),
        [_, '-', ..] => return None,
        members => members.iter().map(escaped).collect(),
    };
    Some(format!("[{}{body}]", if negated { "^" } else { "" }))
}

#[cfg(test)]
mod tests;
