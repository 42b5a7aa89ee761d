//! Glob patterns of projects and directories: `*`, `?`, `[a-z]`, `{a,b}`. `*` also matches `/`, except in repository
//! addresses, where only `**` does.

/// Maximum number of patterns that the braces of one pattern expand to.
const MAX_ALTERNATIVES: usize = 64;
/// Maximum length of a pattern.
const MAX_PATTERN: usize = 1024;

/// Whether the pattern matches the whole text.
pub fn matches(pattern: &str, text: &str) -> bool {
    matches_with_separator(pattern, text, None)
}

/// Whether the pattern matches the whole address. `*` and `?` do not match a `/`, `**` does.
pub fn matches_address(pattern: &str, address: &str) -> bool {
    matches_with_separator(pattern, address, Some('/'))
}

fn matches_with_separator(pattern: &str, text: &str, separator: Option<char>) -> bool {
    if pattern.len() > MAX_PATTERN {
        return false;
    }
    let text: Vec<char> = text.chars().collect();
    alternatives(pattern)
        .iter()
        .any(|pattern| matches_without_braces(&pattern.chars().collect::<Vec<_>>(), &text, separator))
}

/// Expands the braces of a pattern.
fn alternatives(pattern: &str) -> Vec<String> {
    let mut waiting = vec![pattern.to_string()];
    let mut done = Vec::new();
    while let Some(next) = waiting.pop() {
        if done.len() + waiting.len() >= MAX_ALTERNATIVES {
            break;
        }
        let braces = next.find('{').and_then(|open| Some((open, open + next[open..].find('}')?)));
        match braces {
            Some((open, close)) => {
                let parts = next[open + 1..close].split(',');
                waiting.extend(parts.map(|part| format!("{}{part}{}", &next[..open], &next[close + 1..])));
            }
            None => done.push(next),
        }
    }
    done
}

/// Backtracking point of a star: the position behind it in the pattern, and the end of the text it has matched.
type StarPosition = Option<(usize, usize)>;

/// Matches a pattern without braces. A star matches as little as possible, and more if the rest does not match. If a
/// star that stops at separators cannot match more, the last `**` is extended instead.
fn matches_without_braces(pattern: &[char], text: &[char], separator: Option<char>) -> bool {
    let (mut at, mut seen) = (0, 0);
    let (mut star, mut wide): (StarPosition, StarPosition) = (None, None);
    while seen < text.len() {
        let ends = Some(text[seen]) == separator;
        match consumed_by(&pattern[at..], text[seen], ends) {
            Some(used) => (at, seen) = (at + used, seen + 1),
            None if pattern.get(at) == Some(&'*') => {
                let stars = pattern[at..].iter().take_while(|letter| **letter == '*').count();
                at += stars;
                match separator {
                    Some(_) if stars == 1 => star = Some((at, seen)),
                    _ => (star, wide) = (None, Some((at, seen))),
                }
            }
            None => {
                let more = star.filter(|(_, from)| Some(text[*from]) != separator);
                let (last, is_wide) = match (more, wide) {
                    (Some(star), _) => (star, false),
                    (None, Some(wide)) => (wide, true),
                    (None, None) => return false,
                };
                let (behind, from) = (last.0, last.1 + 1);
                (at, seen) = (behind, from);
                match is_wide {
                    true => (star, wide) = (None, Some((behind, from))),
                    false => star = Some((behind, from)),
                }
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// Returns the length of the pattern that matches this character, or `None` if it does not match or the pattern starts
/// with a star. `ends` is true for a separator.
fn consumed_by(pattern: &[char], letter: char, ends: bool) -> Option<usize> {
    match *pattern.first()? {
        '*' => None,
        '?' => (!ends).then_some(1),
        '\\' => (*pattern.get(1)? == letter).then_some(2),
        '[' => {
            let end = pattern.iter().position(|c| *c == ']')?;
            let (not, set) = match pattern[1..end].split_first() {
                Some(('!' | '^', rest)) => (true, rest),
                _ => (false, &pattern[1..end]),
            };
            let range = set.len() == 3 && set[1] == '-' && (set[0]..=set[2]).contains(&letter);
            let within = range || (!(set.len() == 3 && set[1] == '-') && set.contains(&letter));
            (within != not).then_some(end + 1)
        }
        same => (same == letter).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_like_in_argo_cd() {
        for (pattern, text, wanted) in [
            ("*", "", true),
            ("*", "a/b", true),
            ("https://git.example/*", "https://git.example/team/app.git", true),
            ("https://git.example/*", "https://other.example/team", false),
            ("team-?", "team-a", true),
            ("team-?", "team-ab", false),
            ("*.{yaml,yml}", "deep/a.yml", true),
            ("*.{yaml,yml}", "a.json", false),
            ("[a-c]*", "box", true),
            ("[!a-c]*", "box", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXbY", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), wanted, "{pattern} {text}");
        }
    }

    #[test]
    fn a_star_stops_at_a_slash_of_an_address_and_two_do_not() {
        for (pattern, text, wanted) in [
            ("https://h/group/*", "https://h/group/a", true),
            ("https://h/group/*", "https://h/group/a/b", false),
            ("https://h/group/*/*", "https://h/group/a/b", true),
            ("https://h/group/*/*", "https://h/group/a", false),
            ("https://h/group/**", "https://h/group/a/b/c", true),
            ("https://h/**/c", "https://h/a/b/c", true),
            ("https://h/**/*x", "https://h/a/b/cx", true),
            ("https://h/**/*x", "https://h/a/bx/c", false),
            ("https://h/a?b", "https://h/a/b", false),
            ("https://h/*-*", "https://h/a-b-c", true),
            ("https://h/{a,b}/*", "https://h/b/c", true),
            ("**", "https://h/a", true),
        ] {
            assert_eq!(matches_address(pattern, text), wanted, "{pattern} {text}");
        }
    }

    #[test]
    fn hostile_patterns_end() {
        assert!(!matches(&"*a".repeat(400), &"a".repeat(300)));
        assert!(!matches_address(&"**/*a".repeat(200), &"a/".repeat(400)));
        assert!(!matches(&"{a,b}".repeat(100), "a"));
    }
}
