//! Keys and values of one line, and block scalars.

use memchr::{memchr, memchr2};

use super::super::resolve;
use super::scan::LineScanner;
use super::sink::ScanSink;
use super::text::{BlockLines, Chomping, ScalarText, is_escape};

/// Longest key on one line; YAML bounds keys that share a line with their colon.
const MAX_KEY_BYTES: usize = 512;

/// Bytes allowed in plain keys. A table, because nearly every line has a key.
const IN_KEYS: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0u8);
    while byte < 0x80 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
        byte += 1;
    }
    table
};

impl<'a> LineScanner<'a> {
    /// Returns the key at this position, and the position after its colon.
    pub(super) fn key(&self, at: usize, end: usize) -> Option<(ScalarText<'a>, usize)> {
        let (key, colon) = match *self.bytes[at..end].first()? {
            b'"' => self.double(at, end)?,
            b'\'' => self.single(at, end)?,
            first if first.is_ascii_alphabetic() || matches!(first, b'_' | b'/') => {
                let length = self.bytes[at..end].iter().position(|byte| !IN_KEYS[usize::from(*byte)])?;
                let key = &self.text[at..at + length];
                if resolve::is_word(key) {
                    return None;
                }
                (ScalarText::Plain(key), at + length)
            }
            _ => return None,
        };
        let is_colon = colon < end && self.bytes[colon] == b':';
        let apart = colon + 1 == end || self.bytes.get(colon + 1) == Some(&b' ');
        (is_colon && apart && colon - at <= MAX_KEY_BYTES).then_some((key, colon + 1))
    }

    /// Scans a value on the rest of a line. Its parent is in the column `parent`.
    pub(super) fn value<S: ScanSink<'a>>(&mut self, at: usize, end: usize, parent: usize, sink: &mut S) -> Option<()> {
        let (text, behind) = match self.bytes[at] {
            b'"' => self.double(at, end)?,
            b'\'' => self.single(at, end)?,
            b'|' | b'>' => (self.lines(at, end, parent)?, end),
            b'[' | b'{' => {
                let behind = self.flow(at, end, sink)?;
                return self.is_end(behind, end).then_some(());
            }
            b'&' | b'*' | b'!' | b'%' | b'@' | b'`' | b',' | b'?' | b':' | b']' | b'}' | b'#' => return None,
            b'-' if at + 1 == end || self.bytes[at + 1] == b' ' => return None,
            _ => (self.plain(at, end, parent)?, end),
        };
        if !self.is_end(behind, end) {
            return None;
        }
        sink.scalar(text)
    }

    /// Whether only a comment follows on the line.
    fn is_end(&self, at: usize, end: usize) -> bool {
        let next = self.skip_spaces(at, end);
        next == end || next > at && self.bytes[next] == b'#'
    }

    /// Scans a plain scalar, with its continuation lines: all lines deeper than its parent.
    fn plain(&mut self, at: usize, end: usize, parent: usize) -> Option<ScalarText<'a>> {
        let stop = self.plain_end(at, end)?;
        let text = self.text[at..stop].trim_end_matches(' ');
        let mut last = None;
        while let Some((from, to)) = self.continuation_line(parent).filter(|_| stop == end) {
            // A continuation that is a list item, or has a comment or a tab, is left to the full reader.
            if self.bytes[from] == b'-' || self.has_tab(from, to) || self.plain_end(from, to)? < to {
                return None;
            }
            (last, self.next) = (Some(to), to + 1);
        }
        if let Some(last) = last {
            return Some(ScalarText::Wrapped(&self.text[at..last]));
        }
        // JSON cannot represent some numbers, all of which begin with a decimal point.
        let number = text.strip_prefix(['+', '-']).unwrap_or(text);
        if number.starts_with('.') && resolve::plain(text).into_value().is_err() {
            return None;
        }
        Some(ScalarText::Plain(text))
    }

    /// Returns the next line that is not blank, from its first character on, if it is deeper and not a comment.
    fn continuation_line(&mut self, parent: usize) -> Option<(usize, usize)> {
        let (mut start, length) = (self.next, self.bytes.len());
        while start < length {
            self.looked += 1;
            let at = self.skip_spaces(start, length);
            match self.bytes.get(at)? {
                b'\n' => start = at + 1,
                b'#' => return None,
                _ if at - start <= parent => return None,
                _ => return Some((at, memchr(b'\n', &self.bytes[at..]).map_or(length, |length| at + length))),
            }
        }
        None
    }

    /// Returns the end of a plain scalar on its line: a comment, or the end of the line.
    fn plain_end(&self, at: usize, end: usize) -> Option<usize> {
        let mut from = at;
        while let Some(length) = memchr2(b':', b'#', &self.bytes[from..end]) {
            from += length;
            match self.bytes[from] {
                b':' if from + 1 == end || self.bytes[from + 1] == b' ' => return None,
                b'#' if from > at && self.bytes[from - 1] == b' ' => return Some(from),
                _ => from += 1,
            }
        }
        Some(end)
    }

    pub(super) fn single(&self, at: usize, end: usize) -> Option<(ScalarText<'a>, usize)> {
        let mut from = at + 1;
        loop {
            from += memchr(b'\'', &self.bytes[from..end])?;
            if from + 1 < end && self.bytes[from + 1] == b'\'' {
                from += 2;
            } else {
                return Some((ScalarText::Single(&self.text[at + 1..from]), from + 1));
            }
        }
    }

    pub(super) fn double(&self, at: usize, end: usize) -> Option<(ScalarText<'a>, usize)> {
        let mut from = at + 1;
        loop {
            from += memchr2(b'"', b'\\', &self.bytes[from..end])?;
            if self.bytes[from] == b'"' {
                return Some((ScalarText::Double(&self.text[at + 1..from]), from + 1));
            }
            if from + 1 >= end || !is_escape(self.bytes[from + 1]) {
                return None;
            }
            from += 2;
        }
    }

    /// Scans the lines of a block scalar: those deeper than its parent.
    fn lines(&mut self, at: usize, end: usize, parent: usize) -> Option<ScalarText<'a>> {
        let ending = match self.bytes[at + 1..end].first() {
            Some(b'-') => Chomping::Stripped,
            Some(b'+') => Chomping::Kept,
            _ => Chomping::Clipped,
        };
        if self.skip_spaces(at + 1 + usize::from(ending != Chomping::Clipped), end) < end {
            return None;
        }
        let (start, mut from, mut indent) = (self.next.min(self.bytes.len()), self.next, None);
        while from < self.bytes.len() {
            self.looked += 1;
            let stop = memchr(b'\n', &self.bytes[from..]).map_or(self.bytes.len(), |length| from + length);
            let deep = indent.unwrap_or(stop - from);
            let spaces = self.skip_spaces(from, stop.min(from + deep)) - from;
            let is_blank = from + spaces == stop;
            match indent {
                // The indentation of the text is not known yet.
                None if is_blank && spaces > 0 => return None,
                None if is_blank => {}
                None if spaces > parent && self.bytes[from + spaces] != b'\t' => indent = Some(spaces),
                None => return None,
                Some(deep) if !is_blank && spaces < deep => {
                    // Only comments may come between the parent and the text.
                    if spaces > parent {
                        return None;
                    }
                    break;
                }
                _ => {}
            }
            from = stop + 1;
        }
        self.next = from;
        let literal = self.bytes[at] == b'|';
        let lines = BlockLines { text: &self.text[start..from.min(self.text.len())], indent: indent?, ending };
        Some(if literal { ScalarText::Literal(lines) } else { ScalarText::Folded })
    }
}
