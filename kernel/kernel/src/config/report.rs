//! Errors in a configuration file, with their positions.

use std::fmt;

use super::section::display_key;
use super::tree::SourcePosition;

/// Maximum number of errors shown.
pub const MAX_ERRORS: usize = 20;
// Maximum number of known words in a hint.
const MAX_WORDS: usize = 20;
// A word is a likely typo if at most a third of its letters differ.
const LETTERS_PER_SLIP: usize = 3;
// Longer words are not compared; every known word is shorter.
const MAX_WORD_CHARS: usize = 64;

/// Error in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Line, counted from one.
    pub line: usize,
    /// Column, counted from one.
    pub column: usize,
    /// Field path such as `operators.greeter.debounce`; empty for the whole file.
    pub path: String,
    /// Description of the problem.
    pub problem: String,
    /// Hint with a solution.
    pub hint: Option<String>,
}

/// All errors in a file, as the user sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    /// File name.
    pub file: String,
    /// Errors in the order of the file, at most [`MAX_ERRORS`].
    pub errors: Vec<ConfigError>,
    /// Number of further errors.
    pub omitted: usize,
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
        match self.omitted {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// Problem with a value, without its position.
#[derive(Clone, Debug)]
pub struct ConfigProblem {
    message: String,
    hint: Option<String>,
}

impl ConfigProblem {
    /// Creates a problem without a hint.
    pub fn new(words: impl Into<String>) -> Self {
        Self { message: words.into(), hint: None }
    }

    /// Sets the hint.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds a hint with the most similar known word, or with all of them.
    pub fn suggest(self, word: &str, known: &[&str]) -> Self {
        match nearest(word, known) {
            Some(near) => self.hint(format!("did you mean `{}`?", display_key(near))),
            None if known.is_empty() => self,
            None => self.hint(list_known(known)),
        }
    }
}

/// Returns a hint that lists the known words.
pub(super) fn list_known(known: &[&str]) -> String {
    let words: Vec<String> = known.iter().take(MAX_WORDS).map(|word| display_key(word)).collect();
    match known.len() - words.len() {
        0 => format!("valid names: {}", words.join(", ")),
        more => format!("valid names: {}, and {more} more", words.join(", ")),
    }
}

/// Collects the errors in a file.
#[derive(Debug, Default)]
pub struct ErrorCollector {
    errors: Vec<ConfigError>,
}

impl ErrorCollector {
    /// Adds a problem with its position and its path.
    pub fn add(&mut self, at: SourcePosition, path: &str, problem: ConfigProblem) {
        let ConfigProblem { message: words, hint } = problem;
        let path = path.to_string();
        self.errors.push(ConfigError { line: at.line, column: at.column, path, problem: words, hint });
    }

    /// Returns the collected errors; `None` if there are none.
    pub(super) fn into_errors(mut self, file: &str) -> Option<ConfigErrors> {
        self.errors.sort_by_key(|error| (error.line, error.column));
        let left_off = self.errors.len().saturating_sub(MAX_ERRORS);
        self.errors.truncate(MAX_ERRORS);
        let file = file.to_string();
        (!self.errors.is_empty()).then_some(ConfigErrors { file, errors: self.errors, omitted: left_off })
    }
}

/// Returns the known word that is most similar to `word`, if it is a likely typo of it.
pub(crate) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
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

// Returns the number of letters to insert, remove, replace, or swap with the next.
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
