//! Comments, string literals and definitions of Rust sources, found without a parser.

/// A comment or a string literal of a Rust file.
#[derive(Debug, PartialEq)]
pub struct Prose {
    /// Line of its first character, counted from one.
    pub line: usize,
    /// Kind of text.
    pub kind: Kind,
    /// Text without slashes and quotes; escapes are left as they are.
    pub text: String,
}

/// Kind of a piece of prose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// First line of a block of `///` or `//!`.
    DocOpening,
    /// A further line of such a block.
    Doc,
    /// A comment of another kind.
    Comment,
    /// A string literal.
    Literal,
}

/// Returns every comment and string literal of a Rust file, in order.
pub fn prose(source: &str) -> Vec<Prose> {
    let mut found: Vec<Prose> = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (kind, length, text) = token(rest, first);
        if let Some(kind) = kind {
            let kind = match (kind, found.last()) {
                (Kind::DocOpening, Some(last)) if last.line + 1 == line && is_doc(last.kind) => Kind::Doc,
                (kind, _) => kind,
            };
            found.push(Prose { line, kind, text: text.to_string() });
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// Returns a Rust file without its comments and string literals.
pub fn code(source: &str) -> String {
    let (mut code, mut rest) = (String::new(), source);
    while let Some(first) = rest.chars().next() {
        let (kind, length, _) = token(rest, first);
        match kind {
            None => code.push_str(&rest[..length]),
            Some(Kind::Literal) => code.push_str("\"\""),
            Some(_) => {}
        }
        rest = &rest[length..];
    }
    code
}

fn is_doc(kind: Kind) -> bool {
    matches!(kind, Kind::Doc | Kind::DocOpening)
}

/// Kind, length and text of the token at the beginning of `rest`.
fn token(rest: &str, first: char) -> (Option<Kind>, usize, &str) {
    if rest.starts_with("//") {
        let end = rest.find('\n').unwrap_or(rest.len());
        let is_doc = (rest.starts_with("///") && !rest.starts_with("////")) || rest.starts_with("//!");
        let kind = if is_doc { Kind::DocOpening } else { Kind::Comment };
        return (Some(kind), end, rest[..end].trim_start_matches(['/', '!']).trim());
    }
    if first == '"' {
        let length = quoted(rest);
        return (Some(Kind::Literal), length, rest[1..length].trim_end_matches('"'));
    }
    if let Some((open, hashes)) = raw_string(rest) {
        let close = format!("\"{}", "#".repeat(hashes));
        let length = rest[open..].find(&close).map_or(rest.len(), |at| open + at + close.len());
        return (Some(Kind::Literal), length, rest[open..length].trim_end_matches(['"', '#']));
    }
    if first == '\'' {
        return (None, character(rest), "");
    }
    // A word is skipped as a whole, so that the `r` of `for"` begins no raw string.
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    (None, word.max(first.len_utf8()), "")
}

/// Length of the string literal at the beginning of `rest`, quotes included.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Position behind the opening quote of a raw string, and the number of its hashes.
fn raw_string(rest: &str) -> Option<(usize, usize)> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then(|| (rest.len() - after.len() + hashes + 1, hashes))
}

/// Length of a character literal, or of the quote alone where it begins a lifetime.
fn character(rest: &str) -> usize {
    let mut inner = rest.char_indices().skip(1);
    match (inner.next(), inner.next(), inner.next()) {
        (Some((_, '\\')), Some(_), _) => rest[3..].find('\'').map_or(1, |at| 3 + at + 1),
        (Some((_, c)), Some((at, '\'')), _) if c != '\'' => at + 1,
        _ => 1,
    }
}

#[test]
fn prose_is_found_behind_quotes_lifetimes_and_raw_strings() {
    let source = "/// One.\n/// Two.\nfn f<'a>(c: char) -> &'a str { c == '\"' || c == '\\''; r#\"a \"b\" c\"# } // end\nconst A: &str = \"x\\\"y\";\n";
    let found: Vec<(usize, Kind, String)> = prose(source).into_iter().map(|p| (p.line, p.kind, p.text)).collect();
    let expected = [
        (1, Kind::DocOpening, "One."),
        (2, Kind::Doc, "Two."),
        (3, Kind::Literal, "a \"b\" c"),
        (3, Kind::Comment, "end"),
        (4, Kind::Literal, "x\\\"y"),
    ];
    assert_eq!(found, expected.map(|(line, kind, text)| (line, kind, text.to_string())));
}

#[test]
fn escaped_characters_end_behind_their_quote() {
    for (source, length) in [(r"'\n'", 4), (r"'\''", 4), (r"'\\'", 4), (r"'\u{7f}'", 8), ("'é'", 4), ("'a str", 1)] {
        assert_eq!(character(&format!("{source}.into()")), length, "{source}");
    }
    let found: Vec<String> = prose(r#"['\n','"',"text"]"#).into_iter().map(|p| p.text).collect();
    assert_eq!(found, ["text"]);
}

#[test]
fn code_is_free_of_comments_and_literals() {
    assert_eq!(code("/// jiff::a\nfn f() { \"jiff::b\" } // jiff::c\n"), "\nfn f() { \"\" } \n");
}
