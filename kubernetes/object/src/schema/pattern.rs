//! Cache of compiled regular expressions.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use regex::Regex;

/// Capacity of the cache. When it is exceeded, the whole cache is cleared.
const MAX_KEPT_PATTERNS: usize = 1024;
/// Memory limit of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// Returns the compiled pattern, or the error.
pub(crate) fn compiled(pattern: &str) -> Result<Regex, String> {
    static KEPT: OnceLock<Mutex<HashMap<Box<str>, Regex>>> = OnceLock::new();
    let kept = KEPT.get_or_init(Mutex::default);
    if let Some(regex) = kept.lock().unwrap_or_else(PoisonError::into_inner).get(pattern) {
        return Ok(regex.clone());
    }
    let regex = compile(pattern)?;
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() >= MAX_KEPT_PATTERNS {
        kept.clear();
    }
    kept.insert(pattern.into(), regex.clone());
    Ok(regex)
}

fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern).map_err(|error| format!("error parsing regexp: {error}"))?;
    let build = regex::RegexBuilder::new(&translated).size_limit(MAX_PATTERN_BYTES).build();
    build.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "error parsing regexp: expression too large".to_string(),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or("").trim();
            format!("error parsing regexp: {}", last.strip_prefix("error: ").unwrap_or(last))
        }
    })
}

/// Translates Go's syntax to that of the `regex` crate: classes are ASCII, brackets do not nest, and a brace that is
/// not a repetition is literal. Reports the errors that Go reports.
fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    let mut depth = 0usize;
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match c {
            '\\' => taken = escape(rest, false, &mut out)?,
            '[' => taken = class(rest, &mut out)?,
            '(' => {
                depth += 1;
                for (unsupported, shown) in [("(?=", "(?="), ("(?!", "(?!"), ("(?<=", "(?<="), ("(?<!", "(?<!")] {
                    if rest.starts_with(unsupported) {
                        return Err(format!("invalid or unsupported Perl syntax: `{shown}`"));
                    }
                }
                out.push('(');
            }
            ')' => {
                depth = depth.checked_sub(1).ok_or_else(|| format!("unexpected ): `{pattern}`"))?;
                out.push(')');
            }
            '{' if !is_count(rest) => out.push_str("\\{"),
            '*' | '+' | '?' if out.is_empty() || out.ends_with('(') || out.ends_with('|') => {
                // `(?` begins the flags of a group.
                if !(c == '?' && out.ends_with('(')) {
                    return Err(format!("missing argument to repetition operator: `{c}`"));
                }
                out.push(c);
            }
            _ => out.push(c),
        }
        rest = &rest[taken..];
    }
    if depth > 0 { Err(format!("missing closing ): `{pattern}`")) } else { Ok(out) }
}

/// Whether the text is a repetition: `{3}`, `{3,}` or `{3,5}`.
fn is_count(rest: &str) -> bool {
    let Some((inside, _)) = rest[1..].split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

/// Translates the escape at the start of `rest`; returns its length.
fn escape(rest: &str, in_class: bool, out: &mut String) -> Result<usize, String> {
    let Some(c) = rest[1..].chars().next() else { return Err("trailing backslash at end of expression: ``".into()) };
    let class = |inside: &str, negated: bool| match (in_class, negated) {
        (true, false) => inside.to_string(),
        (_, true) => format!("[^{inside}]"),
        (false, false) => format!("[{inside}]"),
    };
    match c {
        'd' | 'D' => out.push_str(&class("0-9", c == 'D')),
        'w' | 'W' => out.push_str(&class("0-9A-Za-z_", c == 'W')),
        's' | 'S' => out.push_str(&class("\\t\\n\\f\\r ", c == 'S')),
        'b' | 'B' if !in_class => out.push_str(&format!("(?-u:\\{c})")),
        'Q' => {
            let body = &rest[2..];
            let end = body.find("\\E").unwrap_or(body.len());
            out.push_str(&regex::escape(&body[..end]));
            return Ok(2 + end + if end < body.len() { 2 } else { 0 });
        }
        '<' | '>' | '"' | '\'' | '/' | ',' | ':' | ';' | '=' | '@' | '_' | '`' | '!' | '%' | ' ' => out.push(c),
        'A' | 'z' | 'a' | 'f' | 'n' | 'r' | 't' | 'v' | 'x' | 'p' | 'P' | '0'..='7' => {
            out.push('\\');
            out.push(c);
        }
        c if c.is_ascii_alphanumeric() => return Err(format!("invalid escape sequence: `\\{c}`")),
        c => out.push_str(&regex::escape(&c.to_string())),
    }
    Ok(1 + c.len_utf8())
}

/// Translates the bracketed class at the start of `rest`; returns its length.
fn class(rest: &str, out: &mut String) -> Result<usize, String> {
    let mut at = 1;
    out.push('[');
    if rest[at..].starts_with('^') {
        out.push('^');
        at += 1;
    }
    let first = at;
    // Whether the last item may begin a range.
    let mut single = false;
    loop {
        let tail = &rest[at..];
        let Some(c) = tail.chars().next() else { return Err(format!("missing closing ]: `{rest}`")) };
        match c {
            ']' if at > first => {
                out.push(']');
                return Ok(at + 1);
            }
            '\\' => {
                single = !is_class(tail);
                at += escape(tail, true, out)?;
                continue;
            }
            '-' => {
                let after = &tail[1..];
                let range = single && !after.starts_with(']') && !is_class(after) && !after.starts_with("[:");
                out.push_str(if range { "-" } else { "\\-" });
                // The end of a range does not begin another one.
                single = !range;
                at += 1;
                if range {
                    at += range_end(after, out)?;
                    single = false;
                }
                continue;
            }
            '[' if tail.starts_with("[:") => match tail.find(":]") {
                Some(end) => {
                    out.push_str(&tail[..end + 2]);
                    at += end + 2;
                    single = false;
                    continue;
                }
                None => out.push_str("\\["),
            },
            '[' | ']' | '&' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
        single = true;
        at += c.len_utf8();
    }
}

/// Whether an escape stands for several characters.
fn is_class(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next() == Some('\\') && matches!(chars.next(), Some('d' | 'D' | 'w' | 'W' | 's' | 'S' | 'p' | 'P'))
}

fn range_end(text: &str, out: &mut String) -> Result<usize, String> {
    match text.chars().next() {
        Some('\\') => escape(text, true, out),
        Some(c) => {
            out.push_str(&regex::escape(&c.to_string()));
            Ok(c.len_utf8())
        }
        None => Ok(0),
    }
}
