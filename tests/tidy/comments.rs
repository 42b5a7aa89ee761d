//! Comments and described texts of files that are neither Rust nor Markdown: SQL, YAML, TOML, Go, Python, shell, Helm templates.

use std::path::Path;

use crate::prose::Passage;

/// Keys of YAML and TOML files whose values are prose.
const PROSE_KEYS: &[&str] = &["title", "testName", "description"];

/// Marks of comments in a language.
#[derive(Clone, Copy)]
struct Syntax {
    /// Mark that begins a comment up to the end of its line.
    line: &'static str,
    /// Marks around a comment of several lines.
    block: Option<(&'static str, &'static str)>,
    /// Whether [`PROSE_KEYS`] have values.
    keys: bool,
}

/// Returns the comments of a file, and the values of its keys that are prose. Consecutive lines are one passage.
pub fn passages(path: &Path, text: &str) -> Vec<Passage> {
    syntax(path, text).map_or_else(Vec::new, |syntax| read(syntax, text))
}

fn syntax(path: &Path, text: &str) -> Option<Syntax> {
    let hashes = Syntax { line: "#", block: None, keys: false };
    let extension = path.extension().and_then(|e| e.to_str());
    Some(match extension {
        Some("sql") => Syntax { line: "--", ..hashes },
        Some("go") => Syntax { line: "//", block: Some(("/*", "*/")), ..hashes },
        Some("yaml" | "yml" | "toml") => Syntax { keys: true, ..hashes },
        Some("py") => Syntax { block: Some(("\"\"\"", "\"\"\"")), ..hashes },
        Some("tpl") => Syntax { block: Some(("/*", "*/")), ..hashes },
        Some("sh") => hashes,
        None if path.ends_with("Makefile") || text.starts_with("#!") => hashes,
        _ => return None,
    })
}

fn read(syntax: Syntax, text: &str) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    let mut is_open = false;
    let mut key_indent = None;
    let lines = text.lines().enumerate().map(|(n, l)| (n + 1, l));
    for (number, line) in lines.filter(|(_, line)| !line.starts_with("#!")) {
        if is_open {
            let (inner, after) = cut(line, syntax.block.map_or("", |(_, end)| end));
            add(&mut found, number, inner, true);
            is_open = after.is_none();
            continue;
        }
        // A list item's key stands behind its dash.
        let indent = line.len() - line.trim_start_matches([' ', '-']).len();
        if key_indent.is_some_and(|key| indent > key && !line.trim().is_empty()) {
            add(&mut found, number, line, true);
            continue;
        }
        key_indent = None;
        if let Some((start, (begin, end))) = syntax.block.and_then(|block| Some((line.find(block.0)?, block))) {
            let (inner, after) = cut(&line[start + begin.len()..], end);
            add(&mut found, number, inner, false);
            is_open = after.is_none();
        } else if let Some(at) = comment(line, syntax.line) {
            let is_whole = line[..at].trim().is_empty();
            add(&mut found, number, line[at..].trim_start_matches(syntax.line), is_whole);
        } else if let Some(value) = described(line).filter(|_| syntax.keys) {
            if value.starts_with(['|', '>']) {
                key_indent = Some(indent);
            } else {
                add(&mut found, number, value.trim_matches(['"', '\'']), false);
            }
        }
    }
    found
}

/// Text before a mark, and the text behind it.
fn cut<'a>(text: &'a str, mark: &str) -> (&'a str, Option<&'a str>) {
    text.split_once(mark).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// Position of a comment: its mark stands at the beginning or behind a space, outside of quotes.
fn comment(line: &str, mark: &str) -> Option<usize> {
    let is_outside = |at: usize| {
        let before = &line[..at];
        (before.is_empty() || before.ends_with([' ', '\t'])) && before.matches('"').count().is_multiple_of(2)
    };
    line.match_indices(mark).map(|(at, _)| at).find(|at| is_outside(*at))
}

/// Value of a key that is prose: `title: value`, or `title = value` of TOML.
fn described(line: &str) -> Option<&str> {
    let (key, value) = line.split_once([':', '='])?;
    let key = key.trim().trim_start_matches("- ");
    PROSE_KEYS.contains(&key).then(|| value.trim())
}

/// Adds a line, to the last passage if that ends on the line before.
fn add(found: &mut Vec<Passage>, line: usize, text: &str, joins: bool) {
    match found.last_mut().filter(|last| joins && last.line + last.text.matches('\n').count() + 1 == line) {
        Some(last) => last.text += &format!("\n{}", text.trim()),
        None => found.push(Passage { line, is_opening: false, text: text.trim().to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, text: &str, expected: &[(usize, &str)]) {
        let found = passages(Path::new(file), text);
        let found: Vec<(usize, &str)> = found.iter().map(|p| (p.line, p.text.as_str())).collect();
        assert_eq!(found, expected, "{file}");
    }

    #[test]
    fn comments_of_a_language_are_found() {
        check("a.sql", "-- one\n-- two\nselect '--'; -- three\n", &[(1, "one\ntwo"), (3, "three")]);
        check(
            "a.go",
            "// one\nf(\"http://a\") // two\n/* three\nfour */\n",
            &[(1, "one"), (2, "two"), (3, "three\nfour")],
        );
        check(
            "a.py",
            "#!/usr/bin/python\n\"\"\"one\ntwo\"\"\"\nf(\"# a\") # three\n",
            &[(2, "one\ntwo"), (4, "three")],
        );
        check("a.tpl", "{{- /* one\ntwo */ -}}\n{{ .Values.a }}\n", &[(1, "one\ntwo")]);
        check("Makefile", "# one\nrun: ## two\n", &[(1, "one"), (2, "two")]);
        check("build", "#!/bin/sh\n# one\n", &[(2, "one")]);
        check("a.json", "{\"title\": \"# one\"}", &[]);
    }

    #[test]
    fn described_values_are_prose() {
        check(
            "a.yaml",
            "title: one\na: two # three\n- description: |\n    four\n    five\n  b: six\n",
            &[(1, "one"), (2, "three"), (4, "four\nfive")],
        );
        check("a.toml", "description = \"one\" # two\nname = \"three\"\n", &[(1, "two")]);
    }
}
