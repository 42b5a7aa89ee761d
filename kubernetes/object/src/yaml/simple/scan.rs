//! Lines and nesting levels.

use memchr::memchr;

use super::sink::ScanSink;

/// Nesting limit; deeper documents are left to the full reader.
const MAX_LEVELS: usize = 64;
/// Number of bytes examined together.
const CHUNK: usize = 64;

/// Scanner of a text.
pub(super) struct LineScanner<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    /// Start of the next line.
    pub(super) next: usize,
    has_tabs: bool,
    levels: Vec<OpenLevel>,
    /// Whether the current entry still needs a value.
    pending: bool,
    /// First line of the document, counted from one.
    pub(super) line: usize,
    /// Number of lines examined. A line that was examined ahead counts again later.
    pub(super) looked: usize,
}

/// Open list or map.
#[derive(Clone, Copy)]
struct OpenLevel {
    column: usize,
    list: bool,
}

impl<'a> LineScanner<'a> {
    /// Creates a scanner, if the text has no characters that need the full reader.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut has_tabs = false;
        for (index, chunk) in bytes.chunks(CHUNK).enumerate() {
            // Without branches, so that all bytes of a chunk are compared at once.
            let odd = chunk.iter().fold(false, |odd, byte| odd | ((*byte < b' ') & (*byte != b'\n')) | (*byte >= 0x7f));
            if odd {
                has_tabs |= memchr(b'\t', chunk).is_some();
                let from = index * CHUNK;
                if (from..from + chunk.len()).any(|at| is_odd(bytes, at)) {
                    return None;
                }
            }
        }
        Some(Self { text, bytes, next: 0, has_tabs, levels: Vec::new(), pending: false, line: 1, looked: 0 })
    }

    /// Scans the text to its end.
    pub(super) fn document<S: ScanSink<'a>>(&mut self, sink: &mut S) -> Option<()> {
        while self.next < self.bytes.len() {
            let start = self.next;
            let end = memchr(b'\n', &self.bytes[start..]).map_or(self.bytes.len(), |length| start + length);
            self.next = end + 1;
            self.looked += 1;
            let at = self.skip_spaces(start, end);
            if at == end || self.bytes[at] == b'#' {
                self.line += usize::from(self.levels.is_empty());
                continue;
            }
            if self.has_tab(at, end) {
                return None;
            }
            self.entry(at, end, at - start, sink)?;
        }
        while !self.levels.is_empty() {
            self.leave(sink)?;
        }
        Some(())
    }

    /// Scans a line that is not blank.
    fn entry<S: ScanSink<'a>>(&mut self, mut at: usize, end: usize, mut column: usize, sink: &mut S) -> Option<()> {
        let mut item = self.is_item(at, end);
        let mut key = if item { None } else { self.key(at, end) };
        if !item && key.is_none() {
            return self.value_line(at, end, column, sink);
        }
        self.adjust_levels(column, item, sink)?;
        while item {
            let inner = self.skip_spaces(at + 1, end);
            if inner == end {
                self.pending = true;
                return Some(());
            }
            item = self.is_item(inner, end);
            key = if item { None } else { self.key(inner, end) };
            if !item && key.is_none() {
                return self.value(inner, end, column, sink);
            }
            (column, at) = (column + inner - at, inner);
            self.enter(column, item, sink)?;
        }
        let (key, behind) = key?;
        sink.key(key)?;
        let at = self.skip_spaces(behind, end);
        if at == end || self.bytes[at] == b'#' {
            self.pending = true;
            return Some(());
        }
        self.value(at, end, column, sink)
    }

    /// Scans a value on a line of its own, below its key or its hyphen.
    fn value_line<S: ScanSink<'a>>(&mut self, at: usize, end: usize, column: usize, sink: &mut S) -> Option<()> {
        let parent = self.levels.last()?.column;
        let is_lines = matches!(self.bytes[at], b'|' | b'>');
        if !std::mem::take(&mut self.pending) || column <= parent || is_lines {
            return None;
        }
        self.value(at, end, parent, sink)
    }

    /// Closes the levels that end before a line in this column, and opens those that begin with the line.
    fn adjust_levels<S: ScanSink<'a>>(&mut self, column: usize, item: bool, sink: &mut S) -> Option<()> {
        if self.levels.is_empty() {
            return self.enter(column, item, sink);
        }
        loop {
            let top = *self.levels.last()?;
            if top.column < column || top.column == column && !top.list && item {
                // A deeper line, or a list below its key, is the pending value.
                return std::mem::take(&mut self.pending).then_some(()).and_then(|()| self.enter(column, item, sink));
            }
            if top.column == column && top.list == item {
                return self.null_value(sink);
            }
            self.leave(sink)?;
        }
    }

    fn enter<S: ScanSink<'a>>(&mut self, column: usize, list: bool, sink: &mut S) -> Option<()> {
        if self.levels.len() >= MAX_LEVELS {
            return None;
        }
        self.levels.push(OpenLevel { column, list });
        sink.open(list)
    }

    fn leave<S: ScanSink<'a>>(&mut self, sink: &mut S) -> Option<()> {
        self.null_value(sink)?;
        self.levels.pop();
        sink.close()
    }

    /// Adds null for a pending value that did not come.
    fn null_value<S: ScanSink<'a>>(&mut self, sink: &mut S) -> Option<()> {
        if std::mem::take(&mut self.pending) { sink.scalar(super::text::ScalarText::Absent) } else { Some(()) }
    }

    /// Whether the range contains a tab, where none is allowed.
    #[inline]
    pub(super) fn has_tab(&self, from: usize, to: usize) -> bool {
        self.has_tabs && memchr(b'\t', &self.bytes[from..to]).is_some()
    }

    /// Whether a list item begins here.
    fn is_item(&self, at: usize, end: usize) -> bool {
        self.bytes[at] == b'-' && (at + 1 == end || self.bytes[at + 1] == b' ')
    }

    /// Returns the first byte from here on that is not a space, or the end.
    #[inline]
    pub(super) fn skip_spaces(&self, from: usize, end: usize) -> usize {
        let mut at = from;
        // Indentation is skipped eight spaces at a time. A line break ends the run before the next line.
        while let Some(eight) = self.bytes[at..].first_chunk::<8>() {
            let others = u64::from_le_bytes(*eight) ^ u64::from_le_bytes([b' '; 8]);
            if others != 0 {
                return end.min(at + others.trailing_zeros() as usize / 8);
            }
            at += 8;
        }
        at += self.bytes[at..].iter().take_while(|byte| **byte == b' ').count();
        at.min(end)
    }
}

/// Whether the character that begins here needs the full reader: control characters, and line ends or marks of some
/// readers.
fn is_odd(bytes: &[u8], at: usize) -> bool {
    let behind = |distance: usize| bytes.get(at + distance).copied().unwrap_or_default();
    match bytes[at] {
        b'\t' | b'\n' | b' '..=0x7e => false,
        0xc2 => behind(1) < 0xa0,
        0xe2 => behind(1) == 0x80 && matches!(behind(2), 0xa8 | 0xa9),
        0xef => behind(1) == 0xbb && behind(2) == 0xbf || behind(1) == 0xbf && behind(2) >= 0xbe,
        byte => byte < 0x80,
    }
}
