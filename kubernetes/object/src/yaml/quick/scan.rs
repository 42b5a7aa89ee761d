//! Lines and levels: what stands in what.

use memchr::memchr;

use super::sink::Sink;

/// How many levels are followed; deeper documents are for the full reader.
const MAX_LEVELS: usize = 64;
/// How many bytes are looked at together.
const CHUNK: usize = 64;

/// A text on its way through.
pub(super) struct Scan<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    /// Where the next line begins.
    pub(super) next: usize,
    has_tabs: bool,
    levels: Vec<Level>,
    /// Whether the value of the present entry is still to come.
    pending: bool,
    /// The line the document begins at, counted from one.
    pub(super) line: usize,
    /// How many lines were looked at; one that was looked ahead for counts again when it is its turn.
    pub(super) looked: usize,
}

/// A list or a map that is open.
#[derive(Clone, Copy)]
struct Level {
    column: usize,
    list: bool,
}

impl<'a> Scan<'a> {
    /// For a text without characters that need a closer look.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut has_tabs = false;
        for (index, chunk) in bytes.chunks(CHUNK).enumerate() {
            // Without a branch, so that all bytes of a chunk are compared at once.
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

    /// Follows the text to its end.
    pub(super) fn document<S: Sink<'a>>(&mut self, sink: &mut S) -> Option<()> {
        while self.next < self.bytes.len() {
            let start = self.next;
            let end = memchr(b'\n', &self.bytes[start..]).map_or(self.bytes.len(), |length| start + length);
            self.next = end + 1;
            self.looked += 1;
            let at = self.behind_spaces(start, end);
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

    /// A line with something on it.
    fn entry<S: Sink<'a>>(&mut self, mut at: usize, end: usize, mut column: usize, sink: &mut S) -> Option<()> {
        let mut item = self.is_item(at, end);
        let mut key = if item { None } else { self.key(at, end) };
        if !item && key.is_none() {
            return self.alone(at, end, column, sink);
        }
        self.settle(column, item, sink)?;
        while item {
            let inner = self.behind_spaces(at + 1, end);
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
        let at = self.behind_spaces(behind, end);
        if at == end || self.bytes[at] == b'#' {
            self.pending = true;
            return Some(());
        }
        self.value(at, end, column, sink)
    }

    /// A value on a line of its own, below its key or its hyphen.
    fn alone<S: Sink<'a>>(&mut self, at: usize, end: usize, column: usize, sink: &mut S) -> Option<()> {
        let parent = self.levels.last()?.column;
        let is_lines = matches!(self.bytes[at], b'|' | b'>');
        if !std::mem::take(&mut self.pending) || column <= parent || is_lines {
            return None;
        }
        self.value(at, end, parent, sink)
    }

    /// Closes what ends before a line that begins in this column, and opens what begins with it.
    fn settle<S: Sink<'a>>(&mut self, column: usize, item: bool, sink: &mut S) -> Option<()> {
        if self.levels.is_empty() {
            return self.enter(column, item, sink);
        }
        loop {
            let top = *self.levels.last()?;
            if top.column < column || top.column == column && !top.list && item {
                // What stands deeper, or is a list below its key, is the value that was to come.
                return std::mem::take(&mut self.pending).then_some(()).and_then(|()| self.enter(column, item, sink));
            }
            if top.column == column && top.list == item {
                return self.absent(sink);
            }
            self.leave(sink)?;
        }
    }

    fn enter<S: Sink<'a>>(&mut self, column: usize, list: bool, sink: &mut S) -> Option<()> {
        if self.levels.len() >= MAX_LEVELS {
            return None;
        }
        self.levels.push(Level { column, list });
        sink.open(list)
    }

    fn leave<S: Sink<'a>>(&mut self, sink: &mut S) -> Option<()> {
        self.absent(sink)?;
        self.levels.pop();
        sink.close()
    }

    /// A value that was to come and did not.
    fn absent<S: Sink<'a>>(&mut self, sink: &mut S) -> Option<()> {
        if std::mem::take(&mut self.pending) { sink.scalar(super::text::Text::Absent) } else { Some(()) }
    }

    /// Whether there is a tab here, where there may be none.
    #[inline]
    pub(super) fn has_tab(&self, from: usize, to: usize) -> bool {
        self.has_tabs && memchr(b'\t', &self.bytes[from..to]).is_some()
    }

    /// Whether an item of a list begins here.
    fn is_item(&self, at: usize, end: usize) -> bool {
        self.bytes[at] == b'-' && (at + 1 == end || self.bytes[at + 1] == b' ')
    }

    /// The first byte from here on that is no space, or the end.
    #[inline]
    pub(super) fn behind_spaces(&self, from: usize, end: usize) -> usize {
        let mut at = from;
        // Lines stand deep, so spaces are passed over eight at a time. A line break ends them before they run past a line.
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

/// Whether a character that begins here is for the full reader: control characters, and those that end lines or are marks for some.
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
