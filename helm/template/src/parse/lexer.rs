//! Lexer: splits the text of a template into tokens.

use crate::parse::token::{TemplateToken, TokenKind};
use crate::rune;

mod inside_action;

const LEFT_COMMENT: &[u8] = b"/*";
const RIGHT_COMMENT: &[u8] = b"*/";
/// Length of a trim marker and the space next to it.
const TRIM_MARKER_BYTES: usize = 2;

/// Left and right delimiter of actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delimiters {
    pub(crate) left: Vec<u8>,
    pub(crate) right: Vec<u8>,
}

impl Delimiters {
    /// Creates delimiters. An empty text selects the default.
    pub(crate) fn new(left: &str, right: &str) -> Delimiters {
        let or = |text: &str, default: &str| if text.is_empty() { default } else { text }.as_bytes().to_vec();
        Delimiters { left: or(left, "{{"), right: or(right, "}}") }
    }
}

pub(crate) struct Lexer<'t> {
    input: &'t [u8],
    delimiters: &'t Delimiters,
    position: usize,
    start: usize,
    at_end: bool,
    parens: usize,
    line: usize,
    start_line: usize,
    inside_action: bool,
    /// Whether `break` and `continue` are keywords. They are not if functions have these names.
    pub(crate) break_is_keyword: bool,
    pub(crate) continue_is_keyword: bool,
}

/// Result of a lexer step: a token or the next step.
enum LexStep<'t> {
    Token(TemplateToken<'t>),
    Text,
    LeftDelim,
    Comment,
    RightDelim,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(input: &'t [u8], delimiters: &'t Delimiters) -> Lexer<'t> {
        Lexer {
            input,
            delimiters,
            position: 0,
            start: 0,
            at_end: false,
            parens: 0,
            line: 1,
            start_line: 1,
            inside_action: false,
            break_is_keyword: true,
            continue_is_keyword: true,
        }
    }

    pub(crate) fn next_token(&mut self) -> TemplateToken<'t> {
        let mut step = if self.inside_action { self.inside_action() } else { LexStep::Text };
        loop {
            step = match step {
                LexStep::Token(token) => return token,
                LexStep::Text => self.text(),
                LexStep::LeftDelim => self.left_delim(),
                LexStep::Comment => self.comment(),
                LexStep::RightDelim => self.right_delim(),
            };
        }
    }

    fn text(&mut self) -> LexStep<'t> {
        let Some(found) = find(&self.input[self.position..], &self.delimiters.left) else {
            self.position = self.input.len();
            if self.position == self.start {
                return self.emit(TokenKind::Eof);
            }
            self.line += newlines(&self.input[self.start..self.position]);
            return self.emit(TokenKind::Text);
        };
        if found > 0 {
            self.position += found;
            let after = self.position + self.delimiters.left.len();
            let trimmed = if has_left_trim_marker(&self.input[after..]) {
                trailing_spaces(&self.input[self.start..self.position])
            } else {
                0
            };
            self.position -= trimmed;
            self.line += newlines(&self.input[self.start..self.position]);
            let token = self.token(TokenKind::Text);
            self.position += trimmed;
            self.ignore();
            if !token.text.is_empty() {
                return LexStep::Token(token);
            }
        }
        LexStep::LeftDelim
    }

    fn left_delim(&mut self) -> LexStep<'t> {
        self.position += self.delimiters.left.len();
        let rest = &self.input[self.position..];
        let marker = if has_left_trim_marker(rest) { TRIM_MARKER_BYTES } else { 0 };
        if rest[marker..].starts_with(LEFT_COMMENT) {
            self.position += marker;
            self.ignore();
            return LexStep::Comment;
        }
        let token = self.token(TokenKind::LeftDelim);
        self.inside_action = true;
        self.position += marker;
        self.ignore();
        self.parens = 0;
        LexStep::Token(token)
    }

    fn comment(&mut self) -> LexStep<'t> {
        self.position += LEFT_COMMENT.len();
        let Some(found) = find(&self.input[self.position..], RIGHT_COMMENT) else {
            return self.error("unclosed comment".to_string());
        };
        self.position += found + RIGHT_COMMENT.len();
        let Some(trims) = self.at_right_delim() else {
            return self.error("comment ends before closing delimiter".to_string());
        };
        self.line += newlines(&self.input[self.start..self.position]);
        self.token(TokenKind::Text);
        if trims {
            self.position += TRIM_MARKER_BYTES;
        }
        self.position += self.delimiters.right.len();
        if trims {
            self.position += leading_spaces(&self.input[self.position..]);
        }
        self.ignore();
        LexStep::Text
    }

    fn right_delim(&mut self) -> LexStep<'t> {
        let trims = self.at_right_delim() == Some(true);
        if trims {
            self.position += TRIM_MARKER_BYTES;
            self.ignore();
        }
        self.position += self.delimiters.right.len();
        let token = self.token(TokenKind::RightDelim);
        if trims {
            self.position += leading_spaces(&self.input[self.position..]);
            self.ignore();
        }
        self.inside_action = false;
        LexStep::Token(token)
    }

    /// Whether the right delimiter comes next, and whether a trim marker precedes it.
    fn at_right_delim(&self) -> Option<bool> {
        let rest = &self.input[self.position..];
        if has_right_trim_marker(rest) && rest[TRIM_MARKER_BYTES..].starts_with(&self.delimiters.right) {
            return Some(true);
        }
        rest.starts_with(&self.delimiters.right).then_some(false)
    }

    /// Returns the next rune, or `None` at the end.
    fn next(&mut self) -> Option<char> {
        if self.position >= self.input.len() {
            self.at_end = true;
            return None;
        }
        let (c, length) = rune::decode(&self.input[self.position..]);
        self.position += length;
        if c == '\n' {
            self.line += 1;
        }
        Some(c)
    }

    fn peek(&mut self) -> Option<char> {
        let c = self.next();
        self.backup();
        c
    }

    fn backup(&mut self) {
        if !self.at_end && self.position > 0 {
            let (c, length) = rune::decode_last(&self.input[..self.position]);
            self.position -= length;
            if c == '\n' {
                self.line -= 1;
            }
        }
    }

    fn token(&mut self, kind: TokenKind) -> TemplateToken<'t> {
        let text = &self.input[self.start..self.position];
        let token = TemplateToken { kind, position: self.start, text, line: self.start_line, problem: None };
        self.start = self.position;
        self.start_line = self.line;
        token
    }

    fn emit(&mut self, kind: TokenKind) -> LexStep<'t> {
        LexStep::Token(self.token(kind))
    }

    /// Skips text that was read without `next` and counts its lines, which `next` would count itself.
    fn ignore(&mut self) {
        self.line += newlines(&self.input[self.start..self.position]);
        self.start = self.position;
        self.start_line = self.line;
    }

    /// Creates an error token and ends the input.
    fn error(&mut self, problem: String) -> LexStep<'t> {
        let (position, line) = (self.start, self.start_line);
        self.start = 0;
        self.position = 0;
        self.input = &[];
        LexStep::Token(TemplateToken { kind: TokenKind::Error, position, text: &[], line, problem: Some(problem) })
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    while let Some(found) = text[from..].iter().position(|byte| *byte == first) {
        if text[from + found..].starts_with(wanted) {
            return Some(from + found);
        }
        from += found + 1;
    }
    None
}

fn newlines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn trailing_spaces(text: &[u8]) -> usize {
    text.iter().rev().take_while(|byte| is_space(**byte)).count()
}

fn leading_spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_space(**byte)).count()
}

fn has_left_trim_marker(text: &[u8]) -> bool {
    text.len() >= 2 && text[0] == b'-' && is_space(text[1])
}

fn has_right_trim_marker(text: &[u8]) -> bool {
    text.len() >= 2 && is_space(text[0]) && text[1] == b'-'
}
