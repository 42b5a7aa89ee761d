//! Splits a gjson path into components, one at a time, because the meaning of a component depends on the value.

use super::modifier;

/// Remainder of a path after a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathRest<'a> {
    /// No remainder.
    End,
    /// The remainder applies within the value, to each element if there are several.
    Inside(&'a str),
    /// The remainder applies to the result as a whole.
    Piped(&'a str),
}

/// A component applied to an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FieldComponent<'a> {
    pub name: String,
    /// Whether the name contains `*` or `?`.
    pub wild: bool,
    pub rest: PathRest<'a>,
}

/// A component applied to a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ElementComponent<'a> {
    /// One element; `None` if the component is not a number.
    At(Option<usize>, PathRest<'a>),
    /// `#`: the number of elements.
    Count(PathRest<'a>),
    /// `#.path`: the path in each element.
    Each(&'a str),
    /// `#(…)`: the first match; `#(…)#`: all matches.
    Query { query: ElementQuery, all: bool, rest: PathRest<'a> },
    /// A `#` without a meaning.
    Nothing(PathRest<'a>),
}

/// Query in `#(…)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ElementQuery {
    pub path: String,
    /// `=`, `!=`, `<`, `<=`, `>`, `>=`, `%`, `!%`; empty if the query only tests whether the path exists.
    pub op: String,
    pub value: String,
}

/// Returns the bracket that is opened but not closed.
pub(super) fn unclosed(path: &str) -> Option<char> {
    let mut open = Vec::new();
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '(' | '[' | '{' => open.push(c),
            ')' | ']' | '}' => drop(open.pop()),
            // Quotes matter only within brackets.
            '"' if !open.is_empty() => {
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    if c == '\\' {
                        chars.next();
                    }
                }
            }
            _ => {}
        }
    }
    open.pop()
}

/// Returns the remainder after a dot or pipe at `at`.
fn rest(path: &str, at: usize, may_pipe: bool) -> PathRest<'_> {
    let behind = &path[at + 1..];
    if path.as_bytes()[at] == b'|' || (may_pipe && pipes_itself(behind)) {
        PathRest::Piped(behind)
    } else {
        PathRest::Inside(behind)
    }
}

/// Whether the component applies to a result as a whole even after a dot, as modifiers and multipaths do.
fn pipes_itself(path: &str) -> bool {
    match path.as_bytes().first() {
        Some(b'@') => {
            let end = path.find(['.', '|', ':']).unwrap_or(path.len());
            modifier::exists(&path[1..end])
        }
        first => matches!(first, Some(b'[' | b'{')),
    }
}

/// Returns the first component for an object.
pub(super) fn field(path: &str) -> FieldComponent<'_> {
    let mut name = String::new();
    let mut wild = false;
    let mut chars = path.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '|' | '.' => return FieldComponent { name, wild, rest: rest(path, at, true) },
            '\\' => {
                name.extend(chars.next().map(|(_, c)| c));
                continue;
            }
            '*' | '?' => wild = true,
            _ => {}
        }
        name.push(c);
    }
    FieldComponent { name, wild, rest: PathRest::End }
}

/// Returns the first component for a list.
pub(super) fn element(path: &str) -> ElementComponent<'_> {
    if let Some(key) = path.strip_prefix("#.") {
        return ElementComponent::Each(key);
    }
    let mut from = 0;
    let mut query = None;
    if path.starts_with("#(") || path.starts_with("#[") {
        match parse_query(path) {
            Some((asked, end)) => {
                let all = path[end..].starts_with('#');
                query = Some((asked, all));
                from = end;
            }
            // As in gjson, an invalid query matches without a condition.
            None => return ElementComponent::Query { query: ElementQuery::default(), all: false, rest: PathRest::End },
        }
    }
    let end = path[from..].find(['.', '|']).map_or(path.len(), |at| from + at);
    let part = &path[..end];
    let counts = part.contains('#');
    let rest = if end == path.len() { PathRest::End } else { rest(path, end, !counts) };
    match query {
        Some((query, all)) => ElementComponent::Query { query, all, rest },
        None if part == "#" => ElementComponent::Count(rest),
        None if counts => ElementComponent::Nothing(rest),
        None => ElementComponent::At(index(part), rest),
    }
}

fn index(part: &str) -> Option<usize> {
    part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok()).flatten()
}

/// Parses a query and returns its end. `path` begins with `#(` or `#[`.
fn parse_query(path: &str) -> Option<(ElementQuery, usize)> {
    let bytes = path.as_bytes();
    let (mut at, mut depth, mut op_at, mut escaped) = (2, 1u32, None, false);
    while at < bytes.len() {
        match bytes[at] {
            b'!' | b'=' | b'<' | b'>' | b'%' if depth == 1 && op_at.is_none() => op_at = Some(at),
            b'\\' => at += 1,
            b'[' | b'(' => depth += 1,
            b']' | b')' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    if bytes[at] == b'\\' {
                        escaped = true;
                        at += 1;
                    }
                    at += 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if depth > 0 || at >= bytes.len() {
        return None;
    }
    let trim = |text: &str| text.trim_matches(|c: char| c <= ' ').to_string();
    let Some(op_at) = op_at else {
        return Some((ElementQuery { path: trim(&path[2..at]), ..ElementQuery::default() }, at + 1));
    };
    let (op, value) = split_op(path[op_at..at].trim_matches(|c: char| c <= ' '));
    let query = ElementQuery { path: trim(&path[2..op_at]), op: op.to_string(), value: unquote(trim(value), escaped) };
    Some((query, at + 1))
}

fn split_op(text: &str) -> (&str, &str) {
    let two = ["!=", "!%", "<=", ">="].into_iter().find(|op| text.starts_with(op));
    match two {
        Some(op) => (op, &text[op.len()..]),
        None if text.len() > 1 && text.starts_with("==") => ("=", &text[2..]),
        None if text.len() > 1 && text.starts_with('!') => ("", text),
        None => text.split_at(1),
    }
}

fn unquote(value: String, escaped: bool) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return value };
    if escaped { serde_json::from_str(&value).unwrap_or_else(|_| inner.to_string()) } else { inner.to_string() }
}

/// Splits a path at the first pipe outside of a query. The left part applies to each element.
pub(super) fn split_pipe(path: &str) -> Option<(&str, &str)> {
    if path.starts_with('{') {
        let (inner, behind) = path.split_at(balanced(path));
        return behind.strip_prefix('|').map(|right| (inner, right));
    }
    let bytes = path.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'.' if path[at + 1..].starts_with("#(") || path[at + 1..].starts_with("#[") => {
                at += 1 + balanced_query(&path[at + 2..]);
            }
            b'|' => return Some((&path[..at], &path[at + 1..])),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the length of a query's brackets, counting only the first bracket's kind.
fn balanced_query(text: &str) -> usize {
    let (open, close) = if text.starts_with('[') { (b'[', b']') } else { (b'(', b')') };
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0u32);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b if b == open => depth += 1,
            b if b == close => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b'"' => at = end_of_string(bytes, at),
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Returns the position of the closing quote for a string at `at`, or the end of the text.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// Returns the length of the bracketed or quoted text at the beginning.
pub(super) fn balanced(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.first() == Some(&b'"') {
        return (end_of_string(bytes, 0) + 1).min(bytes.len());
    }
    let (mut at, mut depth) = (0, 0u32);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Part of a multipath: an optional name, and a path.
pub(super) type PathSelector<'a> = (Option<&'a str>, &'a str);

/// Returns the parts of `[a,b]` or `{a,"n":b}` and the remainder, or `None` if the bracket is not closed.
pub(super) fn selectors(path: &str) -> Option<(Vec<PathSelector<'_>>, &str)> {
    let bytes = path.as_bytes();
    let mut selectors = Vec::new();
    let (mut at, mut start, mut depth) = (1, 1, 1u32);
    let (mut colon, mut modified) = (None, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'@' if matches!(bytes[at - 1], b'.' | b'|') => modified = true,
            b':' if !modified && colon.is_none() && depth == 1 => colon = Some(at),
            b',' if depth == 1 => {
                selectors.push(selector(path, start, colon, at));
                (colon, modified, start) = (None, false, at + 1);
            }
            b'"' => at = end_of_string(bytes, at),
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    selectors.push(selector(path, start, colon, at));
                    return Some((selectors, &path[at + 1..]));
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn selector(path: &str, start: usize, colon: Option<usize>, end: usize) -> PathSelector<'_> {
    match colon {
        Some(colon) => (Some(&path[start..colon]), &path[colon + 1..end]),
        None => (None, &path[start..end]),
    }
}
