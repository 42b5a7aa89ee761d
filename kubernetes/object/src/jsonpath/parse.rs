//! Parser of templates.

use super::{JsonPathTemplateError, MAX_NESTING, PathNode, SliceParam};

type ParseResult<T> = Result<T, JsonPathTemplateError>;

/// Parses the nodes of a template: text and actions in turn.
pub(super) fn template(text: &str, depth: usize) -> ParseResult<Vec<PathNode>> {
    if depth > MAX_NESTING {
        return fail("the expression is nested too deeply");
    }
    let mut parser = PathParser { input: text, position: 0, start: 0, depth };
    let mut nodes = Vec::new();
    loop {
        let rest = &text[parser.position..];
        let plain = rest.find('{').unwrap_or(rest.len());
        if plain > 0 {
            nodes.push(PathNode::Text(rest[..plain].to_string()));
        }
        if plain == rest.len() {
            return Ok(nodes);
        }
        parser.position += plain + 1;
        parser.start = parser.position;
        nodes.push(PathNode::List(parser.action()?));
    }
}

// Parses an action; `text` is its content without the braces.
fn action(text: &str, depth: usize) -> ParseResult<Vec<PathNode>> {
    match template(&format!("{{{text}}}"), depth + 1)?.into_iter().next() {
        Some(PathNode::List(nodes)) => Ok(nodes),
        _ => Ok(Vec::new()),
    }
}

fn fail<T>(words: impl Into<String>) -> ParseResult<T> {
    Err(JsonPathTemplateError(words.into()))
}

struct PathParser<'a> {
    input: &'a str,
    position: usize,
    start: usize,
    depth: usize,
}

impl<'a> PathParser<'a> {
    fn peek(&self) -> Option<char> {
        self.input[self.position..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.position += c.len_utf8();
        Some(c)
    }

    fn consume(&mut self) -> &'a str {
        let text = &self.input[self.start..self.position];
        self.start = self.position;
        text
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let found = self.input[self.position..].starts_with(prefix);
        if found {
            self.position += prefix.len();
            self.start = self.position;
        }
        found
    }

    // Parses up to and including the closing brace.
    fn action(&mut self) -> ParseResult<Vec<PathNode>> {
        let mut nodes = Vec::new();
        loop {
            if self.skip("}") {
                return Ok(nodes);
            }
            if self.skip("[?(") {
                nodes.push(self.filter()?);
                continue;
            }
            if self.input[self.position..].starts_with("..") {
                self.recursive(&mut nodes)?;
                continue;
            }
            match self.next() {
                None | Some('\r' | '\n') => return fail("unclosed action"),
                // The current object and spaces have no effect.
                Some(' ' | '@' | '$') => {
                    self.consume();
                }
                Some('[') => self.array(&mut nodes)?,
                Some(quote @ ('"' | '\'')) => nodes.push(self.quoted(quote)?),
                Some('.') => nodes.push(self.field()),
                Some(c) if c == '+' || c == '-' || is_digit(c) => {
                    self.position -= c.len_utf8();
                    nodes.push(self.number()?);
                }
                Some(c) if is_alphanumeric(c) => nodes.push(self.identifier()),
                Some(c) if c.is_control() => {
                    return fail(format!("unrecognized character in action: U+{:04X}", c as u32));
                }
                Some(c) => return fail(format!("unrecognized character in action: U+{:04X} '{c}'", c as u32)),
            }
        }
    }

    fn recursive(&mut self, nodes: &mut Vec<PathNode>) -> ParseResult<()> {
        if nodes.last() == Some(&PathNode::Recursive) {
            return fail("invalid multiple recursive descent");
        }
        self.skip("..");
        nodes.push(PathNode::Recursive);
        if self.peek().is_some_and(is_alphanumeric) {
            nodes.push(self.field());
        }
        Ok(())
    }

    fn identifier(&mut self) -> PathNode {
        self.advance_while(|c| !is_terminator(c));
        match self.consume() {
            "true" => PathNode::Bool(true),
            "false" => PathNode::Bool(false),
            name => PathNode::Identifier(name.to_string()),
        }
    }

    fn number(&mut self) -> ParseResult<PathNode> {
        if matches!(self.peek(), Some('+' | '-')) {
            self.next();
        }
        self.advance_while(|c| c == '.' || is_digit(c));
        let text = self.consume();
        if let Ok(integer) = text.parse() {
            return Ok(PathNode::Integer(integer));
        }
        text.parse().map(PathNode::Float).or_else(|_| fail(format!("cannot parse number {text}")))
    }

    fn field(&mut self) -> PathNode {
        self.consume();
        loop {
            match self.peek() {
                Some('\\') => {
                    self.next();
                    self.next();
                }
                Some(c) if !is_terminator(c) => {
                    self.next();
                }
                _ => break,
            }
        }
        match self.consume() {
            "*" => PathNode::Wildcard,
            name => PathNode::Field(name.replace('\\', "")),
        }
    }

    fn quoted(&mut self, quote: char) -> ParseResult<PathNode> {
        loop {
            match self.next() {
                None | Some('\n') => return fail("unterminated quoted string"),
                Some(c) if c == quote && !self.escaped() => break,
                _ => {}
            }
        }
        let text = self.consume();
        match unquote(text) {
            Some(text) => Ok(PathNode::Text(text)),
            None => fail(format!("unquote string {text} error invalid syntax")),
        }
    }

    // Whether the last character read was escaped with a backslash.
    fn escaped(&self) -> bool {
        self.position >= 2 && self.input.as_bytes()[self.position - 2] == b'\\'
    }

    fn array(&mut self, nodes: &mut Vec<PathNode>) -> ParseResult<()> {
        loop {
            match self.next() {
                None | Some('\n') => return fail("unterminated array"),
                Some(']') => break,
                _ => {}
            }
        }
        let text = self.consume();
        let text = &text[1..text.len() - 1];
        if text.contains(',') {
            let members = text.split(',').map(|m| action(&format!("[{}]", m.trim_matches(' ')), self.depth));
            nodes.push(PathNode::Union(members.collect::<ParseResult<_>>()?));
            return Ok(());
        }
        if let Some(key) = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).filter(|k| !k.contains('\'')) {
            nodes.extend(action(&format!(".{key}"), self.depth)?);
            return Ok(());
        }
        nodes.push(PathNode::Array(slice(if text == "*" { ":" } else { text })?));
        Ok(())
    }

    fn filter(&mut self) -> ParseResult<PathNode> {
        let (mut begun, mut ended, mut pair) = (false, false, ' ');
        loop {
            match self.next() {
                None | Some('\n') => return fail("unterminated filter"),
                Some(quote @ ('"' | '\'')) if !begun => (begun, pair) = (true, quote),
                Some(quote @ ('"' | '\'')) if quote == pair && !self.escaped() => ended = true,
                Some(')') if begun == ended => break,
                _ => {}
            }
        }
        if self.next() != Some(']') {
            return fail("unclosed array expect ]");
        }
        let text = self.consume();
        let text = &text[..text.len() - 2];
        Ok(match comparison(text) {
            None => {
                PathNode::Filter { left: action(text, self.depth)?, right: Vec::new(), operator: "exists".to_string() }
            }
            Some((left, operator, right)) => PathNode::Filter {
                left: action(left, self.depth)?,
                right: action(right, self.depth)?,
                operator: operator.to_string(),
            },
        })
    }

    fn advance_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
    }
}

// Matches `^([^!<>=]+)([!<>=]+)(.+?)$`. If nothing follows the operator, its last character is the right side.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let start = text.find(is_operator).filter(|i| *i > 0)?;
    let length = text[start..].find(|c| !is_operator(c)).unwrap_or(text.len() - start);
    let end = if start + length == text.len() { start + length - 1 } else { start + length };
    (end > start).then(|| (&text[..start], &text[start..end], &text[end..]))
}

fn slice(text: &str) -> ParseResult<[SliceParam; 3]> {
    let parts: Vec<&str> = text.split(':').collect();
    let shaped = |p: &&str| p.strip_prefix('-').unwrap_or(p).bytes().all(|b| b.is_ascii_digit());
    if parts.len() > 3 || !parts.iter().all(shaped) {
        return fail(format!("invalid array index {text}"));
    }
    let mut params = [SliceParam::default(); 3];
    for (index, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_empty()) {
        let Ok(value) = part.parse() else { return fail(format!("array index {part} is not a number")) };
        params[index] = SliceParam { value, known: true, derived: false };
    }
    if parts.len() == 1 {
        params[1] = SliceParam { value: params[0].value.saturating_add(1), known: true, derived: true };
    }
    Ok(params)
}

// Implements client-go's UnquoteExtend: Go's escapes in single or double quotes.
fn unquote(text: &str) -> Option<String> {
    let quote = text.chars().next()?;
    let mut chars = text.strip_prefix(quote)?.strip_suffix(quote)?.chars();
    let mut out = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(escape(&mut chars, quote)?),
            c if c == quote => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

fn escape(chars: &mut std::str::Chars<'_>, quote: char) -> Option<char> {
    Some(match chars.next()? {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' => '\\',
        'x' => return hex(chars, 2),
        'u' => return hex(chars, 4),
        'U' => return hex(chars, 8),
        c if c == quote => c,
        c => {
            let first = c.to_digit(8)?;
            let code = (0..2).try_fold(first, |code, _| Some(code * 8 + chars.next()?.to_digit(8)?))?;
            return char::from_u32(code).filter(|_| code < 256);
        }
    })
}

fn hex(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let code = (0..digits).try_fold(0u32, |code, _| code.checked_mul(16)?.checked_add(chars.next()?.to_digit(16)?))?;
    char::from_u32(code)
}

fn is_terminator(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
