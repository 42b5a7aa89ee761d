//! Character classes of patterns.

use std::iter::Peekable;
use std::str::Chars;

use super::{BadPattern, GlobClasses};

/// Set of characters.
#[derive(Clone, Debug)]
pub(super) struct GlobClass {
    negated: bool,
    ranges: Vec<(char, char)>,
}

impl GlobClass {
    /// Reads a class behind its `[`.
    pub(super) fn read(chars: &mut Peekable<Chars<'_>>, syntax: GlobClasses) -> Result<Self, BadPattern> {
        match syntax {
            GlobClasses::Go => Self::read_go(chars),
            GlobClasses::Gobwas => Self::read_gobwas(chars),
            GlobClasses::Lenient | GlobClasses::Literal => Ok(Self::read_lenient(chars)),
        }
    }

    pub(super) fn contains(&self, letter: char) -> bool {
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter)) != self.negated
    }

    fn read_go(chars: &mut Peekable<Chars<'_>>) -> Result<Self, BadPattern> {
        let negated = chars.next_if_eq(&'^').is_some();
        let mut ranges = Vec::new();
        while ranges.is_empty() || chars.next_if_eq(&']').is_none() {
            let low = range_end(chars)?;
            let high = if chars.next_if_eq(&'-').is_some() { range_end(chars)? } else { low };
            ranges.push((low, high));
        }
        Ok(Self { negated, ranges })
    }

    fn read_gobwas(chars: &mut Peekable<Chars<'_>>) -> Result<Self, BadPattern> {
        let negated = chars.next_if_eq(&'!').is_some();
        let mut members = Vec::new();
        loop {
            match chars.next().ok_or(BadPattern)? {
                ']' if !members.is_empty() => break,
                '\\' => members.push(chars.next().ok_or(BadPattern)?),
                other => members.push(other),
            }
        }
        match members.as_slice() {
            [low, '-', high] if low <= high => Ok(Self { negated, ranges: vec![(*low, *high)] }),
            [_, '-', ..] => Err(BadPattern),
            list => Ok(Self { negated, ranges: list.iter().map(|member| (*member, *member)).collect() }),
        }
    }

    fn read_lenient(chars: &mut Peekable<Chars<'_>>) -> Self {
        // No pattern continues behind an unclosed class, so nothing matches it.
        if !chars.clone().any(|c| c == ']') {
            return Self { negated: false, ranges: Vec::new() };
        }
        let members: Vec<char> = chars.by_ref().take_while(|c| *c != ']').collect();
        let (negated, members) = match members.split_first() {
            Some(('!' | '^', rest)) => (true, rest),
            _ => (false, members.as_slice()),
        };
        let ranges = match members {
            [low, '-', high] => vec![(*low, *high)],
            list => list.iter().map(|member| (*member, *member)).collect(),
        };
        Self { negated, ranges }
    }
}

/// Reads one end of a range in Go's syntax. At least the `]` must follow.
fn range_end(chars: &mut Peekable<Chars<'_>>) -> Result<char, BadPattern> {
    let end = match chars.next() {
        None | Some('-' | ']') => return Err(BadPattern),
        Some('\\') => chars.next().ok_or(BadPattern)?,
        Some(other) => other,
    };
    if chars.peek().is_some() { Ok(end) } else { Err(BadPattern) }
}
