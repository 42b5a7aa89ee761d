//! Lists and maps in brackets that close on their line.

use super::scan::LineScanner;
use super::sink::ScanSink;
use super::text::ScalarText;

/// Nesting limit of brackets.
const MAX_BRACKETS: usize = 16;

impl<'a> LineScanner<'a> {
    /// Reads the collection whose bracket is at `at`; returns the position after it.
    pub(super) fn flow<S: ScanSink<'a>>(&self, at: usize, end: usize, sink: &mut S) -> Option<usize> {
        self.bracket(at, end, MAX_BRACKETS, sink)
    }

    fn bracket<S: ScanSink<'a>>(&self, at: usize, end: usize, room: usize, sink: &mut S) -> Option<usize> {
        let room = room.checked_sub(1)?;
        let list = self.bytes[at] == b'[';
        let closing = if list { b']' } else { b'}' };
        sink.open(list)?;
        let mut at = self.skip_spaces(at + 1, end);
        if at < end && self.bytes[at] == closing {
            sink.close()?;
            return Some(at + 1);
        }
        loop {
            if !list {
                let (key, behind) = self.key(at, end).filter(|(_, behind)| *behind < end)?;
                sink.key(key)?;
                at = self.skip_spaces(behind, end);
            }
            at = self.item(at, end, room, sink)?;
            at = self.skip_spaces(at, end);
            match self.bytes[at..end].first()? {
                b',' => at = self.skip_spaces(at + 1, end),
                byte if *byte == closing => {
                    sink.close()?;
                    return Some(at + 1);
                }
                _ => return None,
            }
            if at >= end {
                return None;
            }
        }
    }

    fn item<S: ScanSink<'a>>(&self, at: usize, end: usize, room: usize, sink: &mut S) -> Option<usize> {
        let (text, behind) = match self.bytes[at..end].first()? {
            b'[' | b'{' => return self.bracket(at, end, room, sink),
            b'"' => self.double(at, end)?,
            b'\'' => self.single(at, end)?,
            first if first.is_ascii_alphanumeric() || matches!(first, b'_' | b'/') => {
                let is_text = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./*+=@$% ".contains(byte);
                let length = self.bytes[at..end].iter().position(|byte| !is_text(byte))?;
                (ScalarText::Plain(self.text[at..at + length].trim_end_matches(' ')), at + length)
            }
            _ => return None,
        };
        sink.scalar(text)?;
        Some(behind)
    }
}
