//! The word somebody may have meant.

/// The nearest of the known words, when it is near: `extraArg` of `extraArgs`, `imageref` of `imageRef`.
pub fn near<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let most = (word.chars().count() / 3).clamp(1, 3);
    let measured = known.into_iter().map(|one| (distance(word, one), one));
    measured.filter(|(distance, _)| *distance <= most).min().map(|(_, one)| one)
}

/// How many letters must be put in, taken out or changed; the case of letters does not count.
fn distance(a: &str, b: &str) -> usize {
    // Words of a schema are short, and what somebody writes instead can be of any length.
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
    fn what_is_near_is_found_and_what_is_far_is_not() {
        let known = ["extraArgs", "extraEnv", "imageRef", "cron"];
        assert_eq!(near("extraArg", known), Some("extraArgs"));
        assert_eq!(near("imageref", known), Some("imageRef"));
        assert_eq!(near("corn", known), None);
        assert_eq!(near("replicas", known), None);
        assert_eq!(near("", known), None);
        assert_eq!(near(&"x".repeat(1 << 20), known), None);
    }
}
