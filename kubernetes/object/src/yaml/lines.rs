//! Lines of a text by their numbers.

use std::cell::OnceCell;

/// How many characters stand between two whose places are kept.
const STEP: usize = 64;

/// The lines of a text, found once and only if somebody asks: for one in the middle the text is not gone through again, nor is the
/// line for a column of it.
pub(super) struct Lines<'a> {
    text: &'a str,
    /// The byte each line begins at.
    starts: OnceCell<Vec<usize>>,
    columns: OnceCell<Columns>,
}

/// What leads from a column, which counts characters, to a byte.
struct Columns {
    /// How many characters stand before each line.
    before: Vec<usize>,
    /// The byte that every so many-th character of the text begins at.
    places: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, starts: OnceCell::new(), columns: OnceCell::new() }
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

    /// The line that a byte stands in, and its column there; both counted from one.
    pub(super) fn place(&self, byte: usize) -> (usize, usize) {
        let line = self.starts().partition_point(|start| *start <= byte);
        (line, 1 + self.text[self.starts()[line - 1]..byte].chars().count())
    }

    /// The byte of a column, counted from zero, of a line, counted from one. Behind the end of the line it is of the next ones, and
    /// behind that of the text its end.
    pub(super) fn byte(&self, line: usize, column: usize) -> usize {
        let Columns { before, places } = self.columns();
        let wanted = before.get(line.saturating_sub(1)).map(|before| before + column);
        let near = wanted.and_then(|wanted| Some((*places.get(wanted / STEP)?, wanted % STEP)));
        let Some((place, more)) = near else { return self.text.len() };
        self.text[place..].char_indices().nth(more).map_or(self.text.len(), |(at, _)| place + at)
    }

    fn columns(&self) -> &Columns {
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
            Columns { before, places }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_leads_to_the_byte_that_counting_leads_to() {
        let text: String = (0..400).map(|n| ["a", "ä", "\n", "𝄞", "€"][n * n % 7 % 5]).collect();
        let lines = Lines::of(&text);
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
        assert_eq!(Lines::of("").byte(1, 0), 0);
    }
}
