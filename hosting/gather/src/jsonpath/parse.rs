//! Parser of paths.

use super::expression::{ComparisonOperator, FilterExpression, FilterOperand};
use super::{JsonPath, JsonPathError, JsonPathStep, MAX_NESTING};

/// End of an open slice.
const NO_END: i64 = i32::MAX as i64;

pub(super) fn path(text: &str) -> Result<JsonPath, JsonPathError> {
    let mut parser = JsonPathParser { text, at: 0, depth: 0 };
    parser.space();
    let mut steps = Vec::new();
    // Without the `$`, a path starts with a key: `spec.name`.
    match parser.peek() {
        Some(c) if c == '_' || c.is_alphabetic() => steps.push(parser.name()?),
        _ => parser.expect('$')?,
    }
    steps.extend(parser.steps()?);
    parser.space();
    match parser.peek() {
        None => Ok(JsonPath { steps }),
        Some(_) => Err(parser.wrong("`.`, `[` or the end")),
    }
}

struct JsonPathParser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl JsonPathParser<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.text[self.at..].starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), JsonPathError> {
        self.space();
        if self.eat(wanted.encode_utf8(&mut [0; 4])) { Ok(()) } else { Err(self.wrong(&format!("`{wanted}`"))) }
    }

    fn wrong(&self, expected: &str) -> JsonPathError {
        let column = self.text[..self.at].chars().count() + 1;
        let found = self.peek().map_or("the end".to_string(), |c| format!("`{c}`"));
        JsonPathError(format!("column {column}: expected {expected}, found {found}"))
    }

    fn steps(&mut self) -> Result<Vec<JsonPathStep>, JsonPathError> {
        let mut steps = Vec::new();
        loop {
            let before = self.at;
            self.space();
            match self.peek() {
                Some('.') => {
                    self.at += 1;
                    self.space();
                    if self.eat(".") {
                        steps.push(JsonPathStep::Recursive);
                        self.space();
                        if self.eat("[") { steps.push(self.bracket()?) } else { steps.push(self.name()?) }
                    } else {
                        steps.push(self.name()?);
                    }
                }
                Some('[') => {
                    self.at += 1;
                    steps.push(self.bracket()?);
                }
                _ => {
                    self.at = before;
                    return Ok(steps);
                }
            }
        }
    }

    fn name(&mut self) -> Result<JsonPathStep, JsonPathError> {
        if self.eat("*") {
            return Ok(JsonPathStep::Star);
        }
        let word = self.word();
        if word.is_empty() { Err(self.wrong("a key, `*` or `[`")) } else { Ok(JsonPathStep::Key(word)) }
    }

    fn word(&mut self) -> String {
        let rest = &self.text[self.at..];
        let fits = |(index, c): (usize, char)| c == '_' || c.is_alphabetic() || (index > 0 && c.is_numeric());
        let length = rest.char_indices().find(|one| !fits(*one)).map_or(rest.len(), |(index, _)| index);
        self.at += length;
        rest[..length].to_string()
    }

    fn bracket(&mut self) -> Result<JsonPathStep, JsonPathError> {
        self.space();
        if self.eat("*") {
            self.expect(']')?;
            return Ok(JsonPathStep::Star);
        }
        if self.eat("?") {
            let filter = self.expression()?;
            self.expect(']')?;
            return Ok(JsonPathStep::Filter(filter));
        }
        let mut parts: Vec<Option<String>> = vec![self.key()?];
        self.space();
        let separator = if self.peek() == Some(':') { ':' } else { ',' };
        while self.eat(separator.encode_utf8(&mut [0; 4])) {
            parts.push(self.key()?);
            self.space();
        }
        self.expect(']')?;
        match (separator, parts.len()) {
            (':', 2..=3) => self.range(&parts),
            (':', _) => Err(JsonPathError("a slice has the form [min:max] or [min:max:step]".into())),
            (_, 1) => parts.remove(0).map(JsonPathStep::Key).ok_or_else(|| self.wrong("a key")),
            _ => parts.into_iter().collect::<Option<_>>().map(JsonPathStep::Union).ok_or_else(|| self.wrong("a key")),
        }
    }

    fn range(&self, parts: &[Option<String>]) -> Result<JsonPathStep, JsonPathError> {
        let number = |index: usize, default: i64| match parts.get(index).and_then(Option::as_ref) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| JsonPathError(format!("`{text}` is not a valid slice bound"))),
        };
        Ok(JsonPathStep::Range { min: number(0, 0)?, max: number(1, NO_END)?, step: number(2, 1)? })
    }

    /// Parses a quoted key or a number; `None` for an omitted end of a slice.
    fn key(&mut self) -> Result<Option<String>, JsonPathError> {
        self.space();
        match self.peek() {
            Some('"' | '\'' | '`') => self.quoted().map(Some),
            Some(c) if c == '-' || c.is_ascii_digit() => Ok(Some(self.digits())),
            _ => Ok(None),
        }
    }

    fn digits(&mut self) -> String {
        let rest = &self.text[self.at..];
        let fits = |c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | 'e' | 'E' | '+');
        let length = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += length;
        rest[..length].to_string()
    }

    fn quoted(&mut self) -> Result<String, JsonPathError> {
        let quote = self.peek().unwrap_or('"');
        let start = self.at;
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((index, c)) = chars.next() {
            if c == quote {
                let inner = &self.text[start + 1..start + 1 + index];
                self.at = start + index + 2;
                return unquoted(inner, quote);
            }
            if c == '\\' && quote != '`' {
                chars.next();
            }
        }
        Err(JsonPathError("unterminated quoted text".into()))
    }

    fn expression(&mut self) -> Result<FilterExpression, JsonPathError> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(JsonPathError(format!("filters are nested deeper than {MAX_NESTING} levels")));
        }
        let mut any = vec![self.conjunction()?];
        self.space();
        while self.eat("||") {
            any.push(self.conjunction()?);
            self.space();
        }
        self.depth -= 1;
        Ok(if any.len() == 1 { any.remove(0) } else { FilterExpression::Any(any) })
    }

    fn conjunction(&mut self) -> Result<FilterExpression, JsonPathError> {
        let mut all = vec![self.comparison()?];
        self.space();
        while self.eat("&&") {
            all.push(self.comparison()?);
            self.space();
        }
        Ok(if all.len() == 1 { all.remove(0) } else { FilterExpression::All(all) })
    }

    fn comparison(&mut self) -> Result<FilterExpression, JsonPathError> {
        self.space();
        if self.eat("!") {
            let denied = self.comparison()?;
            return Ok(FilterExpression::Not(Box::new(denied)));
        }
        if self.eat("(") {
            let inner = self.expression()?;
            self.expect(')')?;
            return Ok(inner);
        }
        let left = self.operand()?;
        self.space();
        let Some(comparison) = ComparisonOperator::ALL.into_iter().find(|(sign, _)| self.eat(sign)).map(|(_, c)| c)
        else {
            return Ok(FilterExpression::Holds(left));
        };
        let right = self.operand()?;
        FilterExpression::compare(left, comparison, right).map_err(JsonPathError)
    }

    fn operand(&mut self) -> Result<FilterOperand, JsonPathError> {
        self.space();
        match self.peek() {
            Some('@') => {
                self.at += 1;
                self.steps().map(FilterOperand::Current)
            }
            Some('$') => {
                self.at += 1;
                self.steps().map(FilterOperand::Root)
            }
            Some('"' | '\'' | '`') => self.quoted().map(|text| FilterOperand::Constant(text.into())),
            Some(c) if c == '-' || c.is_ascii_digit() => {
                let digits = self.digits();
                let number: f64 = digits.parse().map_err(|_| JsonPathError(format!("`{digits}` is not a number")))?;
                Ok(FilterOperand::Constant(number.into()))
            }
            _ => match self.word().as_str() {
                "true" => Ok(FilterOperand::Constant(true.into())),
                "false" => Ok(FilterOperand::Constant(false.into())),
                "null" | "nil" => Ok(FilterOperand::Constant(serde_json::Value::Null)),
                "" => Err(self.wrong("a value")),
                word => Err(JsonPathError(format!("`{word}` is not a value; use `@.{word}` for a field of the item"))),
            },
        }
    }
}

/// Unquotes a text, with the subset of Go's escapes that names need.
fn unquoted(inner: &str, quote: char) -> Result<String, JsonPathError> {
    if quote == '`' || !inner.contains('\\') {
        return Ok(inner.to_string());
    }
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(c @ ('\\' | '"' | '\'')) => out.push(c),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                out.push(code.ok_or_else(|| JsonPathError(format!("`\\u{digits}` is not a character")))?);
            }
            other => return Err(JsonPathError(format!("`\\{}` is not an escape", other.unwrap_or(' ')))),
        }
    }
    Ok(out)
}
