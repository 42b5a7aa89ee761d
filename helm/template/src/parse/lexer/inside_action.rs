//! Tokens inside an action.

use switchboard_object::quote;

use super::{LexStep, Lexer, has_right_trim_marker, is_space};
use crate::parse::lexer::TRIM_MARKER_BYTES;
use crate::parse::token::TokenKind;
use crate::rune;

const DECIMAL: &str = "0123456789_";
const HEXADECIMAL: &str = "0123456789abcdefABCDEF_";

impl<'t> Lexer<'t> {
    pub(super) fn inside_action(&mut self) -> LexStep<'t> {
        if self.at_right_delim().is_some() {
            if self.parens == 0 {
                return LexStep::RightDelim;
            }
            return self.error("unclosed left paren".to_string());
        }
        let Some(c) = self.next() else { return self.error("unclosed action".to_string()) };
        match c {
            ' ' | '\t' | '\r' | '\n' => {
                self.backup(); // The space may begin " -}}".
                self.space()
            }
            '=' => self.emit(TokenKind::Assign),
            ':' if self.next() == Some('=') => self.emit(TokenKind::Declare),
            ':' => self.error("expected :=".to_string()),
            '|' => self.emit(TokenKind::Pipe),
            '"' => self.quoted('"', TokenKind::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', TokenKind::CharConstant, "unterminated character constant"),
            '`' => self.raw_quoted(),
            '$' => self.field_or_variable(TokenKind::Variable),
            '.' if self.input.get(self.position).is_some_and(|next| !next.is_ascii_digit()) => {
                self.field_or_variable(TokenKind::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.backup();
                self.number()
            }
            '(' => {
                self.parens += 1;
                self.emit(TokenKind::LeftParen)
            }
            ')' if self.parens == 0 => self.error("unexpected right paren".to_string()),
            ')' => {
                self.parens -= 1;
                self.emit(TokenKind::RightParen)
            }
            c if is_alphanumeric(c) => {
                self.backup();
                self.identifier()
            }
            c if c.is_ascii() && rune::is_print(c) => self.emit(TokenKind::Char),
            c => self.error(format!("unrecognized character in action: {}", code_point(Some(c)))),
        }
    }

    fn space(&mut self) -> LexStep<'t> {
        let mut spaces = 0;
        while self.peek().is_some_and(|c| c.is_ascii() && is_space(c as u8)) {
            self.next();
            spaces += 1;
        }
        // The last space belongs to " -}}" if that follows.
        let rest = &self.input[self.position - 1..];
        if has_right_trim_marker(rest) && rest[TRIM_MARKER_BYTES..].starts_with(&self.delimiters.right) {
            self.backup();
            if spaces == 1 {
                return LexStep::RightDelim;
            }
        }
        self.emit(TokenKind::Space)
    }

    fn identifier(&mut self) -> LexStep<'t> {
        let after = self.alphanumerics();
        let word = &self.input[self.start..self.position];
        if !self.at_terminator() {
            return self.error(format!("bad character {}", code_point(after)));
        }
        match TokenKind::keyword(word) {
            Some(TokenKind::Break) if !self.break_is_keyword => self.emit(TokenKind::Identifier),
            Some(TokenKind::Continue) if !self.continue_is_keyword => self.emit(TokenKind::Identifier),
            Some(keyword) => self.emit(keyword),
            None if matches!(word, b"true" | b"false") => self.emit(TokenKind::Bool),
            None => self.emit(TokenKind::Identifier),
        }
    }

    /// Reads a field or variable. The dot or dollar sign has been read.
    fn field_or_variable(&mut self, kind: TokenKind) -> LexStep<'t> {
        if self.at_terminator() {
            return self.emit(if kind == TokenKind::Variable { TokenKind::Variable } else { TokenKind::Dot });
        }
        let after = self.alphanumerics();
        if !self.at_terminator() {
            return self.error(format!("bad character {}", code_point(after)));
        }
        self.emit(kind)
    }

    /// Reads letters and digits, and returns the rune after them.
    fn alphanumerics(&mut self) -> Option<char> {
        loop {
            let c = self.next();
            if !c.is_some_and(is_alphanumeric) {
                self.backup();
                return c;
            }
        }
    }

    fn at_terminator(&mut self) -> bool {
        match self.peek() {
            None | Some(' ' | '\t' | '\r' | '\n' | '.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(_) => self.input[self.position..].starts_with(&self.delimiters.right),
        }
    }

    /// Reads a string or character constant. The opening quote has been read, and the parser checks the content.
    fn quoted(&mut self, end: char, kind: TokenKind, problem: &str) -> LexStep<'t> {
        loop {
            match self.next() {
                Some('\\') => {
                    if matches!(self.next(), None | Some('\n')) {
                        return self.error(problem.to_string());
                    }
                }
                None | Some('\n') => return self.error(problem.to_string()),
                Some(c) if c == end => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_quoted(&mut self) -> LexStep<'t> {
        loop {
            match self.next() {
                None => return self.error("unterminated raw quoted string".to_string()),
                Some('`') => return self.emit(TokenKind::RawString),
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> LexStep<'t> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some('+' | '-')) {
            // Complex number without spaces: 1+2i.
            if !self.scan_number() || self.input[self.position - 1] != b'i' {
                return self.bad_number();
            }
            return self.emit(TokenKind::Complex);
        }
        self.emit(TokenKind::Number)
    }

    fn bad_number(&mut self) -> LexStep<'t> {
        let text = quote::quote_bytes(&self.input[self.start..self.position]);
        self.error(format!("bad number syntax: {text}"))
    }

    /// Reads a number. Accepts too much, such as "." and "089"; the parser checks the value.
    fn scan_number(&mut self) -> bool {
        self.accept("+-");
        let mut digits = DECIMAL;
        if self.accept("0") {
            if self.accept("xX") {
                digits = HEXADECIMAL;
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        let exponent = if digits == DECIMAL { "eE" } else { "pP" };
        if (digits == DECIMAL || digits == HEXADECIMAL) && self.accept(exponent) {
            self.accept("+-");
            self.accept_run(DECIMAL);
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.next();
            return false;
        }
        true
    }

    fn accept(&mut self, valid: &str) -> bool {
        if self.next().is_some_and(|c| valid.contains(c)) {
            return true;
        }
        self.backup();
        false
    }

    fn accept_run(&mut self, valid: &str) {
        while self.next().is_some_and(|c| valid.contains(c)) {}
        self.backup();
    }
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || rune::is_letter(c) || rune::is_digit(c)
}

/// Formats with Go's `%#U`.
fn code_point(c: Option<char>) -> String {
    match c {
        None => "U+FFFFFFFFFFFFFFFF".to_string(),
        Some(c) if rune::is_print(c) => format!("U+{:04X} '{c}'", c as u32),
        Some(c) => format!("U+{:04X}", c as u32),
    }
}
