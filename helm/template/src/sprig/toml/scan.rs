//! Scanner of a document's runes, with the line numbers for errors.

use crate::format::sprintf;
use crate::sprig::runes;
use crate::value::Value;

/// Marks the end of the text, as in Go's lexer.
pub(super) const EOF: char = '\0';

/// Error text and line.
pub(super) struct ScanError {
    pub line: usize,
    pub message: String,
}

pub(super) type ScanResult<T> = Result<T, ScanError>;

pub(super) struct Scanner<'t> {
    pub text: &'t [u8],
    pub at: usize,
    pub line: usize,
    /// Whether the end was consumed and not only peeked.
    took_end: bool,
}

pub(super) fn is_blank(rune: char) -> bool {
    matches!(rune, ' ' | '\t')
}

pub(super) fn is_newline(rune: char) -> bool {
    matches!(rune, '\n' | '\r')
}

/// Formats a rune with `%q`.
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

    /// Returns the next rune without consuming it.
    pub(super) fn peek(&self) -> ScanResult<char> {
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

    /// Consumes the next rune.
    pub(super) fn next(&mut self) -> ScanResult<char> {
        let rune = self.peek()?;
        self.took_end = self.ended();
        if !self.ended() {
            self.line += usize::from(rune == '\n');
            self.at += rune.len_utf8();
        }
        Ok(rune)
    }

    /// Consumes the next rune if it is the given one.
    pub(super) fn accept(&mut self, wanted: char) -> ScanResult<bool> {
        let found = !self.ended() && self.peek()? == wanted;
        if found {
            self.next()?;
        }
        Ok(found)
    }

    pub(super) fn skip(&mut self, pred: impl Fn(char) -> bool) -> ScanResult<()> {
        while !self.ended() && pred(self.peek()?) {
            self.next()?;
        }
        Ok(())
    }

    /// Skips white space, newlines and comments.
    pub(super) fn skip_lines(&mut self) -> ScanResult<()> {
        loop {
            self.skip(|rune| is_blank(rune) || is_newline(rune))?;
            if self.ended() || self.peek()? != '#' {
                return Ok(());
            }
            self.skip(|rune| !is_newline(rune))?;
        }
    }

    /// Creates an error at the current position. If the end after a newline was consumed, the error refers to the
    /// previous line.
    pub(super) fn fail<T>(&self, message: impl Into<String>) -> ScanResult<T> {
        let behind = self.took_end && self.at > 0 && self.text[self.at - 1] == b'\n';
        Err(ScanError { line: self.line - usize::from(behind), message: message.into() })
    }

    /// Creates an error about a newline that was consumed, or about the end.
    pub(super) fn fail_before<T>(&self, message: impl Into<String>) -> ScanResult<T> {
        Err(ScanError { line: self.line.saturating_sub(1), message: message.into() })
    }
}
