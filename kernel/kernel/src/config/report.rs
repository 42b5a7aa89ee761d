//! What is wrong with a file, and where.

use std::fmt;

use super::section::shown;
use super::tree::Position;

/// How many errors are shown.
pub const MAX_ERRORS: usize = 20;
// How many known words a hint lists.
const MAX_WORDS: usize = 20;
// Texts farther apart than a third of their letters are not taken for slips of each other.
const LETTERS_PER_SLIP: usize = 3;
// No word of this file is longer; longer texts are not compared.
const MAX_WORD_CHARS: usize = 64;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The line, counted from one.
    pub line: usize,
    /// The column, counted from one.
    pub column: usize,
    /// The field, as `operators.greeter.debounce`; empty for the file as a whole.
    pub path: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// All that is wrong with a file, as the user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    /// The file.
    pub file: String,
    /// In the order of the file, at most [`MAX_ERRORS`].
    pub errors: Vec<ConfigError>,
    /// How many more there are.
    pub left_off: usize,
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: could not read {}", self.file)?;
        for error in &self.errors {
            write!(f, "\n  {}:{}:{}: ", self.file, error.line, error.column)?;
            if !error.path.is_empty() {
                write!(f, "{}: ", error.path)?;
            }
            f.write_str(&error.problem)?;
            if let Some(hint) = &error.hint {
                write!(f, "\nhint: {hint}")?;
            }
        }
        match self.left_off {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// What is wrong with a value, before it is known where it stands.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    words: String,
    hint: Option<String>,
}

impl Problem {
    pub fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), hint: None }
    }

    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Hints at the known word that is near, or else at all of them.
    pub fn meant(self, word: &str, known: &[&str]) -> Self {
        match nearest(word, known) {
            Some(near) => self.hint(format!("did you mean `{}`?", shown(near))),
            None if known.is_empty() => self,
            None => self.hint(all(known)),
        }
    }
}

/// Hints at all words that are known.
pub(super) fn all(known: &[&str]) -> String {
    let words: Vec<String> = known.iter().take(MAX_WORDS).map(|word| shown(word)).collect();
    match known.len() - words.len() {
        0 => format!("known here: {}", words.join(", ")),
        more => format!("known here: {}, and {more} more", words.join(", ")),
    }
}

/// Collects what is wrong.
#[derive(Debug, Default)]
pub(super) struct Findings {
    errors: Vec<ConfigError>,
}

impl Findings {
    pub fn add(&mut self, at: Position, path: &str, problem: Problem) {
        let Problem { words, hint } = problem;
        let path = path.to_string();
        self.errors.push(ConfigError { line: at.line, column: at.column, path, problem: words, hint });
    }

    /// What was found, unless it was nothing.
    pub fn into_errors(mut self, file: &str) -> Option<ConfigErrors> {
        self.errors.sort_by_key(|error| (error.line, error.column));
        let left_off = self.errors.len().saturating_sub(MAX_ERRORS);
        self.errors.truncate(MAX_ERRORS);
        let file = file.to_string();
        (!self.errors.is_empty()).then_some(ConfigErrors { file, errors: self.errors, left_off })
    }
}

/// The known word that `word` is most likely a slip of.
pub(super) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let bare = |text: &str| -> Vec<char> {
        text.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
    };
    if word.chars().count() > MAX_WORD_CHARS {
        return None;
    }
    let word = bare(word);
    let near = known.iter().map(|k| (distance(&word, &bare(k)), *k)).min_by_key(|(distance, _)| *distance)?;
    let allowed = (word.len() / LETTERS_PER_SLIP).max(1);
    (near.0 <= allowed && near.0 < word.len()).then_some(near.1)
}

// Letters to put in, leave out, exchange, or swap with the next.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let exchanged = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = exchanged.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
