//! Lines of a text by their numbers.

use std::cell::OnceCell;

/// The lines of a text, found once and only if somebody asks: for one in the middle the text is not gone through again.
pub(super) struct Lines<'a> {
    text: &'a str,
    /// The byte each line begins at.
    starts: OnceCell<Vec<usize>>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, starts: OnceCell::new() }
    }

    /// How many there are; behind the last line break stands one more.
    pub(super) fn count(&self) -> usize {
        self.starts().len()
    }

    fn starts(&self) -> &[usize] {
        self.starts.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
            std::iter::once(0).chain(breaks).collect()
        })
    }

    /// A line, counted from one, without its break; empty where there is none.
    pub(super) fn at(&self, line: usize) -> &'a str {
        let (starts, index) = (self.starts(), line.saturating_sub(1));
        let Some(start) = starts.get(index) else { return "" };
        let end = starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
        &self.text[*start..end]
    }
}
