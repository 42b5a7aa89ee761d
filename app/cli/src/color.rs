//! Colors for terminals: lines of a diff and the five state words. All output is readable without colors.

use std::io::IsTerminal;

const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const BLUE: &str = "\x1b[34m";
const PLAIN: &str = "\x1b[0m";

/// State words with their colors.
const WORDS: [(&str, &str); 5] =
    [("Ready", GREEN), ("Working", BLUE), ("Waiting", YELLOW), ("Blocked", RED), ("Failing", RED)];

/// Colors the text if stdout is a terminal and neither `NO_COLOR` nor a dumb terminal disables colors.
pub fn on_stdout(text: &str) -> String {
    let variable = |name: &str| std::env::var(name).ok();
    if enabled(std::io::stdout().is_terminal(), &variable) { paint(text) } else { text.to_string() }
}

/// Whether output is colored. `NO_COLOR` counts if it is not empty: no-color.org.
pub fn enabled(terminal: bool, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    terminal && !is_set("NO_COLOR") && variable("TERM").as_deref() != Some("dumb")
}

fn paint(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

fn line(line: &str) -> String {
    let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
    match body.trim_start().chars().next() {
        Some('+') => return format!("{GREEN}{body}{PLAIN}{end}"),
        Some('-') => return format!("{RED}{body}{PLAIN}{end}"),
        _ => {}
    }
    // Only the first state word of a line is a state; later ones are part of a sentence.
    for (word, colour) in WORDS {
        if let Some(at) = body.find(word)
            && is_alone(body, at, word.len())
        {
            let (before, rest) = body.split_at(at);
            let (word, after) = rest.split_at(word.len());
            return format!("{before}{colour}{word}{PLAIN}{after}{end}");
        }
    }
    line.to_string()
}

/// Whether the text at a position is a word of its own.
fn is_alone(text: &str, at: usize, length: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    !letter(text[..at].chars().next_back()) && !letter(text[at + length..].chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_and_states_have_colors() {
        assert_eq!(paint("  + a: 1\n  - a: 2\n"), "\x1b[32m  + a: 1\x1b[0m\n\x1b[31m  - a: 2\x1b[0m\n");
        assert_eq!(paint("web   Ready   1\n"), "web   \x1b[32mReady\x1b[0m   1\n");
        assert_eq!(paint("Readyish\nno words\n"), "Readyish\nno words\n");
    }

    #[test]
    fn colors_need_a_terminal_and_no_opt_out() {
        assert!(enabled(true, &|_| None));
        assert!(!enabled(false, &|_| None));
        assert!(!enabled(true, &|name| (name == "NO_COLOR").then(|| "1".to_string())));
        assert!(enabled(true, &|name| (name == "NO_COLOR").then(String::new)), "an empty NO_COLOR says nothing");
        assert!(!enabled(true, &|name| (name == "TERM").then(|| "dumb".to_string())));
    }
}
