//! Glob patterns of projects and directories: `*`, `?`, `[a-z]`, `{a,b}`. `*` also matches `/`, except in repository
//! addresses, where only `**` does.

use switchboard_object::glob::{self, GlobClasses, GlobOptions};

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
    let options = GlobOptions { separator, double_star: true, classes: GlobClasses::Lenient, ..GlobOptions::PLAIN };
    pattern.len() <= MAX_PATTERN && alternatives(pattern).iter().any(|pattern| glob::matches(pattern, text, options))
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
