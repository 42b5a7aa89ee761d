//! The text of a document, rune by rune, with the lines that errors name.

use crate::format::sprintf;
use crate::sprig::runes;
use crate::value::Value;

/// What stands for the end of the text, as in Go's lexer.
pub(super) const EOF: char = '\0';

/// What is wrong, and in which line.
pub(super) struct Problem {
    pub line: usize,
    pub message: String,
}

pub(super) type Scanned<T> = Result<T, Problem>;

pub(super) struct Scanner<'t> {
    pub text: &'t [u8],
    pub at: usize,
    pub line: usize,
    /// Whether the end was taken, not only seen.
    took_end: bool,
}

pub(super) fn is_blank(rune: char) -> bool {
    matches!(rune, ' ' | '\t')
}

pub(super) fn is_newline(rune: char) -> bool {
    matches!(rune, '\n' | '\r')
}

/// `%q` of a rune.
pub(super) fn shown(rune: char) -> String {
    String::from_utf8_lossy(&sprintf("%q", &[Value::Int32(rune as i32)])).into_owned()
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t [u8]) -> Scanner<'t> {
        let text = match text {
            [0xff, 0xfe, rest @ ..] | [0xfe, 0xff, rest @ ..] | [0xef, 0xbb, 0xbf, rest @ ..] => rest,
            text => text,
        };
        Scanner { text, at: 0, line: 1, took_end: false }
    }

    pub(super) fn ended(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The next rune without taking it.
    pub(super) fn peek(&self) -> Scanned<char> {
        let Some((rune, length)) = runes::first(&self.text[self.at..]) else { return Ok(EOF) };
        let byte = self.text[self.at];
        if rune == runes::RUNE_ERROR && length == 1 {
            return self.fail(format!("invalid UTF-8 byte: 0x{byte:02x}"));
        }
        let lonely_return = rune == '\r' && self.text.get(self.at + 1) != Some(&b'\n');
        let control = matches!(rune, '\0'..='\u{1f}' | '\u{7f}') && !matches!(rune, '\t' | '\r' | '\n');
        if control || lonely_return {
            return self.fail(format!("TOML files cannot contain control characters: '0x{:02x}'", rune as u32));
        }
        Ok(rune)
    }

    /// Takes the next rune.
    pub(super) fn next(&mut self) -> Scanned<char> {
        let rune = self.peek()?;
        self.took_end = self.ended();
        if !self.ended() {
            self.line += usize::from(rune == '\n');
            self.at += rune.len_utf8();
        }
        Ok(rune)
    }

    /// Takes the next rune if it is this one.
    pub(super) fn accept(&mut self, wanted: char) -> Scanned<bool> {
        let found = !self.ended() && self.peek()? == wanted;
        if found {
            self.next()?;
        }
        Ok(found)
    }

    pub(super) fn skip(&mut self, pred: impl Fn(char) -> bool) -> Scanned<()> {
        while !self.ended() && pred(self.peek()?) {
            self.next()?;
        }
        Ok(())
    }

    /// White space, newlines and comments.
    pub(super) fn skip_lines(&mut self) -> Scanned<()> {
        loop {
            self.skip(|rune| is_blank(rune) || is_newline(rune))?;
            if self.ended() || self.peek()? != '#' {
                return Ok(());
            }
            self.skip(|rune| !is_newline(rune))?;
        }
    }

    /// An error here. Where the end of the text behind a newline was taken, it is the line before that counts.
    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Scanned<T> {
        let behind = self.took_end && self.at > 0 && self.text[self.at - 1] == b'\n';
        Err(Problem { line: self.line - usize::from(behind), message: message.into() })
    }

    /// An error about a newline that was taken, or about the end.
    pub(super) fn fail_before<T>(&self, message: impl Into<String>) -> Scanned<T> {
        Err(Problem { line: self.line.saturating_sub(1), message: message.into() })
    }
}
