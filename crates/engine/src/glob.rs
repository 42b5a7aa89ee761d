//! Patterns of projects and directories: `*`, `?`, `[a-z]`, `{a,b}`; nothing separates, so that `*` goes over a `/`.

/// How many patterns the braces of one may stand for.
const MAX_ALTERNATIVES: usize = 64;
/// The longest pattern that is read.
const MAX_PATTERN: usize = 1024;

/// Whether all of the text matches.
pub fn matches(pattern: &str, text: &str) -> bool {
    if pattern.len() > MAX_PATTERN {
        return false;
    }
    let text: Vec<char> = text.chars().collect();
    alternatives(pattern).iter().any(|pattern| plain(&pattern.chars().collect::<Vec<_>>(), &text))
}

/// The patterns that one with braces stands for.
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

/// Without braces. A star takes as little as it can, and more when the rest does not fit.
fn plain(pattern: &[char], text: &[char]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match one(&pattern[at..], text[seen]) {
            Some(used) => (at, seen) = (at + used, seen + 1),
            None if pattern.get(at) == Some(&'*') => {
                star = Some((at + 1, seen));
                at += 1;
            }
            None => match star {
                Some((behind, from)) => {
                    star = Some((behind, from + 1));
                    (at, seen) = (behind, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// How much of the pattern one letter uses up; none when it does not match, or a star must.
fn one(pattern: &[char], letter: char) -> Option<usize> {
    match *pattern.first()? {
        '*' => None,
        '?' => Some(1),
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
    fn patterns_match_as_they_do_in_argo_cd() {
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
    fn hostile_patterns_end() {
        assert!(!matches(&"*a".repeat(400), &"a".repeat(300)));
        assert!(!matches(&"{a,b}".repeat(100), "a"));
    }
}
