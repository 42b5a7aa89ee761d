//! Index of a text's lines.

use std::cell::OnceCell;

/// Number of characters between two recorded positions.
const STEP: usize = 64;

/// Line index of a text, computed once and on first use. Looking up a line or a column then does not scan the text
/// again.
pub(super) struct LineIndex<'a> {
    text: &'a str,
    /// First byte of each line.
    starts: OnceCell<Vec<usize>>,
    columns: OnceCell<ColumnIndex>,
}

/// Index from a column, counted in characters, to a byte.
struct ColumnIndex {
    /// Number of characters before each line.
    before: Vec<usize>,
    /// Byte of every [`STEP`]-th character of the text.
    places: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, starts: OnceCell::new(), columns: OnceCell::new() }
    }

    /// Returns the number of lines. After the last line break there is one more line.
    pub(super) fn count(&self) -> usize {
        self.starts().len()
    }

    fn starts(&self) -> &[usize] {
        self.starts.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
            std::iter::once(0).chain(breaks).collect()
        })
    }

    /// Returns a line, counted from one, without its line break; empty if there is no such line.
    pub(super) fn at(&self, line: usize) -> &'a str {
        let (starts, index) = (self.starts(), line.saturating_sub(1));
        let Some(start) = starts.get(index) else { return "" };
        let end = starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
        &self.text[*start..end]
    }

    /// Returns the line and column of a byte, both counted from one.
    pub(super) fn place(&self, byte: usize) -> (usize, usize) {
        let line = self.starts().partition_point(|start| *start <= byte);
        (line, 1 + self.text[self.starts()[line - 1]..byte].chars().count())
    }

    /// Returns the byte of a column (counted from zero) of a line (counted from one). A column after the end of the
    /// line continues on the next lines, at most to the end of the text.
    pub(super) fn byte(&self, line: usize, column: usize) -> usize {
        let ColumnIndex { before, places } = self.columns();
        let wanted = before.get(line.saturating_sub(1)).map(|before| before + column);
        let near = wanted.and_then(|wanted| Some((*places.get(wanted / STEP)?, wanted % STEP)));
        let Some((place, more)) = near else { return self.text.len() };
        self.text[place..].char_indices().nth(more).map_or(self.text.len(), |(at, _)| place + at)
    }

    fn columns(&self) -> &ColumnIndex {
        self.columns.get_or_init(|| {
            let (mut before, mut places) = (vec![0], Vec::new());
            for (number, (at, character)) in self.text.char_indices().enumerate() {
                if number % STEP == 0 {
                    places.push(at);
                }
                if character == '\n' {
                    before.push(number + 1);
                }
            }
            ColumnIndex { before, places }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_leads_to_the_byte_that_counting_leads_to() {
        let text: String = (0..400).map(|n| ["a", "ä", "\n", "𝄞", "€"][n * n % 7 % 5]).collect();
        let lines = LineIndex::of(&text);
        for line in 1..=lines.count() + 1 {
            for column in 0..500 {
                let start = lines.starts().get(line - 1).copied().unwrap_or(text.len());
                let counted = text[start..].char_indices().nth(column).map_or(text.len(), |(at, _)| start + at);
                assert_eq!(lines.byte(line, column), counted, "{line}:{column}");
                if column < lines.at(line).chars().count() {
                    assert_eq!(lines.place(counted), (line, column + 1));
                }
            }
        }
        assert_eq!(LineIndex::of("").byte(1, 0), 0);
    }
}
