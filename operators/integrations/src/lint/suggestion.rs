//! Suggestions for misspelled words.

/// Returns the most similar known word if it is similar enough: `extraArgs` for `extraArg`, `imageRef` for `imageref`.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let most = (word.chars().count() / 3).clamp(1, 3);
    let measured = known.into_iter().map(|one| (distance(word, one), one));
    measured.filter(|(distance, _)| *distance <= most).min().map(|(_, one)| one)
}

/// Returns the edit distance, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    // Words of a schema are short, but the input may have any length.
    const LONGEST: usize = 64;
    let letters = |text: &str| text.chars().take(LONGEST).map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>();
    let (a, b) = (letters(a), letters(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_words_are_suggested() {
        let known = ["extraArgs", "extraEnv", "imageRef", "cron"];
        assert_eq!(nearest("extraArg", known), Some("extraArgs"));
        assert_eq!(nearest("imageref", known), Some("imageRef"));
        assert_eq!(nearest("corn", known), None);
        assert_eq!(nearest("replicas", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"x".repeat(1 << 20), known), None);
    }
}
