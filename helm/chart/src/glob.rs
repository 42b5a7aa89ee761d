//! Patterns of `.Files.Glob`: `*` stops at `/`, `**` does not. `?`, `[a-z]`, `[!x]` and `{a,b}` are supported too.

use regex::Regex;

/// Maximum size of a pattern as a regular expression.
const MAX_REGEX_BYTES: usize = 1 << 20;

/// Compiles a pattern. An invalid pattern matches every name, as in Helm.
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

/// Reads one range, or a list of characters, but not both.
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
